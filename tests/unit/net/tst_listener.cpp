// SPDX-License-Identifier: Apache-2.0
// Connections arrive on IPv4 and IPv6; without descriptors the listener rests instead of spinning,
// and comes back by itself.
#include "backends.h"
#include "net/listener.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

using namespace millrace;
using namespace millrace::test;
using namespace std::chrono_literals;

class TestListener : public QObject {
    Q_OBJECT
  private slots:
    void connectionsArrive_data() {
        QTest::addColumn<int>("backend");
        QTest::addColumn<QString>("host");
        for (const char* host : {"127.0.0.1", "::1"}) {
            QTest::addRow("epoll %s", host) << static_cast<int>(net::Backend::epoll) << host;
            QTest::addRow("poll %s", host) << static_cast<int>(net::Backend::poll) << host;
        }
    }
    void connectionsArrive() {
        QFETCH(QString, host);
        auto loop = makeLoop();
        std::vector<net::Socket> arrived;
        auto listener =
            net::Listener::open(*loop, *net::Address::parse(host.toStdString(), 0),
                                [&](net::Socket socket) { arrived.push_back(std::move(socket)); });
        if (!listener && host == "::1") {
            QSKIP("no IPv6 on this machine");
        }
        QVERIFY(listener.ok());
        std::vector<net::Socket> clients;
        for (int i = 0; i < 100; ++i) {
            auto client = net::connectTo((*listener)->address());
            QVERIFY(client.ok());
            clients.push_back(std::move(*client));
        }
        QVERIFY(turnUntil(*loop, [&] { return arrived.size() == clients.size(); }));
        QCOMPARE(arrived[0].peerAddress().text(), clients[0].localAddress().text());
        QVERIFY(arrived[0].peerAddress().isLoopback());
    }

    void whereNobodyMoreIsWelcomeTheOthersWait_data() { addBackends(); }
    void whereNobodyMoreIsWelcomeTheOthersWait() {
        auto loop = makeLoop();
        std::vector<net::Socket> arrived;
        std::size_t most = 2;
        auto listener = net::Listener::open(
            *loop, *net::Address::parse("127.0.0.1", 0),
            [&](net::Socket socket) { arrived.push_back(std::move(socket)); },
            [&] { return arrived.size() < most; });
        QVERIFY(listener.ok());
        std::vector<net::Socket> clients;
        for (int i = 0; i < 5; ++i) {
            clients.push_back(std::move(*net::connectTo((*listener)->address())));
        }
        QVERIFY(turnUntil(*loop, [&] { return (*listener)->resting(); }));
        QCOMPARE(arrived.size(), most);
        most = 5;
        QVERIFY(turnUntil(*loop, [&] { return arrived.size() == most; }));
    }

    void withoutDescriptorsItRestsAndComesBack_data() { addBackends(); }
    void withoutDescriptorsItRestsAndComesBack() {
        auto loop = makeLoop();
        std::vector<net::Socket> arrived;
        auto listener =
            net::Listener::open(*loop, *net::Address::parse("127.0.0.1", 0),
                                [&](net::Socket socket) { arrived.push_back(std::move(socket)); });
        QVERIFY(listener.ok());
        auto client = net::connectTo((*listener)->address());
        QVERIFY(client.ok());

        rlimit before{};
        QCOMPARE(::getrlimit(RLIMIT_NOFILE, &before), 0);
        const rlimit none{static_cast<rlim_t>(client->descriptor() + 1), before.rlim_max};
        QCOMPARE(::setrlimit(RLIMIT_NOFILE, &none), 0);
        const bool rested = turnUntil(*loop, [&] { return (*listener)->resting(); });
        int turns = 0;
        loop->onTurnEnd([&] {
            ++turns;
            return false;
        });
        loop->turn(20ms);
        const int turnsWhileResting = turns;
        const bool stillResting = (*listener)->resting();
        QCOMPARE(::setrlimit(RLIMIT_NOFILE, &before), 0);
        QVERIFY(rested);
        QVERIFY(stillResting);
        QCOMPARE(turnsWhileResting, 1); // it waited its 20 ms although a client is in the backlog
        QVERIFY(turnUntil(*loop, [&] { return arrived.size() == 1; }));
    }
};

QTEST_GUILESS_MAIN(TestListener)
#include "tst_listener.moc"
