// SPDX-License-Identifier: Apache-2.0
#include "base/limits.h"
#include "log_fixture.h"
#include "support/faulty_files.h"
#include "support/random.h"

#include <QTemporaryDir>
#include <QtTest>

using namespace millrace;
using namespace millrace::log;
using support::FaultyFiles;

namespace {

Options realFiles(const QTemporaryDir& folder) {
    Options options = smallLog(folder.path().toStdString() + "/log");
    options.segmentBytes = 4 * 1024 * 1024;
    return options;
}

} // namespace

class LocalLogTest : public QObject {
    Q_OBJECT

  private slots:
    void whatWasSyncedIsReplayedInOrder() {
        const QTemporaryDir folder;
        LogFixture log(base::systemFiles(), realFiles(folder));
        QCOMPARE(log.open(), std::string());
        QCOMPARE(log.append("one", 1, {3, 9}), (MessageId{1, 0}));
        QCOMPARE(log.append("two", 2, {3, 9}), (MessageId{1, 1}));
        QCOMPARE(log.append("three", 0, {}), (MessageId{1, 2}));
        QVERIFY(log.sync());
        QCOMPARE(log.appendSynced("four"), (MessageId{2, 0}));
        QCOMPARE(log.log().stop().ok(), true);
        QCOMPARE(log.open(), std::string());
        QCOMPARE(log.payloads(), (std::vector<std::string>{"one", "two", "three", "four"}));
        QCOMPARE(log.seen[1].routes, (std::vector<QueueId>{3, 9}));
        QCOMPARE(log.seen[1].id, (MessageId{1, 1}));
        QVERIFY(log.seen[2].routes.empty());
        QCOMPARE(int(log.seen[3].kind), 1);
    }

    void nothingIsReportedSyncedBeforeItsSync() {
        FaultyFiles files;
        LogFixture log(files, smallLog());
        QCOMPARE(log.open(), std::string());
        QCOMPARE(log.appendSynced("first"), (MessageId{1, 0}));
        QVERIFY(log.sparesAreReady(2));
        std::atomic<bool> hold{true};
        std::atomic<bool> reached{false};
        files.onSync([&](const std::string& path) {
            reached = reached || !path.empty();
            hold.wait(true);
        });
        log.append("second");
        log.log().submit();
        QTRY_VERIFY(reached.load());
        log.log().harvest();
        QCOMPARE(log.log().horizons().appended, LogIndex{2});
        QCOMPARE(log.log().horizons().written, LogIndex{2});
        QCOMPARE(log.log().horizons().synced, LogIndex{1});
        hold = false;
        hold.notify_all();
        QVERIFY(log.wait([&] { return log.log().horizons().synced == 2; }));
        files.onSync({});
    }

    void oneSyncCoversWhatArrivedWhileTheWriterWasBusy() {
        FaultyFiles files;
        LogFixture log(files, smallLog());
        QCOMPARE(log.open(), std::string());
        QCOMPARE(log.appendSynced("first"), (MessageId{1, 0}));
        QVERIFY(log.sparesAreReady(2));
        const std::uint64_t before = log.log().statistics().syncs;
        std::atomic<bool> hold{true};
        std::atomic<bool> reached{false};
        files.onSync([&](const std::string& path) {
            reached = reached || !path.empty();
            hold.wait(true);
        });
        log.append("a");
        log.log().submit();
        QTRY_VERIFY(reached.load());
        for (int turn = 0; turn < 50; ++turn) {
            log.append("b");
            log.log().submit();
        }
        hold = false;
        hold.notify_all();
        QVERIFY(log.sync());
        QCOMPARE(log.log().statistics().syncs - before, std::uint64_t{2});
        files.onSync({});
    }

    void entriesThatNobodyWaitsForAreSyncedWithoutAnyone() {
        FaultyFiles files;
        LogFixture log(files, smallLog());
        QCOMPARE(log.open(), std::string());
        log.append("settle", 0, {}, Waiting::nobody);
        QVERIFY(log.sync());
    }

    void recentEntriesAreReadFromMemoryAlsoOfTheOpenRecord() {
        FaultyFiles files;
        LogFixture log(files, smallLog());
        QCOMPARE(log.open(), std::string());
        const MessageId first = log.append("first");
        const MessageId second = log.append("second");
        Stored stored;
        QVERIFY(log.log().read(second, stored));
        QCOMPARE(textOf(stored), std::string("second"));
        QVERIFY(log.sync());
        QVERIFY(log.log().read(first, stored));
        QCOMPARE(textOf(stored), std::string("first"));
        QVERIFY(stored.owner == nullptr);
        QVERIFY(!log.log().read({first.record, 2}, stored));
        QVERIFY(!log.log().read({first.record + 1, 0}, stored));
    }

    void sizesUpToAMebibyteComeBackByFetchAndReplay() {
        const QTemporaryDir folder;
        LogFixture log(base::systemFiles(), realFiles(folder));
        QCOMPARE(log.open(), std::string());
        support::Random random(5);
        std::vector<std::pair<MessageId, std::string>> kept;
        for (const std::size_t size : {0, 1, 7, 8, 4095, 65000, 65536, 70000, 524288, 1048576}) {
            for (int copy = 0; copy < 4; ++copy) {
                const std::string payload = random.bytes(size);
                kept.emplace_back(log.append(payload), payload);
            }
            QVERIFY(log.sync());
        }
        QVERIFY(log.log().statistics().memoryBytes <= 1024 * 1024 + 2 * 1048576);
        std::vector<MessageId> ids;
        for (auto entry = kept.rbegin(); entry != kept.rend(); ++entry) {
            ids.push_back(entry->first);
        }
        const std::vector<Stored> fetched = log.fetch(ids);
        QCOMPARE(fetched.size(), kept.size());
        for (std::size_t i = 0; i < kept.size(); ++i) {
            QVERIFY(!fetched[i].damaged);
            QCOMPARE(fetched[i].id, kept[kept.size() - 1 - i].first);
            QVERIFY(textOf(fetched[i]) == kept[kept.size() - 1 - i].second);
        }
        QVERIFY(log.log().stop().ok());
        QCOMPARE(log.open(), std::string());
        QCOMPARE(log.seen.size(), kept.size());
        for (std::size_t i = 0; i < kept.size(); ++i) {
            QCOMPARE(log.seen[i].id, kept[i].first);
            QVERIFY(log.seen[i].payload == kept[i].second);
        }
    }

    void anEntryBiggerThanASegmentIsRefused() {
        FaultyFiles files;
        LogFixture log(files, smallLog());
        QCOMPARE(log.open(), std::string());
        const auto refused = log.tryAppend(std::string(300 * 1024, 'x'));
        QVERIFY(!refused.ok());
        QVERIFY(refused.error().code == base::ErrorCode::invalid);
        QVERIFY(log.appendSynced("small").record != 0);
    }

    void recordsAreClosedAt64KiB() {
        FaultyFiles files;
        LogFixture log(files, smallLog());
        QCOMPARE(log.open(), std::string());
        LogIndex last = 0;
        for (int i = 0; i < 200; ++i) {
            last = log.append(std::string(1000, 'x')).record;
        }
        QCOMPARE(last, LogIndex{4});
        QVERIFY(log.sync());
    }

    void manyOpensAndClosesLoseNothing() {
        const QTemporaryDir folder;
        Options options = realFiles(folder);
        options.segmentBytes = 256 * 1024;
        LogFixture log(base::systemFiles(), options);
        std::vector<std::string> expected;
        for (int round = 0; round < 30; ++round) {
            QCOMPARE(log.open(), std::string());
            QCOMPARE(log.payloads(), expected);
            for (int i = 0; i < round % 5; ++i) {
                expected.push_back("round " + std::to_string(round) + "." + std::to_string(i));
                QVERIFY(log.appendSynced(expected.back()));
            }
            if (round % 2 == 0) {
                QVERIFY(log.log().stop().ok());
            }
        }
    }

    void logTimeNeverGoesBack() {
        FaultyFiles files;
        LogFixture log(files, smallLog());
        QCOMPARE(log.open(), std::string());
        log.appendSynced("a");
        log.clock.jump(std::chrono::hours(-1));
        log.appendSynced("b");
        QVERIFY(log.log().stop().ok());
        QCOMPARE(log.open(), std::string());
        log.appendSynced("c");
        QVERIFY(log.log().stop().ok());
        QCOMPARE(log.open(), std::string());
        QCOMPARE(log.seen.size(), std::size_t{3});
        QCOMPARE(log.seen[0].wallMs, log.seen[1].wallMs);
        QCOMPARE(log.seen[1].wallMs, log.seen[2].wallMs);
    }

    void replayStartsWhereItIsTold() {
        FaultyFiles files;
        LogFixture log(files, smallLog());
        QCOMPARE(log.open(), std::string());
        for (int i = 1; i <= 5; ++i) {
            log.appendSynced(std::to_string(i));
        }
        QVERIFY(log.log().stop().ok());
        QCOMPARE(log.open(4), std::string());
        QCOMPARE(log.payloads(), (std::vector<std::string>{"4", "5"}));
        QVERIFY(log.open(100).find("records are missing") != std::string::npos);
    }
};

QTEST_GUILESS_MAIN(LocalLogTest)
#include "tst_local_log.moc"
