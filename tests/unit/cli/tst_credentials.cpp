// SPDX-License-Identifier: Apache-2.0
// AMQP URIs as RabbitMQ's specification has them, and where a password may come from.
#include "cli/credentials.h"

#include <QFile>
#include <QTemporaryDir>
#include <QTest>

using namespace millrace::cli;

class TestCredentials : public QObject {
    Q_OBJECT
  private slots:
    void init() { qunsetenv("MILLRACE_PASSWORD"); }

    void urisAreTakenApart_data() {
        QTest::addColumn<QString>("uri");
        QTest::addColumn<QString>("parts");
        QTest::newRow("bare") << "amqp://"
                              << "guest guest 127.0.0.1 5672 /";
        QTest::newRow("host") << "amqp://10.0.0.1"
                              << "guest guest 10.0.0.1 5672 /";
        QTest::newRow("port") << "amqp://h:1"
                              << "guest guest h 1 /";
        QTest::newRow("slash") << "amqp://h/"
                               << "guest guest h 5672 /";
        QTest::newRow("user") << "amqp://u@h"
                              << "u guest h 5672 /";
        QTest::newRow("password") << "amqp://u:p@h"
                                  << "u p h 5672 /";
        QTest::newRow("at in password") << "amqp://u:p@x@h"
                                        << "u p@x h 5672 /";
        QTest::newRow("escapes") << "amqp://u%40b:p%3a@h/%2Fv"
                                 << "u@b p: h 5672 /v";
        QTest::newRow("v6") << "amqp://[::1]:5673/v"
                            << "guest guest ::1 5673 v";
        QTest::newRow("v6 bare") << "amqp://[::1]"
                                 << "guest guest ::1 5672 /";
        QTest::newRow("query") << "amqp://h/v?heartbeat=5"
                               << "guest guest h 5672 v";
        QTest::newRow("other scheme") << "http://h"
                                      << "";
        QTest::newRow("tls") << "amqps://h"
                             << "";
        QTest::newRow("port text") << "amqp://h:x"
                                   << "";
        QTest::newRow("port range") << "amqp://h:70000"
                                    << "";
        QTest::newRow("broken escape") << "amqp://h/%2"
                                       << "";
    }
    void urisAreTakenApart() {
        QFETCH(QString, uri);
        QFETCH(QString, parts);
        bool given = false;
        auto broker = parseUri(uri.toStdString(), given);
        QCOMPARE(broker.ok(), !parts.isEmpty());
        if (broker) {
            const std::string seen = broker->user + " " + broker->password + " " + broker->host +
                                     " " + std::to_string(broker->port) + " " + broker->vhost;
            QCOMPARE(QString::fromStdString(seen), parts);
        }
    }

    void aFileOutranksTheEnvironmentAndThatTheUri() {
        const QTemporaryDir folder;
        QFile file(folder.filePath("secret"));
        QVERIFY(file.open(QIODevice::WriteOnly));
        file.write("from file\nsecond line");
        file.close();
        ServerRequest request;
        request.uri = "amqp://u:uri@h";
        QCOMPARE(brokerFor(request)->password, std::string("uri"));
        qputenv("MILLRACE_PASSWORD", "from environment");
        QCOMPARE(brokerFor(request)->password, std::string("from environment"));
        request.passwordFile = file.fileName().toStdString();
        QCOMPARE(brokerFor(request)->password, std::string("from file"));
        request.user = "other";
        request.vhost = "v";
        QCOMPARE(brokerFor(request)->user, std::string("other"));
        QCOMPARE(brokerFor(request)->vhost, std::string("v"));
        request.passwordFile = folder.filePath("none").toStdString();
        QVERIFY(!brokerFor(request).ok());
    }
};

QTEST_APPLESS_MAIN(TestCredentials)
#include "tst_credentials.moc"
