// SPDX-License-Identifier: Apache-2.0
// The server as a process: one to a data directory, started and stopped in order, restarted after
// any end, and what it says to whom started it.
#include "server/program_run.h"
#include "server/raw_peer.h"
#include "server/started_broker.h"

#include <csignal>
#include <cstddef>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

using namespace millrace;
using namespace millrace::server_tests;
using namespace std::chrono_literals;
namespace amqp = millrace::wire::amqp;

namespace {

constexpr int kCannotCreate = 73; // EX_CANTCREAT
constexpr int kInterrupted = 130;

// The service manager's end: datagrams to a path or (@) an abstract name.
class NotifySocket {
  public:
    explicit NotifySocket(const std::string& name)
        : descriptor_(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0)) {
        sockaddr_un address{};
        address.sun_family = AF_UNIX;
        name.copy(address.sun_path, sizeof address.sun_path - 1);
        if (name[0] == '@') {
            address.sun_path[0] = '\0';
        }
        bound_ = ::bind(descriptor_, reinterpret_cast<const sockaddr*>(&address),
                        static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name.size())) == 0;
    }
    ~NotifySocket() { ::close(descriptor_); }
    NotifySocket(const NotifySocket&) = delete;
    NotifySocket& operator=(const NotifySocket&) = delete;
    bool isBound() const { return bound_; }
    // The next datagram; empty: none came.
    QString next() const {
        pollfd one{descriptor_, POLLIN, 0};
        char text[256];
        const ssize_t got =
            ::poll(&one, 1, 5'000) > 0 ? ::recv(descriptor_, text, sizeof text, 0) : 0;
        return QString::fromUtf8(text, std::max<qsizetype>(got, 0));
    }

  private:
    int descriptor_;
    bool bound_ = false;
};

bool publishKept(StartedBroker& broker, int count) {
    Session session = broker.session();
    if (!session || !session->declareQueue("kept", {.durable = true}) ||
        !session->selectConfirms()) {
        return false;
    }
    amqp::PropertyValues values;
    values.deliveryMode = 2;
    const std::string properties = values.encode();
    for (int i = 0; i < count; ++i) {
        const std::string body = std::to_string(i);
        if (!session->publish({.routingKey = "kept",
                               .properties = base::bytesOf(properties),
                               .body = base::bytesOf(body)})) {
            return false;
        }
    }
    return session->awaitConfirms().ok() && session.close();
}

// What is in the queue, in order, without taking it.
QStringList kept(StartedBroker& broker) {
    QStringList bodies;
    Session session = broker.session();
    while (session) {
        auto got = session->get("kept");
        if (!got || !got->has_value()) {
            return bodies;
        }
        bodies << QString::fromStdString((*got)->body);
    }
    return bodies;
}

QStringList numbers(int count) {
    QStringList all;
    for (int i = 0; i < count; ++i) {
        all << QString::number(i);
    }
    return all;
}

} // namespace

class ServerProcessTest : public QObject {
    Q_OBJECT
  private slots:
    void theReadyLineSaysWhereItListens() {
        StartedBroker broker;
        VERIFY_READY(broker);
        const QString line = QString::fromStdString(broker.process.said());
        QVERIFY2(line.startsWith("Millrace ") && line.contains(" ready: "), qPrintable(line));
        QVERIFY(line.contains(QString::fromStdString("amqp://" + broker.process.address())));
        QVERIFY(line.contains(QString::fromStdString(broker.process.dataDirectory())));
        QCOMPARE(line.count('\n'), 1); // nothing else on standard output
    }

    void sigtermAndSigintAreAnOrderlyStopAndNothingIsReplayed_data() {
        QTest::addColumn<int>("signal");
        QTest::newRow("SIGTERM") << SIGTERM;
        QTest::newRow("SIGINT") << SIGINT;
    }
    void sigtermAndSigintAreAnOrderlyStopAndNothingIsReplayed() {
        QFETCH(int, signal);
        StartedBroker broker;
        VERIFY_READY(broker);
        QVERIFY(publishKept(broker, 200));
        RawPeer client(broker.port());
        QVERIFY(client.open());
        broker.process.signal(signal);
        const auto close = client.await<amqp::ConnectionClose>(); // clients are told
        QVERIFY(close.has_value());
        QCOMPARE(close->replyCode.value(), std::uint16_t{320});
        QVERIFY(client.say(0, amqp::ConnectionCloseOk{}));
        client.close();
        QCOMPARE(QString::fromStdString(broker.process.awaitEnd(30s)), QString());
        broker.start();
        VERIFY_READY(broker);
        QVERIFY2(broker.process.log().find("log entries replayed: 0") != std::string::npos &&
                     broker.process.log().rfind("log entries replayed: 0") >
                         broker.process.log().find("stopped"),
                 broker.process.logTail().c_str());
        QCOMPARE(kept(broker), numbers(200));
    }

    void aClientThatDoesNotAnswerDoesNotHoldUpTheStop() {
        StartedBroker broker;
        VERIFY_READY(broker);
        RawPeer deaf(broker.port());
        QVERIFY(deaf.open());
        const auto begin = RawPeer::Clock::now();
        QCOMPARE(QString::fromStdString(broker.process.stop()), QString());
        QVERIFY(RawPeer::Clock::now() - begin < 10s);
    }

    void aSecondSignalEndsItAtOnce() {
        StartedBroker broker;
        VERIFY_READY(broker);
        RawPeer deaf(broker.port());
        QVERIFY(deaf.open());
        broker.process.signal(SIGTERM);
        QVERIFY(deaf.await<amqp::ConnectionClose>().has_value()); // it is stopping
        broker.process.signal(SIGTERM);
        QCOMPARE(QString::fromStdString(broker.process.awaitEnd(2s)),
                 QString("exit code %1").arg(kInterrupted));
        broker.start();
        VERIFY_READY(broker);
    }

    void afterAKillTheLockIsNoObstacleAndWhatWasConfirmedIsThere() {
        StartedBroker broker;
        VERIFY_READY(broker);
        QVERIFY(publishKept(broker, 200));
        broker.process.killNow();
        const QString data = QString::fromStdString(broker.process.dataDirectory());
        QVERIFY(QFile::exists(data + "/millrace.lock"));
        QCOMPARE(outcomeOf({{"status", "--data", data}}).code, 69);
        broker.start();
        VERIFY_READY(broker);
        QCOMPARE(kept(broker), numbers(200));
    }

    void aSecondServerOnTheSameDataIsRefusedWithTheFirstsPid() {
        StartedBroker broker;
        VERIFY_READY(broker);
        const QString data = QString::fromStdString(broker.process.dataDirectory());
        const Outcome second = outcomeOf({{"serve", "--data", data, "--listen", "127.0.0.1:0"}});
        QCOMPARE(second.code, kCannotCreate);
        QVERIFY2(second.error.contains(QString::number(broker.pid())) &&
                     second.error.contains(data) && second.error.contains("in use"),
                 qPrintable(second.error));
        QCOMPARE(second.out, QString());
        QVERIFY(publishKept(broker, 1)); // the first has not noticed
    }

    void aTakenPortIsNamed() {
        StartedBroker broker;
        VERIFY_READY(broker);
        QTemporaryDir other;
        const QString address = QString::fromStdString(broker.process.address());
        const Outcome second = outcomeOf({{"serve", "--data", other.path(), "--listen", address}});
        QCOMPARE(second.code, kCannotCreate);
        QVERIFY2(second.error.contains("cannot listen on " + address) &&
                     second.error.contains("in use"),
                 qPrintable(second.error));
        QCOMPARE(second.out, QString());
    }

    void aDataDirectoryThatCannotBeMadeIsNamed() {
        const Outcome outcome =
            outcomeOf({{"serve", "--data", "/proc/no/such", "--listen", "127.0.0.1:0"}});
        QCOMPARE(outcome.code, kCannotCreate);
        QVERIFY2(outcome.error.contains("/proc/no/such"), qPrintable(outcome.error));
    }

    void theServiceManagerIsToldReadyAndStopping_data() {
        QTest::addColumn<bool>("abstract");
        QTest::newRow("a path") << false;
        QTest::newRow("an abstract name") << true;
    }
    void theServiceManagerIsToldReadyAndStopping() {
        QFETCH(bool, abstract);
        QTemporaryDir folder;
        const std::string name = abstract ? "@millrace-test-" + std::to_string(::getpid())
                                          : folder.filePath("notify").toStdString();
        const NotifySocket manager(name);
        QVERIFY(manager.isBound());
        StartedBroker broker({{}, {"NOTIFY_SOCKET=" + name}, 0});
        VERIFY_READY(broker);
        QCOMPARE(manager.next(), QString("READY=1"));
        QCOMPARE(QString::fromStdString(broker.process.stop()), QString());
        QCOMPARE(manager.next(), QString("STOPPING=1"));
    }
};

QTEST_GUILESS_MAIN(ServerProcessTest)
#include "tst_server_process.moc"
