// SPDX-License-Identifier: Apache-2.0
// MessageIndex: pages and replay give back exactly what the log says, wherever a crash falls, again
// and again.
#include "engine/message_index.h"

#include "support/seed.h"
#include "unit/engine_index/pages_node.h"

#include <QTest>

using namespace millrace;
using namespace millrace::engine_test;

class TestMessageIndexPages : public QObject {
    Q_OBJECT
  private slots:
    void aPageHoldsTheUnsettledPersistentIds();
    void aDamagedPageIsRefused();
    void overlappingPagesAreReported();
    void everyCrashLeavesWhatTheLogSays_data();
    void everyCrashLeavesWhatTheLogSays();
    void allSettledMeansNoPageIsLeft();
};

void TestMessageIndexPages::aPageHoldsTheUnsettledPersistentIds() {
    MessageIndex index;
    index.append({5, 1});
    index.append({5, 2});
    index.append({1 | base::kScratchBit, 0});
    index.append({7, 0});
    index.settle({5, 1}, 8);
    QCOMPARE(index.dirtySince(), LogIndex{5});
    std::string page;
    const auto key = index.takeDirtyChunk(9, page);
    QVERIFY(key == (MessageId{5, 1}));
    QCOMPARE(index.dirtySince(), LogIndex{5}); // the head
    QCOMPARE(index.takeHead().ordinals, std::uint64_t{3});
    QCOMPARE(index.dirtySince(), LogIndex{0});

    MessageIndex again;
    again.loadHead({3, 1}, 8);
    QVERIFY(again.loadChunk(*key, base::bytesOf(page), 9).ok());
    QVERIFY(again.finishRecovery().ok());
    QVERIFY(unsettledIds(again) == (std::vector<MessageId>{{5, 2}, {7, 0}}));
    QCOMPARE(again.ordinalOf({7, 0}), std::uint64_t{3});
    QCOMPARE(again.append({10, 0}), std::uint64_t{4});
    QVERIFY(again.settle({5, 2}, 11) && again.settle({7, 0}, 11));
    std::vector<MessageId> removed;
    again.takeRemoved(removed);
    QVERIFY(removed == std::vector<MessageId>{*key});
}

void TestMessageIndexPages::aDamagedPageIsRefused() {
    MessageIndex index;
    for (std::uint32_t i = 1; i <= 200; ++i) {
        index.append({i * 1000, i % 3});
    }
    std::string page;
    const MessageId key = *index.takeDirtyChunk(1'000'000, page);
    const support::Seed seed(3);
    support::Random random(seed.value());
    int refused = 0;
    for (int round = 0; round < 5000; ++round) {
        std::string bytes = page;
        bytes[random.below(bytes.size())] = static_cast<char>(random.next());
        bytes.resize(random.chance(50) ? bytes.size() : random.below(bytes.size()));
        MessageIndex other;
        refused += other.loadChunk(key, base::bytesOf(bytes), 1'000'000).ok() ? 0 : 1;
        (void)other.finishRecovery();
        (void)unsettledIds(other); // whatever was accepted can be walked
    }
    QVERIFY(refused > 100);
    MessageIndex other;
    QVERIFY(!other.loadChunk(key, {}, 10).ok());
    QVERIFY(!other.loadChunk({}, base::bytesOf(page), 10).ok());
}

void TestMessageIndexPages::overlappingPagesAreReported() {
    MessageIndex index;
    for (std::uint32_t slot = 0; slot < 10; ++slot) {
        index.append({1, slot});
    }
    std::string page;
    QVERIFY(index.takeDirtyChunk(9, page).has_value());
    MessageIndex other;
    QVERIFY(other.loadChunk({1, 0}, base::bytesOf(page), 9).ok());
    QVERIFY(other.loadChunk({1, 0}, base::bytesOf(page), 9).ok());
    QVERIFY(!other.finishRecovery().ok());
}

void TestMessageIndexPages::everyCrashLeavesWhatTheLogSays_data() {
    QTest::addColumn<int>("turns"); // between crashes, at most
    QTest::newRow("often") << 12;
    QTest::newRow("sometimes") << 120;
    QTest::newRow("rarely") << 600;
}

void TestMessageIndexPages::everyCrashLeavesWhatTheLogSays() {
    QFETCH(int, turns);
    const support::Seed seed(77);
    support::Random random(seed.value());
    for (int life = 0; life < 6; ++life) {
        Node node(random);
        for (int crash = 0; crash < (turns > 100 ? 4 : 25); ++crash) {
            for (auto turn = random.below(static_cast<std::uint64_t>(turns)); turn > 0; --turn) {
                node.turn();
                node.checkpointStep();
                node.sync();
            }
            const QString difference = node.crash();
            QVERIFY2(difference.isEmpty(), qPrintable(difference));
        }
    }
}

void TestMessageIndexPages::allSettledMeansNoPageIsLeft() {
    const support::Seed seed(78);
    support::Random random(seed.value());
    Node node(random);
    for (int crash = 0; crash < 10; ++crash) {
        for (int turn = 0; turn < 50; ++turn) {
            node.turn();
            node.checkpointStep();
            node.sync();
        }
        QVERIFY(node.crash().isEmpty());
    }
    node.index().purgeReady(kNoLimit, 1'000'000, [](const engine::Run&) {});
    QCOMPARE(node.index().total(), std::uint64_t{0});
    node.quiet();
    QVERIFY(node.settled());
    QCOMPARE(node.pages(), std::size_t{0});
}

QTEST_APPLESS_MAIN(TestMessageIndexPages)
#include "tst_message_index_pages.moc"
