// SPDX-License-Identifier: Apache-2.0
// The configuration file's form, its strictness, and the precedence of its sources.
#include "server/config.h"
#include "server/config_keys.h"

#include <QTest>

using namespace millrace;
using namespace millrace::server;

namespace {

QString listenersOf(const Options& options) {
    QStringList texts;
    for (const ListenAddress& listener : options.listeners) {
        texts << QString::fromStdString(listener.address.text());
    }
    return texts.join(' ');
}

} // namespace

class TestConfig : public QObject {
    Q_OBJECT
  private slots:
    void linesAreReadAsInRabbitMqConf_data() {
        QTest::addColumn<QString>("line");
        QTest::addColumn<QString>("key");
        QTest::addColumn<QString>("value");
        QTest::newRow("plain") << "heartbeat = 30"
                               << "heartbeat"
                               << "30";
        QTest::newRow("tight") << "heartbeat=30"
                               << "heartbeat"
                               << "30";
        QTest::newRow("comment") << "  # heartbeat = 30"
                                 << ""
                                 << "";
        QTest::newRow("blank") << " \t\r"
                               << ""
                               << "";
        QTest::newRow("trailing comment") << "heartbeat = 30 # seconds"
                                          << "heartbeat"
                                          << "30";
        QTest::newRow("single quotes") << "default_pass = 'a#b = \\c'"
                                       << "default_pass"
                                       << "a#b = \\c";
        QTest::newRow("double quotes") << R"(default_pass = "a\"b" # x)"
                                       << "default_pass"
                                       << "a\"b";
        QTest::newRow("equals in value") << "default_pass = a=b"
                                         << "default_pass"
                                         << "a=b";
        QTest::newRow("carriage return") << "heartbeat = 30\r"
                                         << "heartbeat"
                                         << "30";
        QTest::newRow("empty value") << "default_pass = ''"
                                     << "default_pass"
                                     << "";
    }
    void linesAreReadAsInRabbitMqConf() {
        QFETCH(QString, line);
        QFETCH(QString, key);
        QFETCH(QString, value);
        auto parsed = parseConfigLine(line.toStdString());
        QVERIFY(parsed.ok());
        QCOMPARE(QString::fromStdString(parsed->key), key);
        QCOMPARE(QString::fromStdString(parsed->value), value);
    }

    void whatIsRefusedIsNamedWithItsLine_data() {
        QTest::addColumn<QString>("text");
        QTest::addColumn<QStringList>("words");
        QTest::newRow("near") << "heartbeat = 1\nheartbaet = 2"
                              << QStringList{"f:2", "heartbaet", "did you mean 'heartbeat'"};
        QTest::newRow("near own") << "millrace.datadir = /x"
                                  << QStringList{"f:1", "did you mean 'millrace.data_dir'"};
        QTest::newRow("near idle") << "collect_statistics_intervall = 5"
                                   << QStringList{"did you mean 'collect_statistics_interval'"};
        QTest::newRow("far") << "zzzzzzzz = 1" << QStringList{"f:1", "unknown key"};
        QTest::newRow("no equals") << "\n\nheartbeat 5" << QStringList{"f:3", "key = value"};
        QTest::newRow("hash") << "default_pass = se#cret" << QStringList{"f:1", "quotes"};
        QTest::newRow("open quote") << "default_pass = 'x" << QStringList{"f:1", "closing quote"};
        QTest::newRow("behind quote") << "default_pass = 'x' y" << QStringList{"f:1", "behind"};
        QTest::newRow("number") << "channel_max = many"
                                << QStringList{"f:1", "channel_max", "'many'", "65535"};
        QTest::newRow("frame") << "frame_max = 100" << QStringList{"f:1", "8192"};
        QTest::newRow("size") << "disk_free_limit.absolute = 5 horses"
                              << QStringList{"f:1", "64MiB"};
        QTest::newRow("listener") << "listeners.tcp.default = here" << QStringList{"f:1", "PORT"};
        QTest::newRow("level") << "log.console.level = loud" << QStringList{"f:1", "warning"};
    }
    void whatIsRefusedIsNamedWithItsLine() {
        QFETCH(QString, text);
        QFETCH(QStringList, words);
        Config config;
        QString said;
        if (auto added = config.addText(text.toStdString(), "f"); !added) {
            said = QString::fromStdString(added.error().text);
        } else if (auto resolved = config.resolve(); !resolved) {
            said = QString::fromStdString(resolved.error().text);
        }
        for (const QString& word : words) {
            QVERIFY2(said.contains(word), qPrintable(said));
        }
    }

    void aRabbitMqFileIsTakenAndItsIdleKeysAreExplained() {
        Config config;
        QVERIFY(config
                    .addText("listeners.tcp.default = 5673\n"
                             "listeners.tcp.local = 127.0.0.1:5674\n"
                             "listeners.ssl.default = 5671\n"
                             "ssl_options.cacertfile = /path\n"
                             "cluster_formation.peer_discovery_backend = classic_config\n"
                             "log.file.level = debug\n"
                             "default_user = u\ndefault_pass = 'p#w'\ndefault_vhost = v\n"
                             "loopback_users.guest = false\n"
                             "heartbeat = 30\nchannel_max = 100\nframe_max = 262144\n"
                             "max_message_size = 1000000\nhandshake_timeout = 5000\n"
                             "log.console.level = warning\n"
                             "vm_memory_high_watermark.absolute = 512MiB\n"
                             "disk_free_limit.absolute = 1GB\n"
                             "millrace.data_dir = /srv/m\n"
                             "millrace.advertised_product = RabbitMQ\n"
                             "stream.listeners.tcp.default = 5552\n"
                             "management.tcp.ip = 127.0.0.1\nmanagement.tcp.port = 15672\n",
                             "rabbitmq.conf")
                    .ok());
        auto resolved = config.resolve();
        QVERIFY2(resolved.ok(), resolved.ok() ? "" : resolved.error().text.c_str());
        const Options& options = resolved->options;
        QCOMPARE(listenersOf(options), QString("[::]:5673 0.0.0.0:5673 127.0.0.1:5674"));
        QCOMPARE(options.defaultUser, std::string("u"));
        QCOMPARE(options.defaultPassword, std::string("p#w"));
        QCOMPARE(options.defaultVhost, std::string("v"));
        QVERIFY(options.session.loopbackUsers.empty());
        QCOMPARE(options.session.heartbeat, std::chrono::seconds{30});
        QCOMPARE(options.session.channelMax, std::uint16_t{100});
        QCOMPARE(options.session.frameMax, std::uint32_t{262144});
        QCOMPARE(options.session.maxMessageSize, std::uint64_t{1'000'000});
        QCOMPARE(options.session.handshakeTimeout, std::chrono::seconds{5});
        QVERIFY(options.logLevel == base::Severity::warning);
        QCOMPARE(*options.memoryWatermark.absolute, std::uint64_t{512} << 20);
        QCOMPARE(*options.diskFreeLimit.absolute, std::uint64_t{1'000'000'000});
        QCOMPARE(options.dataDirectory, std::string("/srv/m"));
        QCOMPARE(options.session.product, std::string("RabbitMQ"));
        QCOMPARE(resolved->notes.size(), std::size_t{3});
        QCOMPARE(resolved->warnings.size(), std::size_t{4});
        QVERIFY(QString::fromStdString(resolved->warnings[0]).startsWith("rabbitmq.conf:5"));
        QVERIFY(QString::fromStdString(resolved->warnings[0]).contains("single node"));
    }

    void withoutAnythingItIsLocal() {
        auto resolved = Config{}.resolve();
        QVERIFY(resolved.ok());
        QCOMPARE(listenersOf(resolved->options), QString("127.0.0.1:5672 [::1]:5672"));
        QCOMPARE(resolved->options.session.loopbackUsers, std::vector<std::string>{"guest"});
        QCOMPARE(*resolved->options.diskFreeLimit.absolute, std::uint64_t{50'000'000});
        QVERIFY(!resolved->options.dataDirectory.empty());
        QCOMPARE(resolved->options.session.product, std::string("Millrace"));
    }

    void flagsOutrankEnvironmentAndEnvironmentTheFile() {
        Config config;
        QVERIFY(
            config
                .addText("heartbeat = 1\nchannel_max = 1\ndefault_user = file\n"
                         "listeners.tcp.default = 127.0.0.1:1\nlisteners.tcp.other = 127.0.0.1:9\n",
                         "f")
                .ok());
        const char* const variables[] = {"MILLRACE_HEARTBEAT=2",
                                         "MILLRACE_CHANNEL_MAX=2",
                                         "MILLRACE_LISTENERS__TCP__DEFAULT=127.0.0.1:2",
                                         "MILLRACE_DATA_DIR=/env",
                                         "MILLRACE_DEFAULT_USER=own",
                                         "RABBITMQ_DEFAULT_USER=rabbit",
                                         "RABBITMQ_DEFAULT_PASS=secret",
                                         "MILLRACE_PASSWORD=not-a-key",
                                         "MILLRACE_NO__SUCH=1",
                                         "PATH=/bin",
                                         nullptr};
        config.addEnvironment(variables);
        config.add({"heartbeat", "3", "--set"});
        auto resolved = config.resolve();
        QVERIFY(resolved.ok());
        QCOMPARE(resolved->options.session.heartbeat, std::chrono::seconds{3});
        QCOMPARE(resolved->options.session.channelMax, std::uint16_t{2});
        QCOMPARE(resolved->options.defaultUser, std::string("own"));
        QCOMPARE(resolved->options.defaultPassword, std::string("secret"));
        QCOMPARE(resolved->options.dataDirectory, std::string("/env"));
        QCOMPARE(listenersOf(resolved->options), QString("127.0.0.1:2 127.0.0.1:9"));
        QCOMPARE(resolved->warnings.size(), std::size_t{1});
        config.replaceListeners({"127.0.0.1:7"});
        QCOMPARE(listenersOf(config.resolve()->options), QString("127.0.0.1:7"));
    }

    void loopbackUsersCanBeListedOrNone() {
        Config none;
        QVERIFY(none.addText("loopback_users = none", "f").ok());
        QVERIFY(none.resolve()->options.session.loopbackUsers.empty());
        Config some;
        QVERIFY(some.addText("loopback_users = a, b\nloopback_users.c = true", "f").ok());
        QCOMPARE(some.resolve()->options.session.loopbackUsers,
                 (std::vector<std::string>{"a", "b", "c"}));
    }

    void noKeyIsBothEffectiveAndIdle() {
        std::string_view rest;
        for (const IdleKey& key : idleKeys()) {
            const bool family = key.name.ends_with("*");
            QVERIFY2(family || findEffectiveKey(key.name, rest) == nullptr,
                     std::string(key.name).c_str());
        }
    }

    void aMissingFileIsAnError() {
        auto added = Config{}.addFile("/nonexistent/rabbitmq.conf");
        QVERIFY(!added.ok());
        QVERIFY(QString::fromStdString(added.error().text).contains("/nonexistent/rabbitmq.conf"));
    }
};

QTEST_APPLESS_MAIN(TestConfig)
#include "tst_config.moc"
