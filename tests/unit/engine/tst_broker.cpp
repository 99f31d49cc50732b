// SPDX-License-Identifier: Apache-2.0
// The way of a message through the engine: publish, confirm, deliver, ack, and what a power cut
// leaves of it.
#include "unit/engine/engine_fixture.h"

#include <QTest>

using namespace millrace;
using namespace millrace::test;
using Strings = std::vector<std::string>;

class BrokerTest : public QObject {
    Q_OBJECT

  private slots:
    void confirmWaitsForTheSyncThatCoversIt() {
        EngineFixture f;
        Peer p(f);
        p.declare("q");
        f.sync();
        p.channel->selectConfirms();
        QVERIFY(p.publish("q", "a").ok());
        QVERIFY(p.publish("q", "b").ok());
        f.turn();
        QVERIFY(p.client.confirms.empty());
        f.durable.advanceAll();
        f.turn();
        QCOMPARE(p.client.confirms.size(), std::size_t{1});
        QCOMPARE(p.client.confirms[0].from, 1U);
        QCOMPARE(p.client.confirms[0].to, 2U);
    }

    void deliveryWaitsForTheCommittedHorizon() {
        EngineFixture f;
        Peer p(f);
        p.declare("q");
        QVERIFY(p.consume("q", "c").ok());
        f.sync();
        QVERIFY(p.publish("q", "a").ok());
        f.turn();
        QVERIFY(p.client.deliveries.empty());
        f.durable.syncTo((f.durable.writeTo(f.durable.appended()), f.durable.appended()));
        f.turn();
        QVERIFY(p.client.deliveries.empty()); // synced here, not by the majority
        f.durable.advanceAll();
        f.turn();
        QCOMPARE(p.client.bodies(), Strings{"a"});
    }

    void transientMessageIsDeliveredAndConfirmedAtOnceAndIsNotInTheDurableLog() {
        EngineFixture f;
        Peer p(f);
        p.declare("q");
        f.sync();
        p.channel->selectConfirms();
        QVERIFY(p.consume("q", "c").ok());
        f.sync();
        const auto before = f.durable.appended();
        QVERIFY(p.publish("q", "a", false).ok());
        f.turn();
        QCOMPARE(p.client.bodies(), Strings{"a"});
        QCOMPARE(p.client.confirmedUpTo(), 1U);
        QCOMPARE(f.durable.appended(), before);
    }

    void transientMessageDoesNotOvertakeAPersistentOneThatIsNotReleased() {
        EngineFixture f;
        Peer p(f);
        p.declare("q");
        QVERIFY(p.consume("q", "c").ok());
        f.sync();
        QVERIFY(p.publish("q", "first").ok());
        QVERIFY(p.publish("q", "second", false).ok());
        f.turn();
        QVERIFY(p.client.deliveries.empty());
        f.sync();
        QCOMPARE(p.client.bodies(), (Strings{"first", "second"}));
    }

    void everythingOfAVolatileQueueStaysOutOfTheDurableLog() {
        EngineFixture f;
        Peer p(f);
        const auto before = f.durable.appended();
        p.declare("x", true, true);         // durable, but exclusive
        p.declare("t", false, false, true); // auto-delete
        QVERIFY(f.broker->bind(*p.connection, {"/", "amq.direct", "x", "k", false, {}}).ok());
        QVERIFY(p.consume("x", "c").ok());
        QVERIFY(p.publish("k", "a", true, "amq.direct").ok());
        f.turn();
        QCOMPARE(p.client.bodies(), Strings{"a"});
        p.ack(1);
        f.turn();
        QCOMPARE(f.durable.appended(), before);
    }

    void aMessageOfTenQueuesIsOneEntry() {
        EngineFixture f;
        Peer p(f);
        for (int i = 0; i < 10; ++i) {
            const std::string name = "q" + std::to_string(i);
            p.declare(name);
            QVERIFY(f.broker->bind(*p.connection, {"/", "amq.fanout", name, "", false, {}}).ok());
        }
        f.sync();
        const auto held = f.durable.heldEntries();
        QVERIFY(p.publish("", "a", true, "amq.fanout").ok());
        f.sync();
        QCOMPARE(f.durable.heldEntries(), held + 1);
        for (int i = 0; i < 10; ++i) {
            QCOMPARE(p.ready("q" + std::to_string(i)), 1U);
        }
    }

    void ackedMessageIsLetGoOnlyOnceItsSettleIsSynced() {
        EngineFixture f;
        Peer p(f);
        p.declare("q");
        QVERIFY(p.consume("q", "c").ok());
        f.sync();
        QVERIFY(p.publish("q", "a").ok());
        f.sync();
        QCOMPARE(f.durable.heldEntries(), 1U);
        p.ack(1);
        f.turn();
        QCOMPARE(f.durable.heldEntries(), 1U);
        f.durable.advanceAll();
        f.turn();
        QCOMPARE(f.durable.heldEntries(), 0U);
        QVERIFY(f.durable.differencesToNeeded().empty());
    }

    void powerCutKeepsWhatWasConfirmedAndForgetsWhatWasAcked() {
        EngineFixture f;
        {
            Peer p(f);
            p.declare("q");
            QVERIFY(p.consume("q", "c").ok());
            f.sync();
            for (const char* body : {"a", "b", "c"}) {
                QVERIFY(p.publish("q", body).ok());
            }
            f.sync();
            p.ack(2);
            f.sync();
            QVERIFY(p.publish("q", "unsynced").ok());
            f.turn();
        }
        f.restart();
        Peer p(f);
        QCOMPARE(p.ready("q"), 2U);
        QVERIFY(p.consume("q", "c").ok());
        f.sync();
        QCOMPARE(p.client.bodies(), (Strings{"a", "c"}));
        QVERIFY(p.client.deliveries[0].redelivered);
        p.ack(0, true);
        f.sync();
        QCOMPARE(f.durable.heldEntries(), 0U);
    }

    void powerCutForgetsTransientMessagesAndVolatileQueues() {
        EngineFixture f;
        {
            Peer p(f);
            p.declare("q");
            p.declare("v", false);
            QVERIFY(f.broker->bind(*p.connection, {"/", "amq.fanout", "q", "", false, {}}).ok());
            QVERIFY(f.broker->bind(*p.connection, {"/", "amq.fanout", "v", "", false, {}}).ok());
            QVERIFY(p.publish("", "kept", true, "amq.fanout").ok());
            QVERIFY(p.publish("", "lost", false, "amq.fanout").ok());
            f.sync();
            QCOMPARE(p.ready("v"), 2U);
        }
        f.restart();
        Peer p(f);
        QVERIFY(!f.broker->numbers("/", "v"));
        QCOMPARE(p.ready("q"), 1U);
        QVERIFY(p.consume("q", "c", true).ok());
        f.sync();
        QCOMPARE(p.client.bodies(), Strings{"kept"});
        f.sync();
        QCOMPARE(f.durable.heldEntries(), 0U);
    }

    void replyWaitsForItsRecord() {
        EngineFixture f;
        Peer p(f);
        engine::QueueDeclare declare;
        declare.name = "q";
        declare.durable = true;
        auto declared = f.broker->declareQueue(*p.connection, declare);
        QVERIFY(declared.ok());
        QVERIFY(declared->visibleAt > 0);
        QVERIFY(f.broker->await(*p.channel, declared->visibleAt, 7));
        f.turn();
        QVERIFY(p.client.resumes.empty());
        f.durable.advanceAll();
        f.turn();
        QCOMPARE(p.client.resumes.size(), std::size_t{1});
        QCOMPARE(p.client.resumes[0].ticket, 7U);
        QVERIFY(!f.broker->await(*p.channel, declared->visibleAt, 8));
    }

    void withdrawnLogMakesTheEngineStaleAndSilent() {
        EngineFixture f;
        Peer p(f);
        p.declare("q");
        f.sync();
        p.channel->selectConfirms();
        QVERIFY(p.publish("q", "a").ok());
        f.turn();
        f.durable.withdraw(f.durable.appended(), {base::ErrorCode::stopped, "no office"});
        f.turn();
        QVERIFY(f.broker->stale());
        QVERIFY(p.client.confirms.empty());
        QVERIFY(!p.publish("q", "b").ok());
    }

    void aFullLogRefusesAPublish() {
        EngineFixture f;
        Peer p(f);
        p.declare("q");
        f.sync();
        f.durable.refuse(true);
        QVERIFY(!p.publish("q", "a").ok());
        f.durable.refuse(false);
        QVERIFY(p.publish("q", "a").ok());
    }
};

QTEST_APPLESS_MAIN(BrokerTest)
#include "tst_broker.moc"
