// SPDX-License-Identifier: Apache-2.0
// DeliveryLedger: tags, owners, bounded memory; random verbs against a map.
#include "engine/delivery_ledger.h"

#include "base/limits.h"
#include "support/seed.h"

#include <QTest>

#include <ctime>
#include <map>

using namespace millrace;
using base::MessageId;
using engine::Consumer;
using engine::DeliveryLedger;
using engine::Queue;
using engine::Unacked;

namespace {

// The ledger never looks behind these.
Queue* queueNo(std::uintptr_t number) {
    return reinterpret_cast<Queue*>(number * 16);
}
Consumer* consumerNo(std::uintptr_t number) {
    return reinterpret_cast<Consumer*>(number * 16);
}

struct Expected {
    MessageId id;
    Queue* queue;
    Consumer* consumer;
    std::uint32_t at;
};

} // namespace

class TestDeliveryLedger : public QObject {
    Q_OBJECT
  private slots:
    void tagsOfOneChannelRunAcrossConsumers();
    void multipleSettlesUpToTheTagInOrder();
    void multipleCountsFromATagThatIsNotOut();
    void theTagsOfADeletedQueueStayValid();
    void aCancelledConsumersDeliveriesStay();
    void deliveriesOfDifferentTimesKeepTheirAge();
    void tenMillionUnackedCostLessThanTwoBytesEach();
    void oneStuckDeliveryKeepsNothingElse();
    void singleAcksInOrderAreCheap();
    void whatAllLedgersTakeIsCounted();
    void randomVerbsAgreeWithAMap();
};

void TestDeliveryLedger::whatAllLedgersTakeIsCounted() {
    engine::UnackedMemory all(100'000);
    DeliveryLedger kept(&all);
    const auto owner = kept.attach(queueNo(1), consumerNo(1));
    {
        DeliveryLedger ledger(&all);
        const auto other = ledger.attach(queueNo(1), consumerNo(2));
        for (std::uint32_t i = 0; i < 5'000; ++i) { // no two are neighbours
            kept.add(owner, {i + 1, 0}, 1);
            ledger.add(other, {i + 1, 1}, 1);
        }
        QVERIFY(all.isTight());
        QVERIFY(all.held() >= 2 * 5'000 * 40);
    }
    QVERIFY(all.held() >= 5'000 * 40 && all.held() < 2 * 5'000 * 40);
    kept.settleUpTo(0, [](const Unacked&) {});
    QCOMPARE(all.held(), std::size_t{0}); // nothing stays for the next burst while it is tight
}

void TestDeliveryLedger::tagsOfOneChannelRunAcrossConsumers() {
    DeliveryLedger ledger;
    const auto a = ledger.attach(queueNo(1), consumerNo(1));
    const auto b = ledger.attach(queueNo(1), consumerNo(2));
    QCOMPARE(ledger.add(a, {1, 0}, 5), std::uint64_t{1});
    QCOMPARE(ledger.add(b, {1, 1}, 5), std::uint64_t{2});
    QCOMPARE(ledger.skip(), std::uint64_t{3});
    QCOMPARE(ledger.add(a, {1, 2}, 5), std::uint64_t{4});
    QCOMPARE(ledger.outstanding(), std::uint64_t{3});
    QCOMPARE(ledger.outstandingOf(a), std::uint64_t{2});
    QVERIFY(!ledger.settle(3));
    const auto unacked = ledger.settle(4);
    QVERIFY(unacked && unacked->first == (MessageId{1, 2}) && unacked->consumer == consumerNo(1));
    QVERIFY(!ledger.settle(4));
    QCOMPARE(ledger.outstandingOf(a), std::uint64_t{1});
}

void TestDeliveryLedger::multipleSettlesUpToTheTagInOrder() {
    DeliveryLedger ledger;
    const auto owner = ledger.attach(queueNo(1), consumerNo(1));
    for (std::uint32_t slot = 0; slot < 200; ++slot) {
        ledger.add(owner, {1, slot}, 5);
    }
    QVERIFY(ledger.settle(10));
    std::uint64_t next = 1;
    const auto inOrder = [&](const Unacked& run) {
        next += next == 10 ? 1 : 0;
        QCOMPARE(run.firstTag, next);
        QVERIFY(run.first == (MessageId{1, static_cast<std::uint32_t>(next - 1)}));
        next += run.count;
    };
    ledger.settleUpTo(150, inOrder);
    QCOMPARE(next, std::uint64_t{151});
    QCOMPARE(ledger.outstanding(), std::uint64_t{50});
    ledger.settleUpTo(0, inOrder);
    QCOMPARE(next, std::uint64_t{201});
    ledger.settleUpTo(0, inOrder); // all of nothing
}

void TestDeliveryLedger::multipleCountsFromATagThatIsNotOut() {
    DeliveryLedger ledger;
    const auto owner = ledger.attach(queueNo(1), consumerNo(1));
    ledger.add(owner, {1, 0}, 5);
    ledger.add(owner, {1, 1}, 5);
    QVERIFY(ledger.settle(2));
    QVERIFY(!ledger.settle(2));
    QVERIFY(!ledger.settle(0));
    QVERIFY(!ledger.settle(99));
    QCOMPARE(ledger.outstanding(), std::uint64_t{1});
    std::uint64_t settled = 0;
    ledger.settleUpTo(2, [&](const Unacked& run) { settled += run.count; });
    QCOMPARE(settled, std::uint64_t{1});
    QCOMPARE(ledger.outstanding(), std::uint64_t{0});
}

void TestDeliveryLedger::theTagsOfADeletedQueueStayValid() {
    DeliveryLedger ledger;
    const auto gone = ledger.attach(queueNo(1), consumerNo(1));
    const auto other = ledger.attach(queueNo(2), consumerNo(2));
    ledger.add(gone, {1, 0}, 5);
    ledger.add(other, {1, 1}, 5);
    ledger.forgetQueue(queueNo(1));
    const auto unacked = ledger.settle(1);
    QVERIFY(unacked && unacked->queue == nullptr && unacked->consumer == nullptr);
    QVERIFY(ledger.settle(2)->queue == queueNo(2));
}

void TestDeliveryLedger::aCancelledConsumersDeliveriesStay() {
    DeliveryLedger ledger;
    const auto cancelled = ledger.attach(queueNo(1), consumerNo(1));
    ledger.add(cancelled, {1, 0}, 5);
    ledger.detach(cancelled);
    QVERIFY(ledger.attach(queueNo(2), consumerNo(2)) != cancelled);
    const auto unacked = ledger.settle(1);
    QVERIFY(unacked && unacked->queue == queueNo(1) && unacked->consumer == nullptr);
    QCOMPARE(ledger.attach(queueNo(3), nullptr), cancelled); // nothing is left of it
}

void TestDeliveryLedger::deliveriesOfDifferentTimesKeepTheirAge() {
    DeliveryLedger ledger;
    const auto owner = ledger.attach(queueNo(1), consumerNo(1));
    const std::uint32_t later = 100 + limits::kDeliveryNotedSeconds;
    ledger.add(owner, {1, 0}, 100);
    ledger.add(owner, {1, 1}, 100);
    ledger.add(owner, {1, 2}, later);
    QCOMPARE(ledger.oldest()->notedSeconds, 100u);
    ledger.settle(1);
    QCOMPARE(ledger.oldest()->firstTag, std::uint64_t{2});
    ledger.settle(2);
    QCOMPARE(ledger.oldest()->notedSeconds, later);
    ledger.settle(3);
    QVERIFY(!ledger.oldest());
}

void TestDeliveryLedger::tenMillionUnackedCostLessThanTwoBytesEach() {
    DeliveryLedger ledger;
    const auto owner = ledger.attach(queueNo(1), consumerNo(1));
    for (std::uint32_t i = 0; i < 10'000'000; ++i) {
        ledger.add(owner, {1 + i / 600, i % 600}, i / 500'000);
    }
    const double bytes = static_cast<double>(ledger.memoryBytes()) / 10'000'000;
    qInfo("%.2f bytes an unacknowledged delivery", bytes);
    QVERIFY(bytes < 2);
    std::uint64_t count = 0;
    ledger.takeAll([&](const Unacked& run) { count += run.count; });
    QCOMPARE(count, std::uint64_t{10'000'000});
    QVERIFY(ledger.memoryBytes() < 1000);
}

void TestDeliveryLedger::oneStuckDeliveryKeepsNothingElse() {
    DeliveryLedger ledger;
    const auto owner = ledger.attach(queueNo(1), consumerNo(1));
    ledger.add(owner, {1, 0}, 5);
    for (std::uint32_t i = 0; i < 1'000'000; ++i) {
        const std::uint64_t tag = ledger.add(owner, {10 + i, i % 5}, 5);
        QVERIFY(ledger.settle(tag));
    }
    QVERIFY(ledger.memoryBytes() < 20'000);
    QVERIFY(ledger.settle(1));
}

void TestDeliveryLedger::singleAcksInOrderAreCheap() {
    DeliveryLedger ledger;
    const auto owner = ledger.attach(queueNo(1), consumerNo(1));
    constexpr std::uint32_t kCount = 2'000'000;
    const std::clock_t start = std::clock();
    for (std::uint32_t i = 0; i < kCount; ++i) {
        ledger.add(owner, {1 + i / 600, i % 600}, 5);
        if (i >= 1000) {
            ledger.settle(i - 999);
        }
    }
    const double each = static_cast<double>(std::clock() - start) * 1e9 / CLOCKS_PER_SEC / kCount;
    qInfo("%.1f ns for a delivery and its ack", each);
    QVERIFY(each < 1000); // a search or a copy of everything would be far above
}

void TestDeliveryLedger::randomVerbsAgreeWithAMap() {
    const support::Seed seed(99);
    support::Random random(seed.value());
    DeliveryLedger ledger;
    std::map<std::uint64_t, Expected> oracle;
    std::vector<DeliveryLedger::Owner> owners;
    for (std::uintptr_t i = 1; i <= 4; ++i) {
        owners.push_back(ledger.attach(queueNo(i / 2 + 1), consumerNo(i)));
    }
    MessageId next{1, 0};
    std::uint32_t now = 0;
    const auto check = [&](const Unacked& run) {
        for (std::uint32_t i = 0; i < run.count; ++i) {
            const auto at = oracle.find(run.firstTag + i);
            QVERIFY(at != oracle.end());
            QVERIFY(at == oracle.begin() || run.count == 1 || i > 0 || at->first == run.firstTag);
            QVERIFY(run.at(i) == at->second.id && run.queue == at->second.queue &&
                    run.consumer == at->second.consumer);
            QVERIFY(run.notedSeconds <= at->second.at &&
                    at->second.at - run.notedSeconds < limits::kDeliveryNotedSeconds + 1);
            oracle.erase(at);
        }
    };
    for (int step = 0; step < 200'000; ++step) {
        const auto verb = random.below(1000);
        now += random.chance(1) ? 1 : 0;
        if (verb < 500) {
            next = random.chance(90) ? MessageId{next.record, next.slot + 1}
                                     : MessageId{next.record + 1, 0};
            const std::uint64_t which = random.chance(90) ? 0 : random.below(4);
            const std::uint64_t tag = ledger.add(owners[which], next, now);
            QCOMPARE(tag, ledger.lastTag());
            oracle[tag] = {next, queueNo((which + 1) / 2 + 1), consumerNo(which + 1), now};
        } else if (verb < 520) {
            ledger.skip();
        } else if (verb < 985) {
            const std::uint64_t first = oracle.empty() ? 1 : oracle.begin()->first;
            const std::uint64_t tag =
                random.chance(60) ? first : random.between(first, ledger.lastTag() + 2);
            const bool known = oracle.count(tag) != 0;
            QCOMPARE(ledger.isOutstanding(tag), known);
            const auto unacked = ledger.settle(tag);
            QCOMPARE(unacked.has_value(), known);
            if (unacked) {
                check(*unacked);
            }
        } else if (verb < 999) {
            const std::uint64_t first = oracle.empty() ? 1 : oracle.begin()->first;
            const std::uint64_t tag = first + random.below(300);
            ledger.settleUpTo(tag, check);
            QVERIFY(oracle.empty() || oracle.begin()->first > tag);
        } else {
            ledger.settleUpTo(0, check);
            QVERIFY(oracle.empty());
        }
        QCOMPARE(ledger.outstanding(), std::uint64_t{oracle.size()});
    }
    std::uint64_t byOwner = 0;
    for (const auto owner : owners) {
        byOwner += ledger.outstandingOf(owner);
    }
    QCOMPARE(byOwner, ledger.outstanding());
    ledger.takeAll(check);
    QVERIFY(oracle.empty());
}

QTEST_APPLESS_MAIN(TestDeliveryLedger)
#include "tst_delivery_ledger.moc"
