// SPDX-License-Identifier: Apache-2.0
// ConfirmLedger: numbers, order of release, runs; random verbs against a list.
#include "engine/confirm_ledger.h"

#include "support/seed.h"

#include <QTest>

#include <deque>
#include <tuple>
#include <vector>

using namespace millrace;
using engine::ConfirmLedger;

using Range = std::tuple<std::uint64_t, std::uint64_t, bool>;

namespace {

std::vector<Range> release(ConfirmLedger& ledger, base::LogIndex synced) {
    std::vector<Range> ranges;
    ledger.release(synced, [&](std::uint64_t from, std::uint64_t to, bool accepted) {
        ranges.emplace_back(from, to, accepted);
    });
    return ranges;
}

} // namespace

class TestConfirmLedger : public QObject {
    Q_OBJECT
  private slots:
    void aConfirmWaitsForTheSyncThatCoversIt();
    void immediateOnesWaitForThoseBeforeThem();
    void neighboursWithOneVerdictAreOneRange();
    void aMillionWaitingForOneIndexAreOneEntry();
    void randomPublishesAreReleasedInOrderOnce();
};

void TestConfirmLedger::aConfirmWaitsForTheSyncThatCoversIt() {
    ConfirmLedger ledger;
    QCOMPARE(ledger.note(5), std::uint64_t{1});
    QCOMPARE(ledger.note(5), std::uint64_t{2});
    QCOMPARE(ledger.note(7), std::uint64_t{3});
    QCOMPARE(ledger.nextIndex(), base::LogIndex{5});
    QVERIFY(release(ledger, 4).empty());
    QVERIFY((release(ledger, 6) == std::vector<Range>{{1, 2, true}}));
    QVERIFY(release(ledger, 6).empty());
    QCOMPARE(ledger.waiting(), std::uint64_t{1});
    QVERIFY((release(ledger, 7) == std::vector<Range>{{3, 3, true}}));
    QCOMPARE(ledger.nextIndex(), base::LogIndex{0});
}

void TestConfirmLedger::immediateOnesWaitForThoseBeforeThem() {
    ConfirmLedger ledger;
    ledger.note(0);
    QVERIFY((release(ledger, 0) == std::vector<Range>{{1, 1, true}}));
    ledger.note(9);
    ledger.note(0);
    ledger.note(3);
    QVERIFY(release(ledger, 8).empty());
    QVERIFY((release(ledger, 9) == std::vector<Range>{{2, 4, true}}));
}

void TestConfirmLedger::neighboursWithOneVerdictAreOneRange() {
    ConfirmLedger ledger;
    ledger.note(1);
    ledger.note(2);
    ledger.note(2, false);
    ledger.note(3, false);
    ledger.note(4);
    QVERIFY((release(ledger, 9) == std::vector<Range>{{1, 2, true}, {3, 4, false}, {5, 5, true}}));
    QCOMPARE(ledger.waiting(), std::uint64_t{0});
}

void TestConfirmLedger::aMillionWaitingForOneIndexAreOneEntry() {
    ConfirmLedger ledger;
    for (int i = 0; i < 1'000'000; ++i) {
        ledger.note(5);
    }
    QVERIFY(ledger.memoryBytes() <= 64);
    for (base::LogIndex index = 6; index < 200'000; ++index) {
        ledger.note(index);
        release(ledger, index - 3);
    }
    QVERIFY(ledger.memoryBytes() < 64 * 1024);
    QCOMPARE(ledger.waiting(), std::uint64_t{3});
}

void TestConfirmLedger::randomPublishesAreReleasedInOrderOnce() {
    const support::Seed seed(5);
    support::Random random(seed.value());
    ConfirmLedger ledger;
    struct Publish {
        base::LogIndex index;
        bool accepted;
    };
    std::deque<Publish> waiting;
    std::uint64_t released = 0;
    base::LogIndex open = 1;
    for (int step = 0; step < 50'000; ++step) {
        open += random.below(2);
        const base::LogIndex index = random.chance(70) ? open : 0;
        const bool accepted = random.chance(90);
        ledger.note(index, accepted);
        waiting.push_back({index, accepted});
        if (!random.chance(20)) {
            continue;
        }
        const base::LogIndex synced = open - std::min<base::LogIndex>(open, random.below(20));
        for (const auto& [from, to, verdict] : release(ledger, synced)) {
            QCOMPARE(from, released + 1);
            for (; released < to; ++released) {
                QVERIFY(waiting.front().index <= synced);
                QCOMPARE(waiting.front().accepted, verdict);
                waiting.pop_front();
            }
        }
        QVERIFY(waiting.empty() || waiting.front().index > synced);
        QCOMPARE(ledger.waiting(), std::uint64_t{waiting.size()});
    }
}

QTEST_APPLESS_MAIN(TestConfirmLedger)
#include "tst_confirm_ledger.moc"
