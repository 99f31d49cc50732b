// SPDX-License-Identifier: Apache-2.0
// Purges and deleted queues: in effect at once, worked off in slices, exact over a power cut.
#include "unit/engine/engine_fixture.h"

#include "base/limits.h"

#include <QTest>

using namespace millrace;
using namespace millrace::test;
using Strings = std::vector<std::string>;

class ClearingTest : public QObject {
    Q_OBJECT

    static void fill(EngineFixture& f, Peer& p, int count) {
        p.declare("q");
        for (int i = 0; i < count; ++i) {
            QVERIFY(p.publish("q", std::to_string(i)).ok());
        }
        f.sync();
    }

  private slots:
    void purgeCountsAndTakesWhatIsReadyOnly() {
        EngineFixture f;
        Peer p(f);
        fill(f, p, 10);
        QVERIFY(p.channel->qos(0, 3, false).ok());
        QVERIFY(p.consume("q", "c").ok());
        f.sync();
        auto purged = f.broker->purgeQueue(*p.connection, "/", "q");
        QVERIFY(purged.ok());
        QCOMPARE(purged->value, 7U);
        QVERIFY(!f.broker->isVisible(purged->visibleAt));
        QCOMPARE(p.ready("q"), 0U);
        QCOMPARE(p.unacked("q"), 3U);
        f.sync();
        QCOMPARE(f.durable.heldEntries(), 3U);
    }

    void purgedMessagesAreGoneAfterAPowerCutAndUnackedOnesAreNot() {
        EngineFixture f;
        {
            Peer p(f);
            fill(f, p, 10);
            QVERIFY(p.channel->qos(0, 3, false).ok());
            QVERIFY(p.consume("q", "c").ok());
            f.sync();
            p.ack(2);
            f.turn();
            p.purge("q");
            QVERIFY(p.publish("q", "after").ok());
            f.sync();
        }
        f.restart();
        Peer p(f);
        QVERIFY(p.consume("q", "c").ok());
        f.sync();
        QCOMPARE(p.client.bodies(), (Strings{"0", "2", "3", "after"}));
        QCOMPARE(f.durable.heldEntries(), 4U);
    }

    void purgeThatIsNotSyncedIsUndoneByAPowerCut() {
        EngineFixture f;
        {
            Peer p(f);
            fill(f, p, 10);
            p.purge("q");
            f.turn();
            QCOMPARE(f.durable.heldEntries(), 10U); // nothing is let go before
        }
        f.restart();
        Peer p(f);
        QCOMPARE(p.ready("q"), 10U);
    }

    void whatComesBackDuringALongPurgeStays() {
        EngineFixture f;
        Peer p(f);
        p.declare("q");
        for (int i = 0; i < 30'000; ++i) {
            QVERIFY(p.publish("q", "m" + std::to_string(i), false).ok());
        }
        QVERIFY(p.channel->qos(0, 1, false).ok());
        QVERIFY(p.consume("q", "c").ok());
        f.turn();
        QVERIFY(p.channel->cancel("c").ok());
        f.clock.advance(std::chrono::hours(1));
        p.purge("q");
        QCOMPARE(p.ready("q"), 0U);
        QVERIFY(p.channel->settle(1, false, Settlement::requeue).ok());
        QCOMPARE(p.ready("q"), 1U);
        f.turn();
        QCOMPARE(p.ready("q"), 1U);
        QVERIFY(p.consume("q", "c").ok());
        f.turn();
        QCOMPARE(p.client.deliveries.back().body, std::string("m0"));
    }

    void whatComesBackDuringALongPurgeGoesWithTheNext() {
        EngineFixture f;
        {
            Peer p(f);
            fill(f, p, 10'000);
            QVERIFY(p.channel->qos(0, 2, false).ok());
            QVERIFY(p.consume("q", "c").ok());
            f.sync();
            f.clock.eachLookTakes(limits::kSliceTime * 2);
            p.purge("q");
            p.purge("q"); // nothing new: nothing changes
            QVERIFY(p.channel->settle(1, false, Settlement::requeue).ok());
            QCOMPARE(p.ready("q"), 1U);
            QCOMPARE(p.unacked("q"), 1U);
            auto purged = f.broker->purgeQueue(*p.connection, "/", "q");
            QVERIFY(purged.ok());
            QCOMPARE(purged->value, 1U);
            QCOMPARE(p.ready("q"), 0U);
            QVERIFY(f.broker->hasWork());
            f.sync();
            QCOMPARE(p.client.deliveries.size(), std::size_t{2});
            QCOMPARE(f.durable.heldEntries(), 1U);
        }
        f.clock.eachLookTakes(std::chrono::nanoseconds(0));
        f.restart();
        Peer p(f);
        QVERIFY(p.consume("q", "c").ok());
        f.sync();
        QCOMPARE(p.client.bodies(), Strings{"1"});
    }

    void deletedQueuesAreEmptiedBesideTurnsThatHaveNoTimeForIt() {
        EngineFixture f;
        f.checkpoints = true; // a deleted queue stays until one is done with it
        f.store();
        f.restart();
        Peer p(f);
        for (const char* queue : {"q", "r", "s"}) {
            p.declare(queue);
            QVERIFY(p.publish(queue, "a").ok());
        }
        f.sync();
        for (const char* queue : {"q", "r", "s"}) {
            QVERIFY(f.broker->deleteQueue(*p.connection, "/", queue, false, false).ok());
        }
        f.clock.eachLookTakes(limits::kSliceTime * 2);
        for (int i = 0; i < 3; ++i) {
            f.broker->endTurn();
        }
        f.clock.eachLookTakes(std::chrono::nanoseconds(0));
        f.durable.advanceAll();
        f.durable.harvest();
        QCOMPARE(f.durable.heldEntries(), 0U);
    }

    void purgingAndDeletingVolatileQueuesLogsNothing() {
        EngineFixture f;
        Peer p(f);
        p.declare("v", false);
        p.declare("d");
        for (const char* queue : {"v", "d"}) {
            QVERIFY(f.broker->bind(*p.connection, {"/", "amq.fanout", queue, "", false, {}}).ok());
        }
        QVERIFY(p.publish("", "a", true, "amq.fanout").ok());
        f.sync();
        const auto before = f.durable.appended();
        QVERIFY(f.durable.differencesToNeeded().empty());
        p.purge("v");
        QVERIFY(f.broker->deleteQueue(*p.connection, "/", "v", false, false).ok());
        f.sync();
        QCOMPARE(f.durable.appended(), before);
        QCOMPARE(f.durable.heldEntries(), 1U);
    }

    void deletedQueueWithUnackedMessagesLetsGoOfAll() {
        EngineFixture f;
        Peer p(f);
        fill(f, p, 5000);
        QVERIFY(p.channel->qos(0, 100, false).ok());
        QVERIFY(p.consume("q", "c").ok());
        f.sync();
        auto deleted = f.broker->deleteQueue(*p.connection, "/", "q", false, false);
        QVERIFY(deleted.ok());
        QCOMPARE(deleted->value, 4900U);
        f.turn();
        QCOMPARE(f.durable.heldEntries(), 5000U); // the deletion is not synced yet
        f.sync();
        QCOMPARE(f.durable.heldEntries(), 0U);
        QVERIFY(!f.broker->hasWork());
    }
};

QTEST_APPLESS_MAIN(ClearingTest)
#include "tst_clearing.moc"
