// SPDX-License-Identifier: Apache-2.0
#include "checkpoint_fixture.h"

#include "base/limits.h"
#include "support/seed.h"

#include <QTest>

using namespace millrace;
using namespace millrace::checkpoint_tests;
using support::Call;
using support::FaultyFiles;

class TestCheckpointStore : public QObject {
    Q_OBJECT

  private slots:
    void aFreshFolderHasNoPages() {
        FaultyFiles files;
        OpenStore store(files);
        QVERIFY(store.isOpen());
        QVERIFY(store.load(0).empty());
        QVERIFY(store.loaded().ok());
        QCOMPARE(store->replayFrom(), base::LogIndex{1});
        QVERIFY(files.list("cp").value().empty());
    }

    void aFinishedRoundIsShownAgain() {
        FaultyFiles files;
        OpenStore store(files);
        store->start();
        store.put(1, "one");
        store.put(2, "");
        store->put({7, 3, {5, 6}}, 9, base::bytesOf("three"));
        QVERIFY(store.finish(10));
        QCOMPARE(store->finished(), base::LogIndex{10});
        files.crash();
        store.reopen();
        const Pages pages = store.load();
        QCOMPARE(pages, (Pages{{keyOf(1), "one"}, {keyOf(2), ""}, {{7, 3, {5, 6}}, "three"}}));
        QCOMPARE(store->replayFrom(), base::LogIndex{10});
    }

    void anUnfinishedRoundIsAsIfItHadNeverBeen() {
        FaultyFiles files;
        OpenStore store(files);
        store->start();
        store.put(1, "old");
        store.put(2, "dropped later");
        QVERIFY(store.finish(2));
        store.put(1, "new");
        store->drop(keyOf(2));
        store.put(3, "new");
        QVERIFY(store->stop().ok());
        store.reopen();
        QCOMPARE(store.load(), (Pages{{keyOf(1), "old"}, {keyOf(2), "dropped later"}}));
    }

    void aDropIsDurableWithItsRound() {
        FaultyFiles files;
        OpenStore store(files);
        store->start();
        store.put(1, "one");
        store.put(2, "two");
        QVERIFY(store.finish(2));
        store->drop(keyOf(1));
        QVERIFY(store.finish(3));
        files.crash();
        store.reopen();
        QCOMPARE(store.load(), (Pages{{keyOf(2), "two"}}));
    }

    void stopFinishesTheRoundThatWasAskedFor() {
        FaultyFiles files;
        OpenStore store(files);
        store->start();
        store.put(1, "one");
        store->finishRound(5);
        QVERIFY(store->stop().ok());
        QCOMPARE(store->finished(), base::LogIndex{5});
        files.crash();
        store.reopen();
        QCOMPARE(store.load().size(), std::size_t{1});
    }

    void theLogIsNeededFromTheRoundBefore() {
        FaultyFiles files;
        OpenStore store(files);
        store->start();
        store.put(1, "a");
        QVERIFY(store.finish(10));
        QCOMPARE(store->logNeededFrom(), base::LogIndex{1});
        store.put(1, "b");
        QVERIFY(store.finish(20));
        QCOMPARE(store->logNeededFrom(), base::LogIndex{10});
        store.reopen();
        QCOMPARE(store->logNeededFrom(), base::LogIndex{10});
        QCOMPARE(store->finished(), base::LogIndex{20});
    }

    void aCheckpointAheadOfTheLogIsRefusedBeforeTheFirstPage() {
        FaultyFiles files;
        OpenStore store(files);
        store->start();
        store.put(1, "a", 3);
        store.put(2, "b", 8);
        QVERIFY(store.finish(4));
        store.reopen();
        QVERIFY(store.load(7).empty());
        QVERIFY(store.loaded().error().code == base::ErrorCode::damaged);
        QVERIFY(store.loaded().error().text.find("index 8, but the log ends at 7") !=
                std::string::npos);
        QCOMPARE(store.load(8).size(), std::size_t{2});
    }

    void moreThanTheBoundOfWaitingBytesIsNotWelcome() {
        FaultyFiles files;
        OpenStore store(files);
        std::mutex gate;
        files.onSync([&](const std::string&) { const std::lock_guard wait(gate); });
        {
            const std::lock_guard closed(gate);
            store->start();
            const std::string page(limits::kPageBytes, 'x');
            std::size_t put = 0;
            for (; store->ready(); ++put) {
                store->put(keyOf(put), 1, base::bytesOf(page));
            }
            QCOMPARE(put, limits::kPagesWaiting / limits::kPageBytes);
        }
        QVERIFY(store.waitFor([&] { return store->ready(); }));
    }

    void noWriteBetweenTwoSyncsIsLargerThanTheBound() {
        FaultyFiles files;
        OpenStore store(files);
        store->start();
        store.put(1, "the first segment is made");
        QVERIFY(store.finish(2));
        std::uint64_t last = files.bytesWritten();
        std::uint64_t most = 0;
        files.onSync([&](const std::string& path) {
            const std::uint64_t now = files.bytesWritten();
            most = path == "cp/page-00000001" ? std::max(most, now - last) : most;
            last = now;
        });
        for (std::uint64_t i = 0; i < 7; ++i) {
            store.put(i, std::string(300'000, 'x'));
        }
        QVERIFY(store.finish(3));
        QVERIFY(most > limits::kPageWriteBytes / 2);
        QVERIFY(most <= limits::kPageWriteBytes);
    }

    void spaceFollowsTheLivePages() {
        const support::Seed seed(4711);
        support::Random random(seed.value());
        FaultyFiles files;
        OpenStore store(files);
        store->start();
        Pages expected;
        base::LogIndex round = 1;
        for (int i = 0; i < 60; ++i) {
            for (int n = 0; n < 40; ++n) {
                const std::uint64_t object = random.below(200);
                const std::string bytes = random.bytes(random.below(60'000));
                store.put(object, bytes);
                expected[keyOf(object)] = bytes;
            }
            QVERIFY(store.finish(++round));
        }
        std::uint64_t live = 0;
        for (const auto& [key, bytes] : expected) {
            live += bytes.size();
        }
        // 40 pages of 30 kB a round are what the last two rounds replaced.
        const std::uint64_t replaced = 2 * 40 * 60'000;
        const std::uint64_t bound = 2 * (live + replaced) + 4 * limits::kPageSegmentBytes;
        QVERIFY2(files.used() < bound, qPrintable(QString::number(files.used())));
        for (std::uint64_t object = 0; object < 200; ++object) {
            store->drop(keyOf(object));
        }
        for (int i = 0; i < 4; ++i) {
            QVERIFY(store.finish(++round));
        }
        QVERIFY(files.used() <= 3 * limits::kPageSegmentBytes);
        store.reopen();
        QVERIFY(store.load().empty());
    }

    void oneLivePageOfASegmentPinsNothing() {
        FaultyFiles files;
        OpenStore store(files);
        store->start();
        base::LogIndex round = 1;
        // Each round leaves one small page in a segment that is else dead.
        for (std::uint64_t i = 0; i < 12; ++i) {
            store.put(1000 + i, "kept");
            for (std::uint64_t n = 0; n < 5; ++n) {
                store.put(n, std::string(900'000, static_cast<char>('a' + i)));
            }
            QVERIFY(store.finish(++round));
        }
        for (std::uint64_t n = 0; n < 5; ++n) {
            store->drop(keyOf(n));
        }
        for (int i = 0; i < 6; ++i) {
            QVERIFY(store.finish(++round));
        }
        QVERIFY2(files.used() <= 5 * limits::kPageSegmentBytes,
                 qPrintable(QString::number(files.used())));
        store.reopen();
        QCOMPARE(store.load().size(), std::size_t{12});
    }

    void manyPagesSurviveManyRestarts() {
        const support::Seed seed(99);
        support::Random random(seed.value());
        FaultyFiles files;
        Pages expected;
        base::LogIndex round = 1;
        OpenStore store(files);
        for (int restart = 0; restart < 10; ++restart) {
            store.reopen();
            QVERIFY(store.isOpen());
            QCOMPARE(store.load(), expected);
            store->start();
            for (int n = 0; n < 300; ++n) {
                const std::uint64_t object = random.below(1000);
                if (random.chance(30)) {
                    store->drop(keyOf(object));
                    expected.erase(keyOf(object));
                } else {
                    const std::string bytes = random.bytes(random.below(500));
                    store.put(object, bytes);
                    expected[keyOf(object)] = bytes;
                }
            }
            QVERIFY(store.finish(++round));
            store.put(random.below(1000), "never finished");
            files.crash({support::Keep::What::sectors, random.next()});
        }
        QVERIFY(files.used() <= 6 * limits::kPageSegmentBytes);
    }
};

QTEST_APPLESS_MAIN(TestCheckpointStore)
#include "tst_checkpoint_store.moc"
