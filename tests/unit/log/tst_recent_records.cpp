// SPDX-License-Identifier: Apache-2.0
#include "base/limits.h"
#include "log/recent_records.h"

#include <QtTest>

using namespace millrace;
using namespace millrace::log;

namespace {

// Adds a record of that many bytes.
base::LogIndex add(RecentRecords& recent, std::uint32_t bytes) {
    Slab& slab = recent.slabFor(bytes);
    RecentRecord record;
    record.slab = &slab;
    record.begin = slab.used;
    record.bytes = bytes;
    slab.used += bytes;
    recent.add(record);
    return recent.firstIndex() + recent.count() - 1;
}

} // namespace

class RecentRecordsTest : public QObject {
    Q_OBJECT

  private slots:
    void smallRecordsShareASlabAndBigOnesHaveTheirOwn() {
        RecentRecords recent(1 << 20);
        recent.begin(10);
        QCOMPARE(add(recent, 1000), base::LogIndex{10});
        add(recent, 1000);
        QVERIFY(recent.find(10)->slab == recent.find(11)->slab);
        add(recent, 500'000);
        QVERIFY(recent.find(12)->slab != recent.find(11)->slab);
        add(recent, 1000);
        QVERIFY(recent.find(13)->slab == recent.find(11)->slab);
        QVERIFY(recent.find(9) == nullptr && recent.find(14) == nullptr);
    }

    void theOldestGoWhileOverTheBudgetButNeverAboveTheBound() {
        RecentRecords recent(256 * 1024);
        for (int i = 0; i < 100; ++i) {
            add(recent, 30'000);
        }
        QVERIFY(recent.overBudget());
        recent.evict(10);
        QCOMPARE(recent.firstIndex(), base::LogIndex{11});
        QVERIFY(recent.overBudget());
        recent.evict(100);
        QVERIFY(!recent.overBudget());
        QVERIFY(recent.find(100) != nullptr);
        QVERIFY(recent.memoryBytes() <= 256 * 1024);
    }

    void aDroppedRecordFreesItsSlabWhereverItStands() {
        RecentRecords recent(1 << 20);
        for (int i = 0; i < 10; ++i) {
            add(recent, 60'000);
        }
        const std::size_t before = recent.memoryBytes();
        recent.drop(5);
        QCOMPARE(before - recent.memoryBytes(), limits::kRecordBytes);
        QVERIFY(recent.find(5) == nullptr && recent.find(6) != nullptr);
        for (base::LogIndex index = 1; index < 5; ++index) {
            recent.drop(index);
        }
        QCOMPARE(recent.firstIndex(), base::LogIndex{6});
    }

    void theRingShrinksAgain() {
        RecentRecords recent(4096 * sizeof(RecentRecord));
        for (int i = 0; i < 100'000; ++i) {
            add(recent, 8);
        }
        recent.evict(100'000);
        for (int i = 0; i < 10; ++i) {
            recent.evict(100'000);
        }
        QVERIFY(recent.memoryBytes() <= 4096 * sizeof(RecentRecord) + limits::kRecordBytes);
    }
};

QTEST_APPLESS_MAIN(RecentRecordsTest)
#include "tst_recent_records.moc"
