// SPDX-License-Identifier: Apache-2.0
// Whom next: fairness, credit, priorities, outboxes, and queues whose messages are not in memory.
#include "unit/engine/engine_fixture.h"

#include "base/field_table.h"
#include "base/limits.h"

#include <QTest>

using namespace millrace;
using namespace millrace::test;
using base::ReplyCode;
using Strings = std::vector<std::string>;

class DispatchTest : public QObject {
    Q_OBJECT

    static void publishMany(Peer& p, int count, bool persistent = false,
                            std::string_view key = "q") {
        for (int i = 0; i < count; ++i) {
            QVERIFY(p.publish(key, std::to_string(i), persistent).ok());
        }
    }
    static std::string priority(std::int32_t value) {
        std::string table;
        base::FieldTableWriter(table).int32("x-priority", value);
        return table;
    }
    static Strings tags(const RecorderClient& client) {
        Strings out;
        for (const auto& got : client.deliveries) {
            out.push_back(got.tag);
        }
        return out;
    }

  private slots:
    void consumersAreServedInTurn() {
        EngineFixture f;
        Peer p(f);
        p.declare("q");
        for (const char* tag : {"a", "b", "c"}) {
            QVERIFY(p.consume("q", tag).ok());
        }
        publishMany(p, 6);
        f.turn();
        QCOMPARE(tags(p.client), (Strings{"a", "b", "c", "a", "b", "c"}));
        QCOMPARE(p.client.bodies(), (Strings{"0", "1", "2", "3", "4", "5"}));
    }

    void prefetchIsALimitOfEachConsumerToCome() {
        EngineFixture f;
        Peer p(f);
        p.declare("q");
        QVERIFY(p.channel->qos(0, 2, false).ok());
        QVERIFY(p.consume("q", "a").ok());
        QVERIFY(p.channel->qos(0, 1, false).ok());
        QVERIFY(p.consume("q", "b").ok());
        publishMany(p, 10);
        f.turn();
        QCOMPARE(tags(p.client), (Strings{"a", "b", "a"}));
        p.ack(2);
        f.turn();
        QCOMPARE(tags(p.client), (Strings{"a", "b", "a", "b"}));
    }

    void sharedPrefetchLimitsTheChannel() {
        EngineFixture f;
        Peer p(f);
        p.declare("q");
        QVERIFY(p.channel->qos(0, 3, true).ok());
        QVERIFY(p.consume("q", "a").ok());
        QVERIFY(p.consume("q", "b").ok());
        publishMany(p, 10);
        f.turn();
        QCOMPARE(p.client.deliveries.size(), std::size_t{3});
        p.ack(2, true);
        f.turn();
        QCOMPARE(p.client.deliveries.size(), std::size_t{5});
        QVERIFY(p.channel->qos(0, 0, true).ok());
        f.turn();
        QCOMPARE(p.client.deliveries.size(), std::size_t{10});
    }

    void noAckConsumerHasNoLimitAndSettlesAtOnce() {
        EngineFixture f;
        Peer p(f);
        p.declare("q");
        QVERIFY(p.channel->qos(0, 1, false).ok());
        QVERIFY(p.consume("q", "a", true).ok());
        publishMany(p, 5, true);
        f.sync();
        QCOMPARE(p.client.deliveries.size(), std::size_t{5});
        QCOMPARE(p.ready("q") + p.unacked("q"), 0U);
        f.sync();
        QCOMPARE(f.durable.heldEntries(), 0U);
    }

    void higherConsumerPriorityIsServedFirst() {
        EngineFixture f;
        Peer p(f);
        p.declare("q");
        QVERIFY(p.channel->qos(0, 2, false).ok());
        QVERIFY(p.consume("q", "low").ok());
        QVERIFY(p.consume("q", "high", false, false, priority(5)).ok());
        publishMany(p, 5);
        f.turn();
        QCOMPARE(tags(p.client), (Strings{"high", "high", "low", "low"}));
    }

    void priorityMustBeANumber() {
        EngineFixture f;
        Peer p(f);
        p.declare("q");
        std::string table;
        base::FieldTableWriter(table).text("x-priority", "5");
        const auto refused = p.consume("q", "c", false, false, table);
        QCOMPARE(refused.refusal().code, ReplyCode::preconditionFailed);
        QCOMPARE(refused.refusal().text,
                 std::string("invalid arg 'x-priority' for queue 'q' in "
                             "vhost '/': \"expected integer, got longstr\""));
    }

    void exclusiveConsumerIsAlone() {
        EngineFixture f;
        Peer p(f);
        p.declare("q");
        const std::string text = "queue 'q' in vhost '/' in exclusive use";
        QVERIFY(p.consume("q", "a", false, true).ok());
        QCOMPARE(p.consume("q", "b").refusal().text, text);
        QVERIFY(p.channel->cancel("a").ok());
        QVERIFY(p.consume("q", "b").ok());
        QCOMPARE(p.consume("q", "a", false, true).refusal().text, text);
        QCOMPARE(p.consume("q", "a", false, true).refusal().code, ReplyCode::accessRefused);
    }

    void aConsumerTagIsUsedOnce() {
        EngineFixture f;
        Peer p(f);
        p.declare("q");
        QVERIFY(p.consume("q", "a").ok());
        const auto again = p.consume("q", "a");
        QCOMPARE(again.refusal().code, ReplyCode::notAllowed);
        QCOMPARE(again.refusal().text, std::string("attempt to reuse consumer tag 'a'"));
    }

    void fullOutboxStopsOnlyItsChannel() {
        EngineFixture f;
        Peer slow(f);
        Peer fast(f);
        slow.declare("q");
        slow.client.room = 2;
        QVERIFY(slow.consume("q", "slow").ok());
        QVERIFY(fast.consume("q", "fast").ok());
        publishMany(fast, 10);
        f.turn();
        QCOMPARE(slow.client.deliveries.size(), std::size_t{2});
        QCOMPARE(fast.client.deliveries.size(), std::size_t{8});
        publishMany(fast, 1);
        slow.client.room = SIZE_MAX;
        slow.channel->writable();
        QVERIFY(fast.channel->cancel("fast").ok());
        f.turn();
        QCOMPARE(slow.client.deliveries.size(), std::size_t{3});
    }

    void aFullConnectionStopsAllItsChannelsAndTheirGets() {
        EngineFixture f;
        Peer p(f);
        p.declare("q");
        RecorderClient second;
        auto otherChannel = f.broker->openChannel(*p.connection, second);
        QVERIFY(p.consume("q", "c").ok());
        p.connection->setFull(true);
        publishMany(p, 2);
        auto got = otherChannel->get("q", true);
        QVERIFY(got.ok() && *got == Channel::Got::coming);
        f.turn();
        QVERIFY(p.client.deliveries.empty() && second.deliveries.empty());
        p.connection->setFull(false);
        otherChannel->writable();
        p.channel->writable();
        f.turn();
        QCOMPARE(p.client.deliveries.size() + second.deliveries.size(), std::size_t{2});
        QCOMPARE(second.deliveries.size(), std::size_t{1});
    }

    void getTakesTheFirstReadyMessageAndSaysHowManyAreLeft() {
        EngineFixture f;
        Peer p(f);
        p.declare("q");
        auto none = p.channel->get("q", true);
        QVERIFY(none.ok() && *none == Channel::Got::empty);
        publishMany(p, 3);
        auto got = p.channel->get("q", false);
        QVERIFY(got.ok() && *got == Channel::Got::coming);
        QCOMPARE(p.client.bodies(), Strings{"0"});
        QCOMPARE(p.client.deliveries[0].remaining, 2U);
        QCOMPARE(p.client.deliveries[0].tag, std::string());
        p.ack(1);
        QCOMPARE(p.ready("q"), 2U);
    }

    void getOfAnUnreleasedMessageComesLater() {
        EngineFixture f;
        Peer p(f);
        p.declare("q");
        publishMany(p, 1, true);
        QVERIFY(p.channel->get("q", true).ok());
        f.turn();
        QVERIFY(p.client.deliveries.empty());
        f.sync();
        QCOMPARE(p.client.bodies(), Strings{"0"});
        QVERIFY(p.client.cancels.empty());
    }

    void getThatWasComingFindsNothingAfterAPurgeOrADelete() {
        EngineFixture f;
        Peer p(f);
        Peer other(f);
        p.declare("q");
        for (const bool byDelete : {false, true}) {
            publishMany(p, 1, true);
            auto got = p.channel->get("q", true);
            QVERIFY(got.ok() && *got == Channel::Got::coming);
            if (byDelete) {
                QVERIFY(f.broker->deleteQueue(*other.connection, "/", "q", false, false).ok());
            } else {
                QVERIFY(f.broker->purgeQueue(*other.connection, "/", "q").ok());
            }
            f.sync();
            QVERIFY(p.client.deliveries.empty());
        }
        QCOMPARE(p.client.cancels, (Strings{"", ""}));
    }

    void getDoesNotCountAgainstPrefetch() {
        EngineFixture f;
        Peer p(f);
        p.declare("q");
        p.declare("r");
        QVERIFY(p.channel->qos(0, 1, true).ok());
        publishMany(p, 2, false, "r");
        QVERIFY(p.channel->get("r", false).ok());
        QVERIFY(p.channel->get("r", false).ok());
        QVERIFY(p.consume("q", "c").ok());
        publishMany(p, 2);
        f.turn();
        QCOMPARE(p.client.deliveries.size(), std::size_t{3});
        p.ack(1);
        f.turn();
        QCOMPARE(p.client.deliveries.size(), std::size_t{3}); // a get's ack gives no credit
        p.ack(3);
        f.turn();
        QCOMPARE(p.client.deliveries.size(), std::size_t{4});
    }

    void queueBehindTheRecentMemoryFetchesAndKeepsItsOrder() {
        EngineFixture f;
        Peer p(f);
        p.declare("q");
        publishMany(p, 3000, true);
        f.sync();
        f.durable.evictTo(f.durable.appended());
        publishMany(p, 10, true);
        f.sync();
        QVERIFY(p.consume("q", "c").ok());
        f.sync();
        QCOMPARE(p.client.deliveries.size(), std::size_t{3010});
        for (int i = 0; i < 3000; ++i) {
            QCOMPARE(p.client.deliveries[static_cast<std::size_t>(i)].body, std::to_string(i));
        }
        p.ack(0, true);
        f.sync();
        QCOMPARE(f.durable.heldEntries(), 0U);
    }

    void onlyTheQueueThatFetchesWaits() {
        EngineFixture f;
        Peer p(f);
        p.declare("q");
        p.declare("warm");
        publishMany(p, 100, true);
        f.sync();
        f.durable.evictTo(f.durable.appended());
        f.durable.holdFetches(true);
        QVERIFY(p.consume("q", "c").ok());
        QVERIFY(p.consume("warm", "w").ok());
        publishMany(p, 1, false, "warm");
        for (int i = 0; i < 5; ++i) {
            f.broker->endTurn();
            f.durable.advanceAll();
            f.durable.harvest();
        }
        QCOMPARE(tags(p.client), Strings{"w"});
        QVERIFY(f.durable.pendingFetches() > 0);
        f.durable.holdFetches(false);
        f.sync();
        QCOMPARE(p.client.deliveries.size(), std::size_t{101});
    }

    void readAheadOfStalledQueuesIsBounded() {
        EngineFixture f;
        f.options.readAheadBytes = 64 * 1024;
        f.broker.reset();
        f.start(catalog::Snapshot{});
        Peer p(f);
        const std::string body(8 * 1024, 'b');
        for (int queue = 0; queue < 20; ++queue) {
            const std::string name = "q" + std::to_string(queue);
            p.declare(name);
            for (int i = 0; i < 40; ++i) {
                QVERIFY(p.publish(name, body).ok());
            }
        }
        f.sync();
        f.durable.evictTo(f.durable.appended());
        QVERIFY(p.channel->qos(0, 1, false).ok());
        for (int queue = 0; queue < 20; ++queue) {
            const std::string name = "q" + std::to_string(queue);
            QVERIFY(p.consume(name, name).ok());
        }
        f.sync();
        QCOMPARE(p.client.deliveries.size(), std::size_t{20});
        for (std::uint64_t tag = 1; tag <= 800; ++tag) { // every queue gets on, one by one
            p.ack(tag);
            f.sync();
        }
        QCOMPARE(p.client.deliveries.size(), std::size_t{800});
    }

    void damagedMessageIsDroppedAndTheOthersCome() {
        EngineFixture f;
        Peer p(f);
        p.declare("q");
        f.sync();
        publishMany(p, 3, true);
        f.sync();
        f.durable.damage({f.durable.appended(), 1});
        QVERIFY(p.consume("q", "c").ok());
        f.sync();
        QCOMPARE(p.client.bodies(), (Strings{"0", "2"}));
        p.ack(0, true);
        f.sync();
        QCOMPARE(f.durable.heldEntries(), 0U);
    }

    void aSliceEndsAndTheRestIsLeftOver() {
        EngineFixture f;
        Peer p(f);
        p.declare("q");
        QVERIFY(p.consume("q", "c", true).ok());
        publishMany(p, 1000);
        f.clock.advance(std::chrono::seconds(1));
        f.broker->endTurn();
        QVERIFY(f.broker->hasWork() || p.client.deliveries.size() == 1000);
        f.turn();
        QCOMPARE(p.client.deliveries.size(), std::size_t{1000});
    }
};

QTEST_APPLESS_MAIN(DispatchTest)
#include "tst_dispatch.moc"
