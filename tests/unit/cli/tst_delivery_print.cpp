// SPDX-License-Identifier: Apache-2.0
// Deliveries as JSON that every reader of JSON takes.
#include "cli/delivery_print.h"
#include "wire/amqp/properties.h"

#include <QJsonDocument>
#include <QJsonObject>
#include <QTest>

using namespace millrace;

class TestDeliveryPrint : public QObject {
    Q_OBJECT
  private slots:
    void aDeliveryIsAJsonObject() {
        std::string headers;
        base::FieldTableWriter(headers).text("a", "b\"c").int32("n", -5).boolean("t", true);
        wire::amqp::PropertyValues values;
        values.contentType = "text/plain";
        values.headers = base::bytesOf(headers);
        values.deliveryMode = 2;
        client::Delivery delivery;
        delivery.exchange = "x";
        delivery.routingKey = "k\n";
        delivery.redelivered = true;
        delivery.properties = values.encode();
        delivery.body = "gr\xC3\xBC\xC3\x9F \x01 \"dich\"";
        const QJsonObject object =
            QJsonDocument::fromJson(QByteArray::fromStdString(cli::jsonOf(delivery))).object();
        QCOMPARE(object["exchange"].toString(), QString("x"));
        QCOMPARE(object["routing_key"].toString(), QString("k\n"));
        QVERIFY(object["redelivered"].toBool());
        QCOMPARE(object["content_type"].toString(), QString("text/plain"));
        QCOMPARE(object["delivery_mode"].toInt(), 2);
        QCOMPARE(object["headers"].toObject()["a"].toString(), QString("b\"c"));
        QCOMPARE(object["headers"].toObject()["n"].toInt(), -5);
        QCOMPARE(object["headers"].toObject()["t"].toBool(), true);
        QCOMPARE(object["body"].toString(), QString::fromUtf8(delivery.body.c_str()));
    }

    void bodiesThatAreNoTextAreBase64_data() {
        QTest::addColumn<QByteArray>("body");
        QTest::newRow("1") << QByteArray("\xFF", 1);
        QTest::newRow("2") << QByteArray("\xFF\0", 2);
        QTest::newRow("3") << QByteArray("\xFF\x80\x01", 3);
        QTest::newRow("cut sequence") << QByteArray("a\xC3", 2);
        QTest::newRow("overlong") << QByteArray("\xC0\x80", 2);
    }
    void bodiesThatAreNoTextAreBase64() {
        QFETCH(QByteArray, body);
        client::Delivery delivery;
        delivery.body = body.toStdString();
        const QJsonObject object =
            QJsonDocument::fromJson(QByteArray::fromStdString(cli::jsonOf(delivery))).object();
        QVERIFY(!object.contains("body"));
        QCOMPARE(QByteArray::fromBase64(object["body_base64"].toString().toLatin1()), body);
    }
};

QTEST_APPLESS_MAIN(TestDeliveryPrint)
#include "tst_delivery_print.moc"
