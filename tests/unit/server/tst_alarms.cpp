// SPDX-License-Identifier: Apache-2.0
// The publish gate: when it closes, what is said, and that it opens by itself.
#include "server/gate/alarms.h"

#include <QTest>

using namespace millrace::server;

class TestAlarms : public QObject {
    Q_OBJECT
  private slots:
    void reasonsAreRabbitMqs_data() {
        QTest::addColumn<qulonglong>("memory");
        QTest::addColumn<bool>("disk");
        QTest::addColumn<bool>("behind");
        QTest::addColumn<bool>("open");
        QTest::addColumn<QString>("reason");
        QTest::newRow("calm") << 999ULL << false << false << true << "";
        QTest::newRow("memory") << 1000ULL << false << false << false << "low on memory";
        QTest::newRow("disk") << 0ULL << true << false << false << "low on disk";
        QTest::newRow("both") << 2000ULL << true << false << false << "low on memory & disk";
        QTest::newRow("slow disk") << 0ULL << false << true << false << "";
    }
    void reasonsAreRabbitMqs() {
        QFETCH(qulonglong, memory);
        QFETCH(bool, disk);
        QFETCH(bool, behind);
        QFETCH(bool, open);
        QFETCH(QString, reason);
        Alarms alarms(1000);
        QCOMPARE(alarms.look({memory, disk, behind, false}), !open);
        QCOMPARE(alarms.gate().open, open);
        QCOMPARE(QString::fromStdString(alarms.gate().reason), reason);
        QVERIFY(!alarms.look({memory, disk, behind, false})); // no change, nobody is told again
    }

    void memoryMustFallClearlyBeforeTheAlarmEnds() {
        Alarms alarms(1000);
        QVERIFY(alarms.look({1000, false, false, false}));
        QVERIFY(!alarms.look({980, false, false, false}));
        QVERIFY(alarms.look({940, false, false, false}));
        QVERIFY(alarms.gate().open);
    }

    void aChangedReasonIsTold() {
        Alarms alarms(1000);
        QVERIFY(alarms.look({1000, false, false, false}));
        QVERIFY(alarms.look({1000, true, false, false}));
        QVERIFY(alarms.look({0, true, false, false}));
        QCOMPARE(alarms.gate().reason, std::string("low on disk"));
        QVERIFY(alarms.look({0, false, false, false}));
        QVERIFY(alarms.gate().open);
    }

    void aFailedLogIsForGood() {
        Alarms alarms(1000);
        QVERIFY(alarms.look({0, false, false, true}));
        QVERIFY(!alarms.look({0, false, false, false}));
        QVERIFY(!alarms.gate().open);
        QVERIFY(!alarms.gate().reason.empty());
    }
};

QTEST_APPLESS_MAIN(TestAlarms)
#include "tst_alarms.moc"
