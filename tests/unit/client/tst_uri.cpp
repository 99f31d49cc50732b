// SPDX-License-Identifier: Apache-2.0
// AMQP URIs: every part, escapes, defaults, and what is wrong told without repeating a password.
#include "client/uri.h"

#include <QtTest>

using namespace millrace;
using namespace millrace::client;

class UriTest : public QObject {
    Q_OBJECT

  private slots:
    void partsAreFoundAndMissingOnesHaveDefaults_data() {
        QTest::addColumn<QByteArray>("uri");
        QTest::addColumn<QByteArray>("expected"); // user password host port vhost
        const auto row = [](const char* uri, const char* expected) {
            QTest::newRow(uri) << QByteArray(uri) << QByteArray(expected);
        };
        row("amqp://", "guest guest 127.0.0.1 5672 /");
        row("amqp://host", "guest guest host 5672 /");
        row("amqp://host/", "guest guest host 5672 /");
        row("amqp://host/%2F", "guest guest host 5672 /");
        row("amqp://host/%2f", "guest guest host 5672 /");
        row("amqp://host:10000/vhost", "guest guest host 10000 vhost");
        row("amqp://user:pass@host:10000/vhost", "user pass host 10000 vhost");
        row("amqp://user%61:%61pass@ho%61st:10000/v%2fhost", "usera apass hoast 10000 v/host");
        row("amqp://user@host", "user guest host 5672 /");
        row("amqp://user:@host", "user  host 5672 /");
        row("amqp://a%40b:p%3Aw@host", "a@b p:w host 5672 /");
        row("amqp://user:p:w@host", "user p:w host 5672 /");
        row("amqp://:10000", "guest guest 127.0.0.1 10000 /");
        row("amqp://host:/v", "guest guest host 5672 v");
        row("amqp://[::1]", "guest guest ::1 5672 /");
        row("amqp://[::1]:10000/v", "guest guest ::1 10000 v");
        row("amqp://host/v?heartbeat=5", "guest guest host 5672 v");
        row("amqp://host?heartbeat=5", "guest guest host 5672 /");
    }
    void partsAreFoundAndMissingOnesHaveDefaults() {
        QFETCH(QByteArray, uri);
        QFETCH(QByteArray, expected);
        const auto parsed = parseUri(uri.toStdString());
        QVERIFY2(parsed.ok(), parsed.ok() ? "" : parsed.error().text.c_str());
        const Endpoint& to = parsed.value();
        const std::string seen = to.user + " " + to.password + " " + to.host + " " +
                                 std::to_string(to.port) + " " + to.vhost;
        QCOMPARE(QByteArray::fromStdString(seen), expected);
    }

    void whatIsWrongIsToldWithoutThePassword_data() {
        QTest::addColumn<QByteArray>("uri");
        QTest::addColumn<QByteArray>("word");
        const auto row = [](const char* uri, const char* word) {
            QTest::newRow(uri) << QByteArray(uri) << QByteArray(word);
        };
        row("", "amqp://");
        row("http://u:secret@host", "amqp://");
        row("amqps://u:secret@host", "TLS");
        row("amqp://u:secret@host:x", "port");
        row("amqp://u:secret@host:0", "port");
        row("amqp://u:secret@host:65536", "port");
        row("amqp://u:secret@host:5672x", "port");
        row("amqp://u:secret%4@host", "password");
        row("amqp://%zz:secret@host", "user");
        row("amqp://u:secret@h%g0", "host");
        row("amqp://u:secret@host/%", "vhost");
        row("amqp://u:secret@host/a/b", "%2F");
        row("amqp://u:secret@[::1", "bracket");
        row("amqp://u:secret@[::1]5672", "port");
    }
    void whatIsWrongIsToldWithoutThePassword() {
        QFETCH(QByteArray, uri);
        QFETCH(QByteArray, word);
        const auto parsed = parseUri(uri.toStdString());
        QVERIFY(!parsed.ok());
        QVERIFY2(parsed.error().text.find(word.toStdString()) != std::string::npos,
                 parsed.error().text.c_str());
        QVERIFY(parsed.error().text.find("secret") == std::string::npos);
    }
};

QTEST_APPLESS_MAIN(UriTest)
#include "tst_uri.moc"
