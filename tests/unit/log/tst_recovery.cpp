// SPDX-License-Identifier: Apache-2.0
#include "base/limits.h"
#include "log_fixture.h"
#include "support/faulty_files.h"
#include "support/seed.h"

#include <QtTest>

#include <mutex>

using namespace millrace;
using namespace millrace::log;
using support::FaultyDisk;
using support::FaultyFiles;
using support::Keep;

namespace {

constexpr const char* kFolder = "/data/log";

// The one segment that has records, of a log that fills only one.
std::string segmentWithRecords(FaultyFiles& files) {
    const std::vector<std::string> names = *files.list(kFolder);
    for (const std::string& name : names) {
        const std::string path = std::string(kFolder) + "/" + name;
        if (name.size() > 4 && name.substr(name.size() - 4) == ".seg" &&
            files.content(path).substr(kBlockBytes, 4) == "MREC") {
            return path;
        }
    }
    return {};
}

struct Placed { // a record in a file's bytes
    std::size_t offset = 0;
    RecordHeader header;
};

std::vector<Placed> recordsOf(const std::string& content) {
    std::vector<Placed> records;
    std::size_t at = kBlockBytes;
    while (content.substr(at, 4) == "MREC") {
        Placed placed{at, {}};
        std::memcpy(&placed.header, content.data() + at, sizeof placed.header);
        records.push_back(placed);
        at += recordBytes(placed.header);
    }
    return records;
}

std::string entryText(std::size_t number) {
    return "entry " + std::to_string(number) + std::string(number % 5 * 13, '.');
}

std::vector<std::string> texts(std::size_t count) {
    std::vector<std::string> all;
    for (std::size_t i = 0; i < count; ++i) {
        all.push_back(entryText(i));
    }
    return all;
}

// Records of two entries; the writer syncs each before the next. Crashes.
FaultyDisk diskWith(std::size_t records) {
    FaultyFiles files;
    LogFixture log(files, smallLog());
    (void)log.open();
    for (std::size_t i = 0; i < records; ++i) {
        log.append(entryText(2 * i));
        log.append(entryText(2 * i + 1));
        (void)log.sync();
    }
    log.close();
    return files.afterPowerCut();
}

} // namespace

class RecoveryTest : public QObject {
    Q_OBJECT

  private slots:
    void aTornLastRecordEndsTheLogAtEveryByte() {
        const FaultyDisk disk = diskWith(6);
        FaultyFiles original(disk.afterPowerCut({}));
        const std::string path = segmentWithRecords(original);
        const std::string content = original.content(path);
        const std::vector<Placed> records = recordsOf(content);
        QCOMPARE(records.size(), std::size_t{6});
        const std::size_t begin = records.back().offset;
        const std::size_t end = begin + recordBytes(records.back().header);
        for (std::size_t cut = begin; cut < end; ++cut) {
            std::string torn = content;
            std::fill(torn.begin() + static_cast<std::ptrdiff_t>(cut),
                      torn.begin() + static_cast<std::ptrdiff_t>(end), '\0');
            if (torn == content) {
                continue; // the record ends with zeros
            }
            FaultyFiles files(disk.afterPowerCut({}));
            files.setContent(path, torn);
            LogFixture log(files, smallLog());
            QCOMPARE(log.open(), std::string());
            QCOMPARE(log.payloads(), texts(10));
            QCOMPARE(log.log().horizons().synced, LogIndex{5});
        }
    }

    void aFlippedBitInAnyPartOfAConfirmedRecordIsIsolated_data() {
        QTest::addColumn<int>("offset"); // in the record; negative: from its table
        QTest::addColumn<int>("lostOfTwo");
        QTest::newRow("magic") << 0
                               << 1; // how many entries it had is lost with the header: told once
        QTest::newRow("header") << 33 << 1;
        QTest::newRow("first payload") << 64 << 1;
        QTest::newRow("second payload") << 64 + 59 + 3 << 1;
        QTest::newRow("table") << -1 << 2;
        QTest::newRow("route list") << -40 << 2;
    }
    void aFlippedBitInAnyPartOfAConfirmedRecordIsIsolated() {
        QFETCH(int, offset);
        QFETCH(int, lostOfTwo);
        FaultyFiles files(diskWith(6));
        const std::string path = segmentWithRecords(files);
        const Placed third = recordsOf(files.content(path))[2];
        const std::size_t inRecord =
            offset >= 0 ? static_cast<std::size_t>(offset)
                        : tableOffset(third.header) + static_cast<std::size_t>(-offset);
        files.flipBit(path, third.offset + inRecord, 3);
        LogFixture log(files, smallLog());
        QCOMPARE(log.open(), std::string());
        QCOMPARE(log.log().horizons().synced, LogIndex{6});
        std::vector<std::string> intact;
        int lost = 0;
        for (const Seen& entry : log.seen) {
            if (entry.damaged) {
                QCOMPARE(entry.id.record, LogIndex{3});
                ++lost;
            } else {
                intact.push_back(entry.payload);
            }
        }
        QCOMPARE(lost, lostOfTwo);
        std::vector<std::string> expected = texts(12);
        if (offset == 64) {
            expected.erase(expected.begin() + 4);
        } else if (offset > 64) {
            expected.erase(expected.begin() + 5);
        } else {
            expected.erase(expected.begin() + 4, expected.begin() + 6);
        }
        QCOMPARE(intact, expected);
        QCOMPARE(log.log().statistics().damagedEntries, std::uint64_t(lostOfTwo));
        // Only the damaged one cannot be fetched.
        QCOMPARE(log.textAt({4, 1}), entryText(7));
        QCOMPARE(log.textAt({3, offset > 64 ? 1u : 0u}), std::string("<damaged>"));
    }

    void aDamagedSegmentHeaderOrFooterLosesNothing() {
        for (const bool header : {true, false}) {
            FaultyFiles files;
            LogFixture log(files, smallLog());
            QCOMPARE(log.open(), std::string());
            std::vector<std::string> expected;
            for (int i = 0; i < 8; ++i) { // more than two segments
                expected.push_back(std::string(60'000, static_cast<char>('a' + i)));
                QVERIFY(log.appendSynced(expected.back()));
            }
            QVERIFY(log.log().stop().ok());
            const std::string path = segmentWithRecords(files);
            files.flipBit(path, header ? 30 : files.content(path).size() - 100);
            if (!header) {
                files.flipBit(path, files.content(path).size() - kBlockBytes + 40);
            }
            QCOMPARE(log.open(), std::string());
            QVERIFY(log.payloads() == expected);
        }
    }

    void aNewerFormatIsRefusedByName() {
        FaultyFiles files(diskWith(1));
        const std::string path = segmentWithRecords(files);
        std::string content = files.content(path);
        SegmentHeader header;
        std::memcpy(&header, content.data(), sizeof header);
        header.requiredFeatures = 4;
        sealSegmentHeader(header);
        std::memcpy(content.data(), &header, sizeof header);
        files.setContent(path, content);
        LogFixture log(files, smallLog());
        const std::string refusal = log.open();
        QVERIFY2(refusal.find("newer Millrace") != std::string::npos &&
                     refusal.find(path) != std::string::npos,
                 refusal.c_str());
        QVERIFY(files.content(path) == content);
    }

    void whatWasCutOffNeverComesBack() {
        // Records 5 and 6 are in one group; 5 is torn, 6 is whole.
        const FaultyDisk disk = diskWith(6);
        FaultyFiles files(disk.afterPowerCut({}));
        const std::string path = segmentWithRecords(files);
        std::string content = files.content(path);
        const std::vector<Placed> records = recordsOf(content);
        Placed last = records.back();
        last.header.knownDurable = 4;
        sealHeader(last.header);
        std::memcpy(content.data() + last.offset, &last.header, sizeof last.header);
        const std::size_t torn = records[4].offset + 70;
        const char before = content[torn];
        content[torn] = '!';
        files.setContent(path, content);
        LogFixture log(files, smallLog());
        QCOMPARE(log.open(), std::string());
        QCOMPARE(log.payloads(), texts(8));
        log.close();
        // The same again, now with the torn byte as it should have been: the cut holds.
        std::string healed = files.content(path);
        healed[torn] = before;
        files.setContent(path, healed);
        QCOMPARE(log.open(), std::string());
        QCOMPARE(log.payloads(), texts(8));
        // And when the log goes on and dies again.
        QCOMPARE(log.appendSynced("new"), (MessageId{5, 0}));
        log.close();
        files.crash();
        QCOMPARE(log.open(), std::string());
        std::vector<std::string> expected = texts(8);
        expected.push_back("new");
        QCOMPARE(log.payloads(), expected);
    }

    void theTermRisesWithEveryOpen() {
        FaultyFiles files;
        LogFixture log(files, smallLog());
        std::uint32_t term = 0;
        for (int round = 0; round < 4; ++round) {
            QCOMPARE(log.open(), std::string());
            QVERIFY(log.appendSynced("x"));
            log.close();
            files.crash();
            std::uint32_t highest = 0;
            const std::vector<std::string> names = *files.list(kFolder);
            for (const std::string& name : names) {
                for (const Placed& placed :
                     recordsOf(files.content(std::string(kFolder) + "/" + name))) {
                    highest = std::max(highest, placed.header.term);
                }
            }
            QVERIFY(highest > term);
            term = highest;
        }
    }

    void anIdleLogMarksHowFarItIsDurable() {
        FaultyFiles files;
        LogFixture log(files, smallLog());
        QCOMPARE(log.open(), std::string());
        QVERIFY(log.appendSynced("only"));
        QVERIFY(log.tickUntil([&] { return log.log().horizons().synced == 2; }, limits::kIdleMark));
        log.clock.advance(std::chrono::seconds(5));
        log.log().tick();
        QCOMPARE(log.log().horizons().appended, LogIndex{2}); // one mark, not one every tick
        log.close();
        const std::string path = segmentWithRecords(files);
        files.flipBit(path, kBlockBytes + sizeof(RecordHeader));
        QCOMPARE(log.open(), std::string());
        QCOMPARE(log.seen.size(), std::size_t{1});
        QVERIFY(log.seen[0].damaged); // reported, not dropped as torn
    }
};

QTEST_GUILESS_MAIN(RecoveryTest)
#include "tst_recovery.moc"
