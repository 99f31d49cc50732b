// SPDX-License-Identifier: Apache-2.0
#include "log/page_table.h"

#include <QTest>

#include <cstring>

using namespace millrace;
using log::PageKey;
using log::PageSpot;
using log::PageTable;

namespace {

PageKey key(std::uint64_t object) {
    return {1, object, {}};
}
PageSpot spot(std::uint32_t segment, std::uint32_t offset = 4096) {
    return {segment, offset, 100, 0};
}
bool holds(const PageTable& table, std::uint32_t segment) {
    return table.segments().count(segment) > 0;
}

} // namespace

class TestPageTable : public QObject {
    Q_OBJECT

  private slots:
    void aVersionNoRoundHasSeenGoesAtOnce() {
        PageTable table;
        table.put(key(1), spot(1), 1);
        table.put(key(1), spot(2), 2);
        QVERIFY(!holds(table, 1));
        QVERIFY(holds(table, 2));
        table.drop(key(1));
        QVERIFY(!holds(table, 2));
    }

    void aReplacedVersionStaysForTwoRounds() {
        PageTable table;
        table.put(key(1), spot(1), 1);
        table.roundFinished();
        table.put(key(1), spot(2), 2);
        QCOMPARE(table.segments().at(1).live, std::uint64_t{0});
        QVERIFY(table.segments().at(1).held > 0);
        table.roundFinished();
        QVERIFY(holds(table, 1)); // the round before the last names it
        table.roundFinished();
        QVERIFY(!holds(table, 1));
        QVERIFY(holds(table, 2));
    }

    void whatTheOlderRoundNeedsGoesWithTheNextRound() {
        PageTable table;
        table.adoptOld(spot(5));
        QCOMPARE(table.segments().at(5).live, std::uint64_t{0});
        table.roundFinished();
        QVERIFY(!holds(table, 5));
    }

    void aMovedPageKeepsItsSequence() {
        PageTable table;
        table.put(key(1), spot(1), 7);
        table.move(key(1), spot(2));
        QCOMPARE(table.pages(log::bucketOf(key(1))).at(key(1)).sequence, std::uint64_t{7});
    }

    void onlyChangedBucketsAreDirty() {
        PageTable table;
        const std::size_t bucket = log::bucketOf(key(1));
        QVERIFY(!table.dirty(bucket));
        table.drop(key(1));
        QVERIFY(!table.dirty(bucket)); // there was nothing to drop
        table.put(key(1), spot(1), 1);
        QVERIFY(table.dirty(bucket));
        table.placeBucket(bucket, spot(2));
        QVERIFY(!table.dirty(bucket));
        QVERIFY(holds(table, 2));
    }

    void aBucketListsItsPages() {
        PageTable table;
        const PageKey full{3, 9, {77, 5}};
        table.put(full, {4, 8192, 30, 0xABCD}, 12);
        const std::string raw = table.encode(log::bucketOf(full));
        log::BucketEntry entry;
        QCOMPARE(raw.size(), sizeof entry);
        std::memcpy(&entry, raw.data(), sizeof entry);
        PageTable other;
        other.adopt(log::bucketOf(full), entry);
        const auto& placed = other.pages(log::bucketOf(full)).at(full);
        QVERIFY((placed.spot == PageSpot{4, 8192, 30, 0xABCD}));
        QCOMPARE(placed.sequence, std::uint64_t{12});
        QCOMPARE(other.liveBytes(), log::pageRecordBytes(30));
    }
};

QTEST_APPLESS_MAIN(TestPageTable)
#include "tst_page_table.moc"
