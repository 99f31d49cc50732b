// SPDX-License-Identifier: Apache-2.0
// Both back ends of the event loop serve, chosen at start: millrace.event_loop = epoll or poll.
#include "server/raw_peer.h"
#include "server/started_broker.h"

#include <QDir>

#include <deque>

using namespace millrace;
using namespace millrace::server_tests;
namespace amqp = millrace::wire::amqp;

namespace {

bool usesEpoll(pid_t pid) {
    const QDir files(QString("/proc/%1/fd").arg(pid));
    for (const QString& name : files.entryList(QDir::System | QDir::Files)) {
        if (QFile::symLinkTarget(files.filePath(name)).contains("eventpoll")) {
            return true;
        }
    }
    return false;
}

} // namespace

class BackEndsTest : public QObject {
    Q_OBJECT
  private slots:
    void itServesByTheBackEndThatIsChosen_data() {
        QTest::addColumn<QString>("setting");
        QTest::addColumn<bool>("epoll");
        QTest::newRow("default") << "" << true;
        QTest::newRow("epoll") << "epoll" << true;
        QTest::newRow("poll") << "poll" << false;
    }
    void itServesByTheBackEndThatIsChosen() {
        QFETCH(QString, setting);
        QFETCH(bool, epoll);
        support::BrokerSettings settings;
        if (!setting.isEmpty()) {
            settings.arguments = {"--set", "millrace.event_loop=" + setting.toStdString()};
        }
        StartedBroker broker(settings);
        VERIFY_READY(broker);
        QCOMPARE(usesEpoll(broker.pid()), epoll);

        std::deque<RawPeer> idle; // descriptors come, go and are used again
        for (int i = 0; i < 300; ++i) {
            QVERIFY(idle.emplace_back(broker.port()).open());
            if (i % 3 == 2) {
                idle[static_cast<std::size_t>(i) / 3].close();
            }
        }
        Session session = broker.session();
        QVERIFY(session && session->declareQueue("q", {.durable = true}).ok());
        QVERIFY(session->selectConfirms().ok());
        QVERIFY(session->consume("q").ok());
        const std::string body(20'000, 'b');
        for (int i = 0; i < 500; ++i) {
            QVERIFY(session->publish({.routingKey = "q", .body = base::bytesOf(body)}).ok());
        }
        QVERIFY(session->awaitConfirms().ok());
        for (int i = 0; i < 500; ++i) {
            auto next = session->next(kPatience);
            QVERIFY(next.ok() && next->has_value());
            QVERIFY(session->ack((*next)->deliveryTag).ok());
        }
        QVERIFY(session.close());
        QVERIFY(awaitQuiet(broker.pid(), std::chrono::seconds(10))); // idle costs nothing
        idle.clear();
        QCOMPARE(QString::fromStdString(broker.process.stop()), QString());
    }
};

QTEST_GUILESS_MAIN(BackEndsTest)
#include "tst_back_ends.moc"
