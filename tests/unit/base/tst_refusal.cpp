// SPDX-License-Identifier: Apache-2.0
// Reply codes: names, and whether a channel or the connection ends.
#include "base/refusal.h"

#include <QtTest>

using namespace millrace::base;

class RefusalTest : public QObject {
    Q_OBJECT

  private slots:
    void everyCodeHasItsNameAndScope_data() {
        QTest::addColumn<int>("code");
        QTest::addColumn<QByteArray>("name");
        QTest::addColumn<bool>("connection");
        QTest::newRow("311") << 311 << QByteArray("CONTENT_TOO_LARGE") << false;
        QTest::newRow("312") << 312 << QByteArray("NO_ROUTE") << false;
        QTest::newRow("313") << 313 << QByteArray("NO_CONSUMERS") << false;
        QTest::newRow("320") << 320 << QByteArray("CONNECTION_FORCED") << true;
        QTest::newRow("402") << 402 << QByteArray("INVALID_PATH") << true;
        QTest::newRow("403") << 403 << QByteArray("ACCESS_REFUSED") << false;
        QTest::newRow("404") << 404 << QByteArray("NOT_FOUND") << false;
        QTest::newRow("405") << 405 << QByteArray("RESOURCE_LOCKED") << false;
        QTest::newRow("406") << 406 << QByteArray("PRECONDITION_FAILED") << false;
        QTest::newRow("501") << 501 << QByteArray("FRAME_ERROR") << true;
        QTest::newRow("502") << 502 << QByteArray("SYNTAX_ERROR") << true;
        QTest::newRow("503") << 503 << QByteArray("COMMAND_INVALID") << true;
        QTest::newRow("504") << 504 << QByteArray("CHANNEL_ERROR") << true;
        QTest::newRow("505") << 505 << QByteArray("UNEXPECTED_FRAME") << true;
        QTest::newRow("506") << 506 << QByteArray("RESOURCE_ERROR") << true;
        QTest::newRow("530") << 530 << QByteArray("NOT_ALLOWED") << true;
        QTest::newRow("540") << 540 << QByteArray("NOT_IMPLEMENTED") << true;
        QTest::newRow("541") << 541 << QByteArray("INTERNAL_ERROR") << true;
        QTest::newRow("a code that nobody knows ends the connection")
            << 999 << QByteArray("INTERNAL_ERROR") << true;
    }
    void everyCodeHasItsNameAndScope() {
        QFETCH(int, code);
        QFETCH(QByteArray, name);
        QFETCH(bool, connection);
        QCOMPARE(QByteArray(nameOf(static_cast<ReplyCode>(code))), name);
        QCOMPARE(closesConnection(static_cast<ReplyCode>(code)), connection);
    }

    void anOutcomeIsAValueOrARefusal() {
        Outcome<int> good(7);
        QVERIFY(good.ok());
        QCOMPARE(*good, 7);
        Outcome<int> bad(Refusal{ReplyCode::notFound, "no queue 'q' in vhost '/'"});
        QVERIFY(!bad);
        QVERIFY(bad.refusal().code == ReplyCode::notFound);
    }
};

QTEST_APPLESS_MAIN(RefusalTest)
#include "tst_refusal.moc"
