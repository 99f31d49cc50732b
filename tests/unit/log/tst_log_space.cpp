// SPDX-License-Identifier: Apache-2.0
// A disk that fails, a disk that fills up and has room again, the reserve that is left for what
// makes room.
#include "base/limits.h"
#include "log_fixture.h"
#include "support/faulty_files.h"

#include <QtTest>

using namespace millrace;
using namespace millrace::log;
using support::Call;
using support::FaultyFiles;

namespace {

const base::Error kPlanned{base::ErrorCode::io, "planned"};

} // namespace

class LogSpaceTest : public QObject {
    Q_OBJECT

  private slots:
    void aFailedSyncOrWriteIsFinalAndToldOnce_data() {
        QTest::addColumn<bool>("sync");
        QTest::newRow("sync") << true;
        QTest::newRow("write") << false;
    }
    void aFailedSyncOrWriteIsFinalAndToldOnce() {
        QFETCH(bool, sync);
        FaultyFiles files;
        LogFixture log(files, smallLog());
        QCOMPARE(log.open(), std::string());
        QVERIFY(log.appendSynced("confirmed"));
        QVERIFY(log.sparesAreReady(2));
        files.failNth(sync ? Call::sync : Call::write, 1, kPlanned);
        log.append("lost");
        log.log().submit();
        QVERIFY(log.wait([&] { return log.withdrawals != 0; }));
        QCOMPARE(log.withdrawnFrom, LogIndex{2});
        QVERIFY(log.withdrawnWhy.text.find("planned") != std::string::npos);
        const std::uint64_t syncs = log.log().statistics().syncs;
        QVERIFY(log.log().trouble() == LocalLog::Trouble::stopped);
        QVERIFY(!log.log().accepting());
        const auto refused = log.tryAppend("refused");
        QVERIFY(!refused.ok() && refused.error().code == base::ErrorCode::stopped);
        log.log().tick();
        QCOMPARE(log.withdrawals, 1);
        QCOMPARE(log.log().horizons().synced, LogIndex{1});
        QVERIFY(!log.log().stop().ok());
        QCOMPARE(log.log().statistics().syncs, syncs); // never tried again
        files.crash();
        QCOMPARE(log.open(), std::string());
        QVERIFY(!log.seen.empty()); // what was never confirmed may be there or not
        QCOMPARE(log.payloads().front(), std::string("confirmed"));
    }

    void aFullDiskStopsPublishesAndLeavesTheReserveToSettles() {
        FaultyFiles files;
        Options options = smallLog();
        options.diskFreeLimit = 0; // only the disk itself says stop
        files.setCapacity(2'600'000);
        LogFixture log(files, options);
        QCOMPARE(log.open(), std::string());
        QVERIFY(log.sparesAreReady(2));
        // Publishes go on until they would use the reserve.
        std::uint64_t published = 0;
        const auto full = [&] {
            return !log.log().accepting() &&
                   log.log().statistics().spareSegments <= options.reserveSegments &&
                   files.used() > 2'300'000;
        };
        while (!full() && published < 1000) {
            QVERIFY(log.tickUntil([&] { return log.log().accepting() || full(); }));
            if (log.log().accepting()) {
                log.append(std::string(50'000, 'p'));
                QVERIFY(log.sync());
                ++published;
            }
        }
        QVERIFY(published >= 30 && published < 1000);
        QVERIFY(log.log().trouble() == LocalLog::Trouble::diskFull);
        // Settles go on: the reserve is theirs.
        std::uint64_t settled = 0;
        for (; settled < 100; ++settled) {
            const auto id = log.tryAppend(std::string(10'000, 's'), 0, {});
            if (!id) {
                QVERIFY(id.error().code == base::ErrorCode::full);
                break;
            }
            QVERIFY(log.sync());
        }
        QVERIFY2(settled * 10'000 >= 400'000, qPrintable(QString::number(settled)));
        QVERIFY2(settled < 100, "it must end when nothing is left");
        // It ends by itself when there is room.
        files.setCapacity(1'000'000'000);
        QVERIFY(log.tickUntil([&] { return log.log().accepting(); }));
        QVERIFY(log.log().trouble() == LocalLog::Trouble::none);
        QVERIFY(log.appendSynced("after"));
        QCOMPARE(log.withdrawals, 0);
    }

    void freeingMakesRoomOnAFullDisk() {
        FaultyFiles files;
        LogFixture log(files, smallLog());
        QCOMPARE(log.open(), std::string());
        std::vector<MessageId> ids;
        for (int i = 0; i < 40; ++i) {
            ids.push_back(log.appendSynced(std::string(50'000, 'p')));
        }
        QVERIFY(log.tickUntil([&] { return log.log().statistics().spareSegments >= 2; }));
        files.setCapacity(files.used());
        QVERIFY(log.tickUntil([&] { return !log.log().accepting(); }));
        for (const MessageId& id : ids) {
            log.log().release(id, 1, 1);
        }
        QVERIFY(log.appendSynced("settle", 0));
        log.log().covered(log.log().horizons().synced);
        QVERIFY(log.tickUntil([&] { return log.log().statistics().segments == 1; }));
        QVERIFY(log.tickUntil([&] {
            return log.log().trouble() == LocalLog::Trouble::diskFull || log.log().accepting();
        }));
        QVERIFY(log.appendSynced("still"));
    }

    void lowFreeSpaceStopsPublishesWithoutAnyFailure() {
        FaultyFiles files;
        Options options = smallLog();
        LogFixture log(files, options);
        QCOMPARE(log.open(), std::string());
        QVERIFY(log.sparesAreReady(2));
        files.setCapacity(files.used() + options.diskFreeLimit - 1);
        QVERIFY(log.tickUntil([&] { return !log.log().accepting(); }));
        QVERIFY(log.log().trouble() == LocalLog::Trouble::diskFull);
        files.setCapacity(files.used() + 100 * options.diskFreeLimit);
        QVERIFY(log.tickUntil([&] { return log.log().accepting(); }));
    }

    void sparesLeaveTheDiskItsFreeLimit() {
        FaultyFiles files;
        Options options = smallLog();
        constexpr std::uint64_t kCapacity = 8 * 1024 * 1024;
        files.setCapacity(kCapacity);
        LogFixture log(files, options);
        QCOMPARE(log.open(), std::string());
        QVERIFY(log.sparesAreReady(2));
        std::uint64_t leastFree = kCapacity;
        int published = 0;
        const auto publishUntilMostIsUsed = [&] {
            while (log.log().accepting() && published < 110) { // many spares are wanted
                log.append(std::string(50'000, 'p'));
                log.sync();
                ++published;
                leastFree = std::min(leastFree, kCapacity - files.used());
            }
            leastFree = std::min(leastFree, kCapacity - files.used());
            return published == 110;
        };
        QVERIFY(log.tickUntil(publishUntilMostIsUsed, std::chrono::milliseconds(20)));
        QVERIFY2(leastFree >= options.diskFreeLimit, qPrintable(QString::number(leastFree)));
    }

    void unsyncedBytesAreBoundedWithHysteresis() {
        FaultyFiles files;
        Options options = smallLog();
        options.segmentBytes = 16 * 1024 * 1024;
        LogFixture log(files, options);
        QCOMPARE(log.open(), std::string());
        QVERIFY(log.appendSynced("first"));
        QVERIFY(log.tickUntil([&] { return log.log().statistics().spareSegments == 2; }));
        std::atomic<bool> hold{true};
        files.onSync([&](const std::string&) { hold.wait(true); });
        std::uint64_t appended = 0;
        const std::string big(1024 * 1024, 'x');
        while (log.log().accepting() && appended < 100) {
            QVERIFY(log.tryAppend(big, 0).ok());
            log.log().submit();
            ++appended;
        }
        QVERIFY(appended >= 64 && appended < 70);
        QVERIFY(log.log().trouble() == LocalLog::Trouble::slow);
        QVERIFY(log.log().statistics().unsyncedBytes > limits::kUnreleasedBytes);
        hold = false;
        hold.notify_all();
        QVERIFY(log.wait([&] { return log.log().accepting(); }));
        QVERIFY(log.log().statistics().unsyncedBytes <= limits::kUnreleasedBytes / 2);
        files.onSync({});
        QVERIFY(log.sync());
    }

    void sparesFollowTheRateAndGoAfterHalfAMinute() {
        FaultyFiles files;
        LogFixture log(files, smallLog());
        QCOMPARE(log.open(), std::string());
        for (int i = 0; i < 20; ++i) {
            QVERIFY(log.appendSynced(std::string(100'000, 'x'), 0));
        }
        log.log().tick();
        QVERIFY(log.wait([&] { return log.log().statistics().spareSegments > 2; }));
        QVERIFY(log.tickUntil([&] { return log.log().statistics().spareSegments == 2; },
                              std::chrono::seconds(5)));
    }

    void aStopOnAFullDiskEndsWithTheReason() {
        FaultyFiles files;
        files.setCapacity(10'000);
        LogFixture log(files, smallLog());
        QCOMPARE(log.open(), std::string());
        QVERIFY(log.tickUntil([&] { return log.log().trouble() == LocalLog::Trouble::diskFull; }));
        const auto refused = log.tryAppend("x");
        QVERIFY(!refused.ok() && refused.error().code == base::ErrorCode::full);
        QVERIFY(log.log().stop().ok()); // nothing was appended
    }
};

QTEST_GUILESS_MAIN(LogSpaceTest)
#include "tst_log_space.moc"
