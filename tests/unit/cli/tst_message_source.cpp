// SPDX-License-Identifier: Apache-2.0
// The bodies and properties that `publish` sends.
#include "cli/message_source.h"
#include "wire/amqp/properties.h"

#include <QFile>
#include <QTemporaryDir>
#include <QTest>

using namespace millrace;
using namespace millrace::cli;

class TestMessageSource : public QObject {
    Q_OBJECT
  private slots:
    void bodiesComeOneAfterTheOther() {
        PublishRequest request;
        request.bodies = {"one", "", "three"};
        MessageSource source(request);
        QVERIFY(source.open().ok());
        QCOMPARE(*source.next(), std::string("one"));
        QCOMPARE(*source.next(), std::string());
        QCOMPARE(*source.next(), std::string("three"));
        QVERIFY(!source.next());
    }

    void aFileIsOneMessageOrOneALine_data() {
        QTest::addColumn<bool>("lines");
        QTest::addColumn<QStringList>("bodies");
        QTest::newRow("whole") << false << QStringList{"a\n\nb"};
        QTest::newRow("lines") << true << QStringList{"a", "", "b"};
    }
    void aFileIsOneMessageOrOneALine() {
        QFETCH(bool, lines);
        QFETCH(QStringList, bodies);
        const QTemporaryDir folder;
        QFile file(folder.filePath("input"));
        QVERIFY(file.open(QIODevice::WriteOnly));
        file.write("a\n\nb");
        file.close();
        PublishRequest request;
        request.file = file.fileName().toStdString();
        request.lines = lines;
        MessageSource source(request);
        QVERIFY(source.open().ok());
        QStringList seen;
        while (const auto body = source.next()) {
            seen << QString::fromStdString(*body);
        }
        QCOMPARE(seen, bodies);
    }

    void aMissingFileIsNamed() {
        PublishRequest request;
        request.file = "/nonexistent/input";
        QCOMPARE(MessageSource(request).open().error().code, base::ErrorCode::notFound);
    }

    void propertiesAreEncoded() {
        PublishRequest request;
        request.properties = {{"content_type", "text/plain"}, {"priority", "7"}, {"type", "t"}};
        request.headers = {{"app", "web"}};
        auto encoded = encodeProperties(request);
        QVERIFY(encoded.ok());
        wire::amqp::Properties properties;
        QVERIFY(properties.parse(base::bytesOf(*encoded)));
        QVERIFY(properties.persistent());
        QCOMPARE(*properties.contentType(), std::string_view("text/plain"));
        QCOMPARE(*properties.priority(), std::uint8_t{7});
        QCOMPARE(properties.headers()->find("app")->text(), std::string_view("web"));
    }

    void wrongPropertiesAreRefused_data() {
        QTest::addColumn<QString>("name");
        QTest::addColumn<QString>("value");
        QTest::addColumn<QString>("said");
        QTest::newRow("near") << "content-type"
                              << "x"
                              << "did you mean 'content_type'";
        QTest::newRow("number") << "priority"
                                << "high"
                                << "high";
        QTest::newRow("large") << "priority"
                               << "256"
                               << "256";
        QTest::newRow("long") << "type" << QString(256, 'x') << "255";
    }
    void wrongPropertiesAreRefused() {
        QFETCH(QString, name);
        QFETCH(QString, value);
        QFETCH(QString, said);
        PublishRequest request;
        request.properties = {{name.toStdString(), value.toStdString()}};
        auto encoded = encodeProperties(request);
        QVERIFY(!encoded.ok());
        QVERIFY(QString::fromStdString(encoded.error().text).contains(said));
    }
};

QTEST_APPLESS_MAIN(TestMessageSource)
#include "tst_message_source.moc"
