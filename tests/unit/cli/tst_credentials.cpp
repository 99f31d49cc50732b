// SPDX-License-Identifier: Apache-2.0
// Where a password may come from, and which place outranks which.
#include "cli/credentials.h"

#include <QFile>
#include <QTemporaryDir>
#include <QTest>

using namespace millrace::cli;

class TestCredentials : public QObject {
    Q_OBJECT
  private slots:
    void init() { qunsetenv("MILLRACE_PASSWORD"); }

    void aPasswordInAUriIsSeen_data() {
        QTest::addColumn<QString>("uri");
        QTest::addColumn<bool>("given");
        QTest::newRow("bare") << "amqp://" << false;
        QTest::newRow("port") << "amqp://h:5672/" << false;
        QTest::newRow("user") << "amqp://u@h:5672/" << false;
        QTest::newRow("password") << "amqp://u:p@h" << true;
        QTest::newRow("vhost with both") << "amqp://h/a:b@c" << false;
    }
    void aPasswordInAUriIsSeen() {
        QFETCH(QString, uri);
        QFETCH(bool, given);
        QCOMPARE(hasPassword(uri.toStdString()), given);
    }

    void aFileOutranksTheEnvironmentAndThatTheUri() {
        const QTemporaryDir folder;
        QFile file(folder.filePath("secret"));
        QVERIFY(file.open(QIODevice::WriteOnly));
        file.write("from file\nsecond line");
        file.close();
        ServerRequest request;
        request.uri = "amqp://u:uri@h";
        QCOMPARE(endpointFor(request)->password, std::string("uri"));
        qputenv("MILLRACE_PASSWORD", "from environment");
        QCOMPARE(endpointFor(request)->password, std::string("from environment"));
        request.passwordFile = file.fileName().toStdString();
        QCOMPARE(endpointFor(request)->password, std::string("from file"));
        request.user = "other";
        request.vhost = "v";
        QCOMPARE(endpointFor(request)->user, std::string("other"));
        QCOMPARE(endpointFor(request)->vhost, std::string("v"));
        request.passwordFile = folder.filePath("none").toStdString();
        QVERIFY(!endpointFor(request).ok());
    }
};

QTEST_APPLESS_MAIN(TestCredentials)
#include "tst_credentials.moc"
