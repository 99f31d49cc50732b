// SPDX-License-Identifier: Apache-2.0
// Configuration of the running server: file, environment and flags in their order, mistakes named
// by line and nearest key with the exit code for them.
#include "server/program_run.h"
#include "server/raw_peer.h"
#include "server/started_broker.h"

using namespace millrace;
using namespace millrace::server_tests;
namespace amqp = millrace::wire::amqp;

namespace {

constexpr int kUsage = 64;
constexpr int kNoInput = 66;
constexpr int kConfiguration = 78;

// What the server offers a client in connection.tune.
std::optional<amqp::ConnectionTune> offeredBy(std::uint16_t port) {
    RawPeer peer(port);
    return peer.isConnected() && peer.send(openingBytes()) ? peer.await<amqp::ConnectionTune>()
                                                           : std::nullopt;
}

bool mayLogIn(std::uint16_t port, const std::string& user, const std::string& password) {
    client::Endpoint endpoint;
    endpoint.port = port;
    endpoint.user = user;
    endpoint.password = password;
    return client::AmqpClient::connect(endpoint).ok();
}

} // namespace

class ServeConfigurationTest : public QObject {
    Q_OBJECT

    QTemporaryDir folder_;

    QString fileWith(const QString& text) {
        const QString path = folder_.filePath("millrace.conf");
        QFile file(path);
        const bool written =
            file.open(QIODevice::WriteOnly) && file.write(text.toUtf8()) == text.toUtf8().size();
        return written ? path : QString("not written");
    }

  private slots:
    void aMistakeInTheFileIsNamedByItsLine_data() {
        QTest::addColumn<QString>("text");
        QTest::addColumn<QString>("said");
        QTest::newRow("unknown key") << "# ours\n\nheartbeet = 30\n"
                                     << ":3: unknown key 'heartbeet'; did you mean 'heartbeat'?";
        QTest::newRow("unknown key of ours")
            << "millrace.data_dri = /tmp/x\n"
            << ":1: unknown key 'millrace.data_dri'; did you mean 'millrace.data_dir'?";
        QTest::newRow("bad value") << "heartbeat = 30\nheartbeat = often\n"
                                   << ":2: heartbeat: ";
        QTest::newRow("bad size") << "vm_memory_high_watermark.absolute = 4 elephants\n"
                                  << ":1: vm_memory_high_watermark.absolute: ";
        QTest::newRow("bad listener") << "listeners.tcp.default = 127.0.0.1:99999\n"
                                      << ":1: listeners.tcp.default: ";
        QTest::newRow("no equals") << "heartbeat 30\n"
                                   << ":1: ";
        QTest::newRow("open quote") << "default_pass = 'half\n"
                                    << ":1: ";
    }
    void aMistakeInTheFileIsNamedByItsLine() {
        QFETCH(QString, text);
        QFETCH(QString, said);
        const QString path = fileWith(text);
        const Outcome outcome =
            outcomeOf({{"serve", "-c", path, "--data", folder_.filePath("unused")}});
        QCOMPARE(outcome.code, kConfiguration);
        QVERIFY2(outcome.error.startsWith("millrace: " + path + said), qPrintable(outcome.error));
        QCOMPARE(outcome.out, QString());
        QVERIFY(!QFile::exists(folder_.filePath("unused"))); // nothing was begun
    }

    void mistakesInFlagsHaveTheirExitCodes() {
        const QString data = folder_.filePath("unused");
        Outcome outcome = outcomeOf({{"serve", "--data", data, "--set", "heartbaet=1"}});
        QCOMPARE(outcome.code, kConfiguration);
        QVERIFY2(outcome.error.contains("did you mean 'heartbeat'"), qPrintable(outcome.error));
        outcome = outcomeOf({{"serve", "--data", data, "--lisen", "127.0.0.1:1"}});
        QCOMPARE(outcome.code, kUsage);
        QVERIFY2(outcome.error.contains("did you mean '--listen'"), qPrintable(outcome.error));
        outcome = outcomeOf({{"serve", "--data", data, "--listen", "nowhere:x"}});
        QCOMPARE(outcome.code, kConfiguration);
        outcome = outcomeOf({{"serve", "-c", folder_.filePath("missing"), "--data", data}});
        QCOMPARE(outcome.code, kNoInput);
        QVERIFY2(outcome.error.contains(folder_.filePath("missing")), qPrintable(outcome.error));
    }

    void flagsOutrankTheEnvironmentAndThatTheFile() {
        const QString path = fileWith("heartbeat = 11\nchannel_max = 101\nframe_max = 9001\n"
                                      "listeners.tcp.default = 127.0.0.1:1\n"
                                      "collect_statistics_interval = 5000\n");
        StartedBroker broker(
            {{"-c", path.toStdString(), "--set", "channel_max=303"},
             {"MILLRACE_CHANNEL_MAX=202", "MILLRACE_FRAME_MAX=9002", "MILLRACE_NO__SUCH__KEY=1"},
             0});
        VERIFY_READY(broker);
        const auto offered = offeredBy(broker.port());
        QVERIFY(offered.has_value());
        QCOMPARE(offered->heartbeat.value(), std::uint16_t{11});         // file
        QCOMPARE(offered->frameMax.value(), std::uint32_t{9002});        // environment
        QCOMPARE(offered->channelMax.value(), std::uint16_t{303});       // flag
        QVERIFY(broker.process.said().find(":1 ") == std::string::npos); // --listen took its place
        const QString log = QString::fromStdString(broker.process.log());
        QVERIFY2(log.contains("collect_statistics_interval"), qPrintable(log)); // no effect here
        QVERIFY2(log.contains("MILLRACE_NO__SUCH__KEY"), qPrintable(log));
    }

    void theFirstUserIsAsConfigured() {
        StartedBroker broker({{"--set", "default_user=flo"}, {"RABBITMQ_DEFAULT_PASS=secret"}, 0});
        VERIFY_READY(broker);
        QVERIFY(mayLogIn(broker.port(), "flo", "secret"));
        QVERIFY(!mayLogIn(broker.port(), "flo", "guest"));
        QVERIFY(!mayLogIn(broker.port(), "guest", "guest"));
        // Only the first start makes users.
        QCOMPARE(QString::fromStdString(broker.process.stop()), QString());
        broker.process.set({{"--set", "default_user=other"}, {}, 0});
        broker.start();
        VERIFY_READY(broker);
        QVERIFY(mayLogIn(broker.port(), "flo", "secret"));
        QVERIFY(!mayLogIn(broker.port(), "other", "guest"));
    }

    void itListensOnEveryAddressThatIsGiven() {
        const std::uint16_t second = support::freePort();
        StartedBroker broker({{"--listen", "127.0.0.1:" + std::to_string(second)}, {}, 0});
        VERIFY_READY(broker);
        QVERIFY(offeredBy(broker.port()).has_value());
        QVERIFY(offeredBy(second).has_value());
    }

    void theLogsLevelIsKept() {
        StartedBroker quiet({{"--set", "log.console.level=none"}, {}, 0});
        VERIFY_READY(quiet);
        QCOMPARE(QString::fromStdString(quiet.process.stop()), QString());
        QCOMPARE(QString::fromStdString(quiet.process.log()), QString());
    }
};

QTEST_GUILESS_MAIN(ServeConfigurationTest)
#include "tst_serve_configuration.moc"
