// SPDX-License-Identifier: Apache-2.0
// MessageIndex: order, counts, released tail, given-back messages; random verbs against a map.
#include "engine/message_index.h"

#include "base/limits.h"
#include "support/seed.h"
#include "unit/engine_index/index_oracle.h"

#include <QTest>

#include <limits>

using namespace millrace;
using namespace millrace::engine_test;
using engine::MessageIndex;

namespace {

constexpr LogIndex kNoLimit = std::numeric_limits<LogIndex>::max();

MessageId persistent(LogIndex record, std::uint32_t slot) {
    return {record, slot};
}
MessageId scratch(LogIndex record, std::uint32_t slot) {
    return {record | base::kScratchBit, slot};
}

MessageId deliver(MessageIndex& index) {
    const auto ready = index.nextReady(kNoLimit);
    if (!ready) {
        return {};
    }
    index.markOut(ready->id);
    return ready->id;
}

// Appends ids as a busy log makes them: records rise, slots are shared with other queues.
class IdSource {
  public:
    explicit IdSource(support::Random& random) : random_(random) {}
    MessageId next(unsigned scratchPercent, unsigned samePercent) {
        const unsigned kind = random_.chance(scratchPercent) ? 1 : 0;
        MessageId& last = last_[kind];
        if (last.record == 0) {
            last.record = 1 + random_.below(1000);
        } else if (random_.chance(samePercent)) {
            last.slot +=
                random_.chance(80) ? 1 : static_cast<std::uint32_t>(1 + random_.below(300));
        } else {
            last = {last.record + 1 + random_.below(random_.chance(5) ? 100000 : 3),
                    static_cast<std::uint32_t>(random_.below(600))};
        }
        return kind == 1 ? scratch(last.record, last.slot) : last;
    }

  private:
    support::Random& random_;
    MessageId last_[2];
};

// The same verbs to the index and to the oracle, compared after each.
class RandomVerbs {
  public:
    RandomVerbs(std::uint64_t seed, unsigned scratchPercent, unsigned samePercent)
        : random_(seed), source_(random_), scratchPercent_(scratchPercent),
          samePercent_(samePercent) {}

    void step(unsigned fill) {
        at_ += random_.below(2);
        const auto verb = random_.below(100);
        if (verb < fill) {
            append();
        } else if (verb < fill + 25) {
            takeNext();
        } else if (verb < fill + 50) {
            settleSome();
        } else if (verb < fill + 57) {
            giveOneBack();
        } else if (random_.chance(2)) {
            purge();
        } else if (random_.chance(5)) {
            list();
        }
        QCOMPARE(index_.total(), oracle_.total());
        QCOMPARE(index_.ordinals(), oracle_.ordinals());
    }

    void compareAndSettleAll() {
        for (const auto& [place, message] : oracle_.messages()) {
            QVERIFY(index_.contains(message.id));
            QCOMPARE(index_.isOut(message.id), message.out);
            QCOMPARE(index_.ordinalOf(message.id), message.ordinal);
        }
        for (const MessageId& id : oracle_.ids(false)) {
            QVERIFY(index_.settle(id, at_));
        }
        index_.trim();
        QVERIFY(index_.total() == 0);
    }

  private:
    void append() {
        const std::uint64_t burst = random_.chance(5) ? random_.below(400) : 1;
        for (std::uint64_t i = 0; i < burst; ++i) {
            const MessageId id = source_.next(scratchPercent_, samePercent_);
            index_.append(id);
            oracle_.append(id);
        }
    }
    void takeNext() {
        auto* const expected = oracle_.firstReady();
        const LogIndex limit = random_.chance(80) ? kNoLimit : at_;
        const auto ready = index_.nextReady(limit);
        const bool held = expected && !expected->id.isScratch() && expected->id.record > limit;
        QCOMPARE(ready.has_value(), expected != nullptr && !held);
        if (ready) {
            QVERIFY(ready->id == expected->id);
            QCOMPARE(ready->redelivered, expected->redelivered);
            QCOMPARE(ready->ordinal, expected->ordinal);
            index_.markOut(ready->id);
            expected->out = true;
        }
    }
    void settleSome() {
        for (const MessageId& id :
             oracle_.some(random_, random_.chance(70), 1 + random_.below(4))) {
            QVERIFY(index_.settle(id, at_));
            QVERIFY(oracle_.settle(id));
            QVERIFY(!index_.settle(id, at_));
        }
    }
    void giveOneBack() {
        for (const MessageId& id : oracle_.some(random_, true, 1)) {
            const bool flag = random_.chance(80);
            QVERIFY(index_.giveBack(id, flag));
            oracle_.find(id)->out = false;
            oracle_.find(id)->redelivered |= flag;
        }
    }
    void purge() {
        const auto expected = oracle_.ids(true);
        const auto most = random_.below(expected.size() + 3);
        std::size_t done = 0;
        const auto count = index_.purgeReady(most, at_, [&](const engine::Run& run) {
            for (std::uint32_t i = 0; i < run.count; ++i) {
                QVERIFY(done < expected.size() && run.at(i) == expected[done]);
                oracle_.settle(expected[done++]);
            }
        });
        QCOMPARE(count, std::min<std::uint64_t>(most, expected.size()));
        QCOMPARE(done, std::size_t{count});
    }
    void list() {
        std::vector<MessageId> ids;
        index_.readyIds({}, 50, ids);
        auto expected = oracle_.ids(true);
        expected.resize(std::min<std::size_t>(50, expected.size()));
        QVERIFY(ids == expected);
        QVERIFY(unsettledIds(index_) == oracle_.ids(false));
    }

    support::Random random_;
    IdSource source_;
    MessageIndex index_;
    IndexOracle oracle_;
    const unsigned scratchPercent_;
    const unsigned samePercent_;
    LogIndex at_ = 1;
};

} // namespace

class TestMessageIndex : public QObject {
    Q_OBJECT
  private slots:
    void messagesComeInOrderOfArrivalWhateverTheirLog();
    void nothingOvertakesAMessageAboveTheLimit();
    void aReturnedMessageIsAtItsPlaceAgainAndFlagged();
    void settlingTwiceSaysFalse();
    void purgeTakesReadyMessagesInSlices();
    void readAheadSkipsWhatIsOut();
    void ordinalsSurviveCompaction();
    void chunksAreSealedAtTheirLimits();
    void aSettledMiddleIsFreed();
    void anIdleIndexCanBeTrimmed();
    void randomVerbsAgreeWithAMap_data();
    void randomVerbsAgreeWithAMap();
};

void TestMessageIndex::messagesComeInOrderOfArrivalWhateverTheirLog() {
    MessageIndex index;
    const std::vector<MessageId> ids{persistent(5, 0), scratch(900, 7), persistent(5, 1),
                                     scratch(900, 8),  scratch(901, 0), persistent(8, 3)};
    for (const MessageId& id : ids) {
        index.append(id);
    }
    for (const MessageId& id : ids) {
        QVERIFY(deliver(index) == id);
    }
    QVERIFY(!index.nextReady(kNoLimit));
    QCOMPARE(index.out(), ids.size());
    QCOMPARE(index.ordinals(), std::uint64_t{3});
    QCOMPARE(index.ordinalOf(persistent(8, 3)), std::uint64_t{3});
    QCOMPARE(index.ordinalOf(scratch(901, 0)), std::uint64_t{0});
}

void TestMessageIndex::nothingOvertakesAMessageAboveTheLimit() {
    MessageIndex index;
    index.append(persistent(5, 0));
    index.append(persistent(6, 0));
    index.append(scratch(1, 0));
    QVERIFY(deliver(index) == persistent(5, 0));
    QVERIFY(!index.nextReady(5));
    const auto ready = index.nextReady(6);
    QVERIFY(ready && ready->id == persistent(6, 0));
    index.markOut(ready->id);
    QVERIFY(index.nextReady(5)->id == scratch(1, 0));
}

void TestMessageIndex::aReturnedMessageIsAtItsPlaceAgainAndFlagged() {
    MessageIndex index;
    for (std::uint32_t slot = 0; slot < 10; ++slot) {
        index.append(persistent(1, slot));
    }
    for (int i = 0; i < 6; ++i) {
        deliver(index);
    }
    QVERIFY(index.giveBack(persistent(1, 3)));
    QVERIFY(index.giveBack(persistent(1, 1)));
    QVERIFY(!index.giveBack(persistent(1, 1)));
    QVERIFY(!index.giveBack(persistent(1, 7)));
    QVERIFY(index.giveBack(persistent(1, 4), false));
    const std::vector<std::pair<std::uint32_t, bool>> expected{
        {1, true}, {3, true}, {4, false}, {6, false}, {7, false}};
    for (const auto& [slot, redelivered] : expected) {
        const auto ready = index.nextReady(kNoLimit);
        QVERIFY(ready && ready->id == persistent(1, slot));
        QCOMPARE(ready->redelivered, redelivered);
        index.markOut(ready->id);
    }
}

void TestMessageIndex::settlingTwiceSaysFalse() {
    MessageIndex index;
    QVERIFY(!index.settle(persistent(1, 1), 1));
    for (std::uint32_t slot = 0; slot < 3; ++slot) {
        index.append(persistent(1, slot));
    }
    deliver(index);
    QVERIFY(index.settle(persistent(1, 0), 2)); // out
    QVERIFY(index.settle(persistent(1, 2), 2)); // ready
    QVERIFY(!index.settle(persistent(1, 0), 2));
    QVERIFY(!index.settle(persistent(1, 2), 2));
    QVERIFY(!index.settle(persistent(1, 3), 2));
    QVERIFY(!index.settle(scratch(1, 1), 2));
    QCOMPARE(index.total(), std::uint64_t{1});
    QVERIFY(index.contains(persistent(1, 1)) && !index.isOut(persistent(1, 1)));
}

void TestMessageIndex::purgeTakesReadyMessagesInSlices() {
    MessageIndex index;
    for (std::uint32_t slot = 0; slot < 100; ++slot) {
        index.append(persistent(1, slot));
    }
    for (int i = 0; i < 10; ++i) {
        deliver(index);
    }
    index.giveBack(persistent(1, 2));
    std::vector<std::pair<std::uint32_t, std::uint32_t>> runs;
    const auto note = [&](const engine::Run& run) { runs.emplace_back(run.first.slot, run.count); };
    QCOMPARE(index.purgeReady(50, 2, note), std::uint64_t{50});
    QCOMPARE(index.purgeReady(1000, 2, note), std::uint64_t{41});
    QVERIFY(
        (runs == std::vector<std::pair<std::uint32_t, std::uint32_t>>{{2, 1}, {10, 49}, {59, 41}}));
    QCOMPARE(index.ready(), std::uint64_t{0});
    QCOMPARE(index.out(), std::uint64_t{9});
}

void TestMessageIndex::readAheadSkipsWhatIsOut() {
    MessageIndex index;
    for (LogIndex record = 1; record <= 20; ++record) {
        index.append(persistent(record, 4));
    }
    for (int i = 0; i < 5; ++i) {
        deliver(index);
    }
    std::vector<MessageId> ids;
    QCOMPARE(index.readyIds({}, 3, ids), std::size_t{3});
    QCOMPARE(index.readyIds(ids.back(), 4, ids), std::size_t{4});
    QVERIFY(index.settle(persistent(12, 4), 30));
    QCOMPARE(index.readyIds(persistent(12, 4), 100, ids), std::size_t{8});
    QCOMPARE(ids.size(), std::size_t{15});
    for (std::size_t i = 0; i < ids.size(); ++i) {
        QCOMPARE(ids[i].record, LogIndex{6 + i});
    }
    QCOMPARE(index.readyIds(persistent(20, 4), 100, ids), std::size_t{0});
}

void TestMessageIndex::ordinalsSurviveCompaction() {
    MessageIndex index;
    constexpr std::uint32_t kCount = 3000;
    for (std::uint32_t i = 0; i < kCount; ++i) {
        index.append(persistent(1 + i * 2, 5));
    }
    const std::size_t before = index.memoryBytes();
    for (std::uint32_t i = 0; i < kCount; ++i) {
        if (i % 50 != 7) {
            QVERIFY(index.settle(persistent(1 + i * 2, 5), 10000));
        }
    }
    QVERIFY(index.memoryBytes() < before / 2);
    for (std::uint32_t i = 7; i < kCount; i += 50) {
        QCOMPARE(index.ordinalOf(persistent(1 + i * 2, 5)), std::uint64_t{i + 1});
    }
    QCOMPARE(index.append(persistent(20000, 0)), std::uint64_t{kCount + 1});
    QCOMPARE(index.ordinalOf(persistent(20000, 0)), std::uint64_t{kCount + 1});
}

void TestMessageIndex::chunksAreSealedAtTheirLimits() {
    // By messages: the bitmaps of one chunk stay within 1 KiB each. By bytes: lone messages.
    MessageIndex bulk;
    std::string page;
    for (std::uint32_t slot = 0; slot < 2 * limits::kChunkMessages; ++slot) {
        bulk.append(persistent(1, slot));
    }
    QVERIFY(bulk.takeDirtyChunk(2, page) == persistent(1, 0));
    QVERIFY(bulk.takeDirtyChunk(2, page) == persistent(1, limits::kChunkMessages));
    QVERIFY(!bulk.takeDirtyChunk(2, page));
    MessageIndex lone;
    for (std::uint32_t i = 0; i < limits::kChunkBytes; ++i) {
        lone.append(persistent(1 + i, 1000));
    }
    page.clear();
    QVERIFY(lone.takeDirtyChunk(1u << 20, page).has_value());
    QVERIFY(page.size() <= limits::kChunkBytes);
    QVERIFY(page.size() > limits::kChunkBytes - 2 * limits::kChunkBytesLeast);
}

void TestMessageIndex::aSettledMiddleIsFreed() {
    MessageIndex index;
    constexpr std::uint32_t kCount = 100'000;
    for (std::uint32_t i = 0; i < kCount; ++i) {
        index.append(persistent(1 + i, i % 7));
    }
    for (std::uint32_t i = 1; i + 1 < kCount; ++i) {
        QVERIFY(index.settle(persistent(1 + i, i % 7), kCount + 1));
    }
    QCOMPARE(index.total(), std::uint64_t{2});
    QVERIFY2(index.memoryBytes() < 4000, qPrintable(QString::number(index.memoryBytes())));
    QVERIFY(deliver(index) == persistent(1, 0));
    QVERIFY(deliver(index) == persistent(kCount, (kCount - 1) % 7));
}

void TestMessageIndex::anIdleIndexCanBeTrimmed() {
    MessageIndex index;
    for (std::uint32_t i = 1; i < 20'000; ++i) {
        index.append(persistent(i, 0));
        QVERIFY(index.settle(deliver(index), i));
    }
    QVERIFY(index.memoryBytes() < 1500);
    index.trim();
    QCOMPARE(index.memoryBytes(), std::size_t{0});
    QCOMPARE(index.append(persistent(30'000, 0)), std::uint64_t{20'000});
    QVERIFY(deliver(index) == persistent(30'000, 0));
}

void TestMessageIndex::randomVerbsAgreeWithAMap_data() {
    QTest::addColumn<unsigned>("scratchPercent");
    QTest::addColumn<unsigned>("samePercent");
    QTest::addColumn<unsigned>("fill"); // percent of appends
    QTest::newRow("bulk") << 0u << 98u << 40u;
    QTest::newRow("scattered") << 0u << 0u << 40u;
    QTest::newRow("mixed") << 50u << 50u << 40u;
    QTest::newRow("nearly empty") << 20u << 50u << 20u;
    QTest::newRow("scratch only") << 100u << 70u << 35u;
}

void TestMessageIndex::randomVerbsAgreeWithAMap() {
    QFETCH(unsigned, scratchPercent);
    QFETCH(unsigned, samePercent);
    QFETCH(unsigned, fill);
    const support::Seed seed(20261201);
    RandomVerbs verbs(seed.value(), scratchPercent, samePercent);
    for (int step = 0; step < 20'000; ++step) {
        verbs.step(fill);
        if (QTest::currentTestFailed()) {
            return;
        }
    }
    verbs.compareAndSettleAll();
}

QTEST_APPLESS_MAIN(TestMessageIndex)
#include "tst_message_index.moc"
