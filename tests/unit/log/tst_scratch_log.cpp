// SPDX-License-Identifier: Apache-2.0
#include "log_fixture.h"
#include "support/faulty_files.h"

#include <QtTest>

using namespace millrace;
using namespace millrace::log;
using support::FaultyFiles;

namespace {

Options scratchLog() {
    Options options = smallLog("/data/scratch");
    options.kind = Kind::scratch;
    return options;
}

std::string body(std::size_t number) {
    return std::to_string(number) + std::string(2000, static_cast<char>('a' + number % 26));
}

} // namespace

class ScratchLogTest : public QObject {
    Q_OBJECT

  private slots:
    void idsCarryTheScratchBitAndNothingIsWrittenWhileMemoryLasts() {
        FaultyFiles files;
        LogFixture log(files, scratchLog());
        QCOMPARE(log.open(), std::string());
        const MessageId id = log.append("transient");
        QVERIFY(id.isScratch());
        log.log().submit();
        log.log().tick();
        QVERIFY(log.log().horizons().synced == id.record);
        QVERIFY(log.told.empty());
        QCOMPARE(log.textAt(id), std::string("transient"));
        QCOMPARE(log.log().statistics().bytesWritten, std::uint64_t{0});
        QCOMPARE(files.used(), std::uint64_t{0});
    }

    void whatIsReleasedInMemoryNeverReachesTheDisk() {
        FaultyFiles files;
        LogFixture log(files, scratchLog());
        QCOMPARE(log.open(), std::string());
        for (std::size_t i = 0; i < 20'000; ++i) { // 40 MB through 1 MiB of memory
            const MessageId id = log.append(body(i), 2, {1, 2});
            log.log().submit();
            log.log().release(id, 1, 1);
            log.log().release(id, 1, 1);
            QVERIFY(log.log().statistics().memoryBytes < 2 * 1024 * 1024);
        }
        log.log().harvest();
        QCOMPARE(log.log().statistics().bytesWritten, std::uint64_t{0});
        QCOMPARE(log.log().statistics().segments, std::uint64_t{0});
    }

    void aViewLastsUntilTheNextVerbAlsoAfterItsRelease() {
        FaultyFiles files;
        LogFixture log(files, scratchLog());
        QCOMPARE(log.open(), std::string());
        const MessageId id = log.append("transient");
        log.log().submit();
        Stored stored;
        QVERIFY(log.log().read(id, stored));
        log.log().release(id, 1, 1);
        QCOMPARE(textOf(stored), std::string("transient"));
        log.log().harvest();
        QVERIFY(!log.log().read(id, stored));
    }

    void whatIsPushedOutOfMemoryComesBackFromDiskUnsynced() {
        FaultyFiles files;
        LogFixture log(files, scratchLog());
        QCOMPARE(log.open(), std::string());
        std::vector<MessageId> ids;
        const std::uint64_t syncs = files.count(support::Call::sync);
        for (std::size_t i = 0; i < 3000; ++i) { // 6 MB; every other one is consumed at once
            ids.push_back(log.append(body(i)));
            log.log().submit();
            if (i % 2 == 1) {
                log.log().release(ids[i], 1, 1);
            }
            QVERIFY(log.wait([&] {
                return log.log().statistics().memoryBytes < 2 * 1024 * 1024;
            }) || log.tickUntil([] { return true; }));
            if (i % 100 == 0) {
                log.log().tick();
            }
        }
        QVERIFY(log.log().statistics().bytesWritten > 1024 * 1024);
        QVERIFY(log.log().statistics().bytesWritten < 3200 * 1024); // not the consumed half
        QCOMPARE(files.count(support::Call::sync), syncs);
        std::vector<MessageId> wanted;
        for (std::size_t i = 0; i < 3000; i += 2) {
            wanted.push_back(ids[i]);
        }
        const std::vector<Stored> fetched = log.fetch(wanted);
        for (std::size_t i = 0; i < fetched.size(); ++i) {
            QVERIFY(!fetched[i].damaged);
            QVERIFY(textOf(fetched[i]) == body(2 * i));
        }
        for (std::size_t i = 0; i < 3000; i += 2) {
            log.log().release(ids[i], 1, 1);
        }
        log.append("turn", 0, {});
        log.log().submit();
        QVERIFY(log.tickUntil([&] { return files.used() == 0; }, std::chrono::milliseconds(5000)));
        QCOMPARE(log.log().statistics().segments, std::uint64_t{0});
    }

    void aPinnedMessageIsRewrittenAndItsNeighboursGo() {
        FaultyFiles files;
        LogFixture log(files, scratchLog());
        QCOMPARE(log.open(), std::string());
        std::vector<MessageId> ids;
        for (std::size_t i = 0; i < 4000; ++i) {
            ids.push_back(log.append(body(i)));
            log.log().submit();
            if (i % 50 == 0) {
                log.log().tick();
            }
        }
        QVERIFY(log.tickUntil([&] { return log.log().statistics().unsyncedBytes == 0; }));
        QVERIFY(log.log().statistics().segments > 8);
        log.stillNeeded = [&](const MessageId& id) { return id == ids[100]; };
        for (std::size_t i = 0; i < 4000; ++i) {
            if (i != 100) {
                log.log().release(ids[i], 1, 1);
            }
        }
        QVERIFY(log.tickUntil([&] { return files.used() < 512 * 1024; },
                              std::chrono::milliseconds(5000)));
        QCOMPARE(log.textAt(ids[100]), body(100));
    }

    void theFolderIsEmptiedAtOpen() {
        FaultyFiles files;
        LogFixture log(files, scratchLog());
        QCOMPARE(log.open(), std::string());
        for (std::size_t i = 0; i < 2000; ++i) {
            log.append(body(i));
            log.log().submit();
        }
        QVERIFY(log.tickUntil([&] { return files.used() != 0; }));
        QCOMPARE(log.open(), std::string());
        QVERIFY(log.seen.empty());
        QCOMPARE(files.used(), std::uint64_t{0});
    }

    void aFullDiskKeepsRecordsInMemoryUntilThereIsRoom() {
        FaultyFiles files;
        LogFixture log(files, scratchLog());
        files.setCapacity(0);
        QCOMPARE(log.open(), std::string());
        std::vector<MessageId> ids;
        for (std::size_t i = 0; i < 1500; ++i) {
            ids.push_back(log.append(body(i)));
            log.log().submit();
        }
        QVERIFY(log.tickUntil([&] { return !log.log().accepting(); }));
        QVERIFY(log.log().trouble() == LocalLog::Trouble::diskFull);
        QCOMPARE(log.textAt(ids[0]), body(0));
        files.setCapacity(100'000'000);
        QVERIFY(log.tickUntil([&] {
            return log.log().accepting() && log.log().statistics().memoryBytes < 2 * 1024 * 1024;
        }));
        QCOMPARE(log.textAt(ids[0]), body(0));
        QCOMPARE(log.textAt(ids[1499]), body(1499));
    }
};

QTEST_GUILESS_MAIN(ScratchLogTest)
#include "tst_scratch_log.moc"
