// SPDX-License-Identifier: Apache-2.0
// Numbers, sizes and listeners of the configuration, and what is said to those that are wrong.
#include "server/config_values.h"

#include <QTest>

using namespace millrace;
using namespace millrace::server;

class TestConfigValues : public QObject {
    Q_OBJECT
  private slots:
    void sizesCountAsInRabbitMq_data() {
        QTest::addColumn<QString>("text");
        QTest::addColumn<qulonglong>("bytes");
        QTest::newRow("plain") << "50000000" << 50'000'000ULL;
        QTest::newRow("k") << "2k" << 2048ULL;
        QTest::newRow("KiB") << "2KiB" << 2048ULL;
        QTest::newRow("kB") << "2kB" << 2000ULL;
        QTest::newRow("M") << "64M" << 67'108'864ULL;
        QTest::newRow("MiB") << "64MiB" << 67'108'864ULL;
        QTest::newRow("MB") << "64MB" << 64'000'000ULL;
        QTest::newRow("Gi") << "1Gi" << 1'073'741'824ULL;
        QTest::newRow("GB") << "2GB" << 2'000'000'000ULL;
        QTest::newRow("space") << "3 GiB" << 3'221'225'472ULL;
        QTest::newRow("TB") << "1TB" << 1'000'000'000'000ULL;
    }
    void sizesCountAsInRabbitMq() {
        QFETCH(QString, text);
        QFETCH(qulonglong, bytes);
        auto size = parseSize(text.toStdString());
        QVERIFY(size.ok());
        QCOMPARE(qulonglong{*size}, bytes);
    }

    void wrongSizesAreRefused_data() {
        QTest::addColumn<QString>("text");
        for (const char* text : {"", "MiB", "-1", "1.5GB", "12 parsecs", "99999999999999999999",
                                 "18446744073709551615P"}) {
            QTest::newRow(text) << text;
        }
    }
    void wrongSizesAreRefused() {
        QFETCH(QString, text);
        QVERIFY(!parseSize(text.toStdString()).ok());
    }

    void listeners_data() {
        QTest::addColumn<QString>("text");
        QTest::addColumn<QString>("addresses");
        QTest::newRow("port") << "5672"
                              << "[::]:5672? 0.0.0.0:5672";
        QTest::newRow("v4") << "127.0.0.1:1"
                            << "127.0.0.1:1";
        QTest::newRow("v6") << "[::1]:5672"
                            << "[::1]:5672";
        QTest::newRow("v6 bare") << ":::5672"
                                 << "[::]:5672";
        QTest::newRow("localhost") << "localhost:5672"
                                   << "127.0.0.1:5672 [::1]:5672?";
        QTest::newRow("name") << "broker.example:5672"
                              << "";
        QTest::newRow("no port") << "127.0.0.1:"
                                 << "";
        QTest::newRow("large port") << "65536"
                                    << "";
        QTest::newRow("word") << "amqp"
                              << "";
    }
    void listeners() {
        QFETCH(QString, text);
        QFETCH(QString, addresses);
        auto parsed = parseListener(text.toStdString());
        QCOMPARE(parsed.ok(), !addresses.isEmpty());
        QStringList seen;
        for (const ListenAddress& listener : parsed.ok() ? *parsed : std::vector<ListenAddress>{}) {
            seen << QString::fromStdString(listener.address.text()) +
                        (listener.required ? "" : "?");
        }
        QCOMPARE(seen.join(' '), addresses);
    }

    void levelsAndShares() {
        QVERIFY(*parseLogLevel("warning") == base::Severity::warning);
        QVERIFY(*parseLogLevel("critical") == base::Severity::error);
        QVERIFY(!parseLogLevel("loud").ok());
        QCOMPARE(*parseShare("0.4"), 0.4);
        QVERIFY(!parseShare("0").ok());
        QVERIFY(!parseShare("-0.1").ok());
        QVERIFY(!parseShare("0.4x").ok());
    }
};

QTEST_APPLESS_MAIN(TestConfigValues)
#include "tst_config_values.moc"
