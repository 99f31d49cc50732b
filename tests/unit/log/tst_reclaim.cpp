// SPDX-License-Identifier: Apache-2.0
#include "log_fixture.h"
#include "support/faulty_files.h"
#include "support/random.h"

#include <QtTest>

#include <set>

using namespace millrace;
using namespace millrace::log;
using support::FaultyFiles;

namespace {

using std::chrono::milliseconds;

std::string body(std::size_t number) {
    return "message " + std::to_string(number) +
           std::string(1000, static_cast<char>('a' + number % 26));
}

// A log with messages of a kilobyte over several segments, all synced, that knows which ones are
// still needed.
class Filled {
  public:
    Filled(FaultyFiles& files, std::size_t messages) : log(files, smallLog()) {
        MILLRACE_CHECK(log.open().empty());
        for (std::size_t i = 0; i < messages; ++i) {
            ids.push_back(log.append(body(i)));
            if (i % 50 == 49) {
                MILLRACE_CHECK(log.sync());
            }
        }
        MILLRACE_CHECK(log.sync());
        log.stillNeeded = [this](const MessageId& id) { return needed.count(id) != 0; };
        needed.insert(ids.begin(), ids.end());
    }
    void settle(std::size_t number) {
        needed.erase(ids[number]);
        log.log().release(ids[number], 1, 1);
    }
    void settleAllBut(const std::set<std::size_t>& kept) {
        for (std::size_t i = 0; i < ids.size(); ++i) {
            if (kept.count(i) == 0) {
                settle(i);
            }
        }
        log.append("settle", 0, {});
        MILLRACE_CHECK(log.sync());
    }
    void coverAll() { log.log().covered(log.log().horizons().synced); }
    std::uint64_t bytes() { return log.log().statistics().logBytes; }

    LogFixture log;
    std::vector<MessageId> ids;
    std::set<MessageId> needed;
};

} // namespace

class ReclaimTest : public QObject {
    Q_OBJECT

  private slots:
    void aSegmentWithoutHoldersGoesAtOnceWhenItIsCovered() {
        FaultyFiles files;
        Filled filled(files, 2000); // 2 MB in segments of 256 KiB
        const std::uint64_t before = filled.log.log().statistics().segments;
        QVERIFY(before >= 8);
        filled.settleAllBut({});
        filled.log.log().harvest();
        QCOMPARE(filled.log.log().statistics().segments, before); // replay could still need them
        filled.coverAll();
        filled.log.log().harvest();
        QCOMPARE(filled.log.log().statistics().segments, std::uint64_t{1});
        QVERIFY(filled.log.tickUntil(
            [&] { return filled.log.log().statistics().spareSegments == 2; }, milliseconds(5000)));
        QVERIFY(filled.log.tickUntil([&] { return files.used() <= 3 * 256 * 1024 + 65536; },
                                     milliseconds(1000)));
    }

    void nothingGoesBeforeTheLettingGoIsSynced() {
        FaultyFiles files;
        Filled filled(files, 600);
        filled.coverAll();
        const std::uint64_t before = filled.log.log().statistics().segments;
        std::atomic<bool> hold{true};
        QVERIFY(filled.log.wait([&] { return filled.log.log().statistics().spareSegments >= 2; }));
        files.onSync([&](const std::string&) { hold.wait(true); });
        for (std::size_t i = 0; i < filled.ids.size(); ++i) {
            filled.settle(i);
        }
        filled.log.append("settle", 0, {});
        filled.log.log().submit();
        filled.log.log().harvest();
        QCOMPARE(filled.log.log().statistics().segments, before);
        hold = false;
        hold.notify_all();
        QVERIFY(filled.log.wait([&] { return filled.log.log().statistics().segments < before; }));
        files.onSync({});
    }

    void onePinnedMessageAmongManyPinsNothingButItself() {
        FaultyFiles files;
        Filled filled(files, 3000);
        filled.settleAllBut({777});
        filled.coverAll();
        QVERIFY(filled.log.tickUntil(
            [&] {
                return filled.bytes() < 2 * 256 * 1024 &&
                       filled.log.log().statistics().spareSegments == 2;
            },
            milliseconds(1000)));
        QVERIFY(files.used() <=
                3 * 256 * 1024 + 128 * 1024); // active, two spares, and the little one
        QCOMPARE(filled.log.textAt(filled.ids[777]), body(777));
        QCOMPARE(filled.log.textAt(filled.ids[776]), std::string("<damaged>"));
        QCOMPARE(filled.log.log().statistics().liveReferences, std::uint64_t{1});
        // Still so after a start, and gone when settled.
        const LogIndex from = filled.log.log().horizons().synced;
        QVERIFY(filled.log.log().stop().ok());
        QCOMPARE(filled.log.open(from), std::string());
        filled.log.log().hold(filled.ids[777], 1, 1);
        QCOMPARE(filled.log.textAt(filled.ids[777]), body(777));
        filled.settle(777);
        filled.log.append("settle", 0, {});
        QVERIFY(filled.log.sync());
        QVERIFY(filled.log.wait([&] { return filled.log.log().statistics().segments <= 2; }));
    }

    void scatteredMessagesKeepTheirIdsRoutesAndKinds() {
        FaultyFiles files;
        Filled filled(files, 3000);
        std::set<std::size_t> kept;
        for (std::size_t i = 0; i < 3000; i += 97) {
            kept.insert(i);
        }
        filled.settleAllBut(kept);
        filled.coverAll();
        QVERIFY(filled.log.tickUntil([&] { return filled.bytes() < 3 * 256 * 1024; },
                                     milliseconds(1000)));
        std::vector<MessageId> ids;
        for (const std::size_t number : kept) {
            ids.push_back(filled.ids[number]);
        }
        const std::vector<Stored> fetched = filled.log.fetch(ids);
        std::size_t at = 0;
        for (const std::size_t number : kept) {
            QVERIFY(!fetched[at].damaged);
            QCOMPARE(int(fetched[at].kind), 1);
            QCOMPARE(textOf(fetched[at++]), body(number));
        }
        // Many small files become few: another round of settling leaves one.
        for (const std::size_t number : kept) {
            if (number % 2 == 0) {
                filled.settle(number);
            }
        }
        filled.log.append("settle", 0, {});
        QVERIFY(filled.log.sync());
        QCOMPARE(filled.log.textAt(ids[1]), body(97));
    }

    void aFetchUnderWayIsAnsweredAlthoughTheSegmentIsRewritten() {
        FaultyFiles files;
        Filled filled(files, 3000);
        filled.settleAllBut({5, 1500});
        filled.coverAll();
        std::uint64_t token = 1'000'000;
        bool allRight = true;
        QVERIFY(filled.log.tickUntil(
            [&] {
                filled.log.log().fetch(++token, {filled.ids[1500], filled.ids[5]});
                for (const auto& [asked, answer] : filled.log.answers) {
                    allRight =
                        allRight && textOf(answer[0]) == body(1500) && textOf(answer[1]) == body(5);
                }
                return filled.bytes() < 2 * 256 * 1024;
            },
            milliseconds(1000)));
        QVERIFY(filled.log.wait([&] { return filled.log.answers.count(token) != 0; }));
        QVERIFY(allRight);
    }

    void aFailureWhileRewritingLeavesTheOldSegments() {
        FaultyFiles files;
        Filled filled(files, 3000);
        filled.settleAllBut({777});
        QVERIFY(filled.log.wait([&] { return filled.log.log().statistics().spareSegments >= 2; }));
        files.failNth(support::Call::rename, 1, {base::ErrorCode::io, "planned"});
        filled.coverAll();
        QVERIFY(filled.log.tickUntil([&] { return filled.bytes() < 2 * 256 * 1024; },
                                     milliseconds(1000)));
        QCOMPARE(filled.log.textAt(filled.ids[777]), body(777));
        QVERIFY(filled.log.log().trouble() == LocalLog::Trouble::none);
    }

    void aLogUnderLoadIsLeftAloneWithinItsSlack() {
        FaultyFiles files;
        Filled filled(files, 3000);
        filled.settleAllBut({777, 2000});
        filled.coverAll();
        for (int turn = 0; turn < 30; ++turn) { // more than a mebibyte between two ticks
            for (int i = 0; i < 20; ++i) {
                filled.log.append(std::string(60'000, 'x'), 0, {});
            }
            QVERIFY(filled.log.sync());
            filled.log.clock.advance(milliseconds(1000));
            filled.log.log().tick();
        }
        QCOMPARE(filled.log.asked, std::uint64_t{0});
    }
};

QTEST_GUILESS_MAIN(ReclaimTest)
#include "tst_reclaim.moc"
