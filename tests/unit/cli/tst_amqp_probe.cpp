// SPDX-License-Identifier: Apache-2.0
// Who counts as an AMQP broker: only one that greets as such, within the time.
#include "cli/amqp_probe.h"
#include "net/socket.h"

#include <QTest>

#include <poll.h>
#include <sys/socket.h>

#include <thread>

using namespace millrace;
using namespace std::chrono_literals;

class TestAmqpProbe : public QObject {
    Q_OBJECT
  private slots:
    void onlyAGreetingCounts_data() {
        QTest::addColumn<QByteArray>("greeting");
        QTest::addColumn<bool>("amqp");
        QTest::newRow("start") << QByteArray("\x01\0\0\0\0\0\x0c\0\x0a\0\x0a\0\x09", 13) << true;
        QTest::newRow("other version") << QByteArray("AMQP\x03\x01\0\0xxxxx", 13) << false;
        QTest::newRow("other protocol") << QByteArray("HTTP/1.1 400 Bad Request") << false;
        QTest::newRow("closed") << QByteArray() << false;
    }
    void onlyAGreetingCounts() {
        QFETCH(QByteArray, greeting);
        QFETCH(bool, amqp);
        auto listener = net::listenOn(*net::Address::parse("127.0.0.1", 0));
        QVERIFY(listener.ok());
        std::thread server([&] {
            pollfd polled{listener->descriptor(), POLLIN, 0};
            ::poll(&polled, 1, 10000);
            const net::Socket peer(::accept(listener->descriptor(), nullptr, nullptr));
            char header[8];
            (void)!::recv(peer.descriptor(), header, sizeof header, MSG_WAITALL);
            (void)!::send(peer.descriptor(), greeting.constData(),
                          static_cast<std::size_t>(greeting.size()), MSG_NOSIGNAL);
        });
        const base::Status probed =
            cli::probeAmqp("amqp://" + listener->localAddress().text(), 10s);
        server.join();
        QCOMPARE(probed.ok(), amqp);
    }

    void whoSaysNothingIsNotWaitedForLong() {
        auto listener = net::listenOn(*net::Address::parse("127.0.0.1", 0));
        QVERIFY(listener.ok());
        const base::Status probed =
            cli::probeAmqp("amqp://" + listener->localAddress().text(), 50ms);
        QCOMPARE(probed.error().code, base::ErrorCode::timeout);
    }

    void aClosedPortIsAnError() { QVERIFY(!cli::probeAmqp("amqp://127.0.0.1:1", 1s).ok()); }
};

QTEST_APPLESS_MAIN(TestAmqpProbe)
#include "tst_amqp_probe.moc"
