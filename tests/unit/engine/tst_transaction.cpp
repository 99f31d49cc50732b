// SPDX-License-Identifier: Apache-2.0
// Transactions: nothing before the commit, everything with it, also over a power cut.
#include "unit/engine/engine_fixture.h"

#include "base/limits.h"

#include <QTest>

using namespace millrace;
using namespace millrace::test;
using base::ReplyCode;
using Strings = std::vector<std::string>;

class TransactionTest : public QObject {
    Q_OBJECT

    static base::LogIndex commit(Peer& p) {
        auto committed = p.channel->txCommit();
        return committed.ok() ? committed->visibleAt : 0;
    }

  private slots:
    void publishesAndAcksAreInEffectWithTheCommit() {
        EngineFixture f;
        Peer p(f);
        p.declare("q");
        QVERIFY(p.publish("q", "old").ok());
        QVERIFY(p.consume("q", "c").ok());
        f.sync();
        QVERIFY(p.channel->txSelect().ok());
        QVERIFY(p.publish("q", "a").ok());
        QVERIFY(p.publish("q", "b", false).ok());
        p.ack(1);
        f.sync();
        QCOMPARE(p.client.bodies(), Strings{"old"});
        QCOMPARE(p.unacked("q"), 1U);
        const base::LogIndex at = commit(p);
        QVERIFY(at > 0 && !f.broker->isVisible(at));
        f.turn();
        QCOMPARE(p.client.bodies(), Strings{"old"});
        f.sync();
        QCOMPARE(p.client.bodies(), (Strings{"old", "a", "b"}));
        QCOMPARE(p.unacked("q"), 2U);
        QCOMPARE(f.durable.heldEntries(), 1U);
    }

    void rollbackForgetsPublishesAndAcks() {
        EngineFixture f;
        Peer p(f);
        p.declare("q");
        QVERIFY(p.publish("q", "old").ok());
        QVERIFY(p.consume("q", "c").ok());
        f.sync();
        QVERIFY(p.channel->txSelect().ok());
        QVERIFY(p.publish("q", "a").ok());
        p.ack(1);
        QVERIFY(p.channel->txRollback().ok());
        QCOMPARE(commit(p), 0U);
        f.sync();
        QCOMPARE(p.unacked("q"), 1U); // still unacked: the channel's end gives it back
        p.channel.reset();
        QCOMPARE(p.ready("q"), 1U);
    }

    void powerCutBeforeTheCommitsSyncLeavesNothingOfIt() {
        EngineFixture f;
        {
            Peer p(f);
            p.declare("q");
            QVERIFY(p.publish("q", "old").ok());
            QVERIFY(p.consume("q", "c").ok());
            f.sync();
            QVERIFY(p.channel->txSelect().ok());
            const std::string body(40'000, 'b'); // one record each, the commit in the last
            QVERIFY(p.publish("q", body).ok());
            QVERIFY(p.publish("q", body).ok());
            p.ack(1);
            const base::LogIndex at = commit(p);
            f.turn();
            f.durable.advanceTo(at - 1);
            f.turn();
            QCOMPARE(p.client.deliveries.size(), std::size_t{1}); // not even what is on disk
        }
        f.restart();
        Peer p(f);
        QCOMPARE(p.ready("q"), 1U);
        QCOMPARE(f.durable.heldEntries(), 1U);
        QVERIFY(p.consume("q", "c").ok());
        f.sync();
        QCOMPARE(p.client.bodies(), Strings{"old"});
    }

    void powerCutAfterTheCommitsSyncKeepsAllOfIt() {
        EngineFixture f;
        {
            Peer p(f);
            p.declare("q");
            QVERIFY(p.publish("q", "old").ok());
            QVERIFY(p.consume("q", "c").ok());
            f.sync();
            QVERIFY(p.channel->txSelect().ok());
            QVERIFY(p.publish("q", "a").ok());
            p.ack(1);
            commit(p);
            f.sync();
        }
        f.restart();
        Peer p(f);
        QVERIFY(p.consume("q", "c").ok());
        f.sync();
        QCOMPARE(p.client.bodies(), Strings{"a"});
    }

    void aCommitThatTheLogRefusesIsNotMixedWithTheNext() {
        EngineFixture f;
        {
            Peer p(f);
            p.declare("q");
            f.sync();
            QVERIFY(p.channel->txSelect().ok());
            QVERIFY(p.publish("q", "a").ok());
            f.durable.refuse(true);
            QVERIFY(!p.channel->txCommit().ok());
            f.durable.refuse(false);
            QVERIFY(p.channel->txRollback().ok());
            QVERIFY(p.publish("q", "b").ok());
            QVERIFY(commit(p) > 0);
            f.sync();
            QCOMPARE(f.durable.heldEntries(), 1U);
        }
        f.restart();
        Peer p(f);
        QCOMPARE(p.ready("q"), 1U);
    }

    // Room for the messages, and then none for the entry that commits them.
    void aCommitWhoseEntryIsRefusedSettlesNothing() {
        EngineFixture f;
        {
            Peer p(f);
            p.declare("q");
            p.declare("out");
            for (const char* body : {"1", "2", "3"}) {
                QVERIFY(p.publish("q", body).ok());
            }
            QVERIFY(p.consume("q", "c").ok());
            f.sync();
            QCOMPARE(p.client.bodies(), (Strings{"1", "2", "3"}));
            QVERIFY(p.channel->txSelect().ok());
            QVERIFY(p.publish("out", "answer").ok());
            p.ack(1);
            QVERIFY(p.channel->settle(3, true, Settlement::discard).ok());
            f.durable.onAppend = [&f](const log::Entry&, const base::MessageId&) {
                f.durable.refuse(true);
            };
            QVERIFY(!p.channel->txCommit().ok());
            f.durable.onAppend = {};
            f.durable.refuse(false);
            f.sync();
            QCOMPARE(p.ready("out"), 0U);
        }
        f.sync();
        f.restart();
        Peer p(f);
        QCOMPARE(p.ready("q"), 3U);
        QCOMPARE(p.ready("out"), 0U);
    }

    void aReplayThatStartsWithinATransactionKeepsAllOfIt() {
        EngineFixture f;
        f.checkpoints = true;
        f.store();
        f.restart();
        {
            Peer p(f);
            p.declare("q");
            f.sync();
            f.store();
            QVERIFY(p.channel->txSelect().ok());
            const std::string body(40'000, 'b'); // one record each, the commit in the last
            QVERIFY(p.publish("q", body).ok());
            QVERIFY(p.publish("q", body).ok());
            const base::LogIndex at = commit(p);
            p.declare("late"); // in the commit's record; the catalog store does not get it
            f.clock.advance(std::chrono::minutes(1));
            f.sync();
            QCOMPARE(f.pages.finished(), at);
        }
        f.restart();
        Peer p(f);
        QCOMPARE(p.ready("q"), 2U);
        QCOMPARE(f.durable.heldEntries(), 2U);
        QVERIFY(f.durable.differencesToNeeded().empty());
    }

    void aDamagedMessageLeavesTheOthersOfItsTransaction_data() {
        QTest::addColumn<unsigned>("which");
        QTest::newRow("first") << 0U;
        QTest::newRow("middle") << 1U;
        QTest::newRow("last") << 2U;
    }
    void aDamagedMessageLeavesTheOthersOfItsTransaction() {
        QFETCH(unsigned, which);
        EngineFixture f;
        Strings bodies{"a", "b", "c"};
        {
            Peer p(f);
            p.declare("q");
            f.sync();
            QVERIFY(p.channel->txSelect().ok());
            for (const std::string& body : bodies) {
                QVERIFY(p.publish("q", body).ok());
            }
            const base::LogIndex at = commit(p);
            f.sync();
            f.durable.damage({at, which});
        }
        f.restart();
        Peer p(f);
        QVERIFY(p.consume("q", "c").ok());
        f.sync();
        bodies.erase(bodies.begin() + which);
        QCOMPARE(p.client.bodies(), bodies);
    }

    void unroutableMandatoryComesBackAtTheCommit() {
        EngineFixture f;
        Peer p(f);
        QVERIFY(p.channel->txSelect().ok());
        QVERIFY(p.publish("nowhere", "a", true, {}, true).ok());
        QVERIFY(p.publish("nowhere", "b", true, {}, false).ok());
        QVERIFY(p.client.returns.empty());
        commit(p);
        QCOMPARE(p.client.returns.size(), std::size_t{1});
        QCOMPARE(p.client.returns[0].body, std::string("a"));
        QCOMPARE(p.client.returns[0].routingKey, std::string("nowhere"));
    }

    void aQueueDeletedBeforeTheCommitIsPassedOver() {
        EngineFixture f;
        Peer p(f);
        p.declare("q");
        p.declare("r");
        for (const char* queue : {"q", "r"}) {
            QVERIFY(f.broker->bind(*p.connection, {"/", "amq.fanout", queue, "", false, {}}).ok());
        }
        QVERIFY(p.channel->txSelect().ok());
        QVERIFY(p.publish("", "a", true, "amq.fanout").ok());
        QVERIFY(f.broker->deleteQueue(*p.connection, "/", "q", false, false).ok());
        commit(p);
        f.sync();
        QCOMPARE(p.ready("r"), 1U);
        p.purge("r");
        f.sync();
        QCOMPARE(f.durable.heldEntries(), 0U);
    }

    void modesDoNotMix() {
        EngineFixture f;
        Peer p(f);
        Peer q(f);
        const auto notSelected = p.channel->txCommit();
        QCOMPARE(notSelected.refusal().code, ReplyCode::preconditionFailed);
        QCOMPARE(notSelected.refusal().text, std::string("channel is not transactional"));
        QCOMPARE(p.channel->txRollback().refusal().text,
                 std::string("channel is not transactional"));
        q.channel->selectConfirms();
        QCOMPARE(q.channel->txSelect().refusal().text,
                 std::string("cannot switch from confirm to tx mode"));
    }

    void aMultipleAckCountsAlsoWhereItsOwnTagWasAckedBefore() {
        EngineFixture f;
        Peer p(f);
        p.declare("q");
        for (const char* body : {"a", "b", "c"}) {
            QVERIFY(p.publish("q", body).ok());
        }
        QVERIFY(p.consume("q", "c").ok());
        f.sync();
        QCOMPARE(p.unacked("q"), 3U);
        QVERIFY(p.channel->txSelect().ok());
        p.ack(3);
        p.ack(0, true); // everything that is out
        QVERIFY(commit(p) > 0);
        QCOMPARE(p.unacked("q"), 0U);
        f.sync();
        QCOMPARE(f.durable.heldEntries(), 0U);
    }

    void aTagThatWasAckedInTheTransactionIsUnknownToItsNextAck() {
        EngineFixture f;
        Peer p(f);
        p.declare("q");
        for (const char* body : {"a", "b", "c"}) {
            QVERIFY(p.publish("q", body).ok());
        }
        QVERIFY(p.consume("q", "c").ok());
        f.sync();
        QVERIFY(p.channel->txSelect().ok());
        QVERIFY(p.channel->settle(2, true, Settlement::ack).ok());
        QVERIFY(!p.channel->settle(1, false, Settlement::ack).ok());
        QVERIFY(!p.channel->settle(2, true, Settlement::ack).ok());
        QVERIFY(p.channel->settle(3, false, Settlement::ack).ok());
        QVERIFY(!p.channel->settle(3, false, Settlement::requeue).ok());
        QVERIFY(p.channel->settle(0, true, Settlement::ack).ok()); // all of nothing
        QVERIFY(p.channel->txRollback().ok());
        QVERIFY(p.channel->settle(1, false, Settlement::ack).ok()); // unacked again
        QVERIFY(commit(p) > 0);
        QCOMPARE(p.unacked("q"), 2U);
    }

    void anAckOfAllCountsOnlyForWhatWasDeliveredBefore() {
        EngineFixture f;
        Peer p(f);
        p.declare("q");
        QVERIFY(p.publish("q", "a").ok());
        f.sync();
        QVERIFY(p.channel->txSelect().ok());
        p.ack(0, true); // nothing is out yet
        QVERIFY(p.consume("q", "c").ok());
        f.sync();
        QCOMPARE(p.unacked("q"), 1U);
        commit(p);
        QCOMPARE(p.unacked("q"), 1U);
    }

    void unknownTagIsRefusedBeforeTheCommit() {
        EngineFixture f;
        Peer p(f);
        QVERIFY(p.channel->txSelect().ok());
        QVERIFY(!p.channel->settle(5, false, Settlement::ack).ok());
    }

    void uncommittedPublishesOfAllTransactionsAreBounded() {
        EngineFixture f;
        Peer p(f);
        Peer other(f);
        p.declare("q");
        QVERIFY(p.channel->txSelect().ok());
        QVERIFY(other.channel->txSelect().ok());
        const std::string body(1024 * 1024, 'b');
        const std::size_t fit = limits::kTransactionBytes / body.size() - 1;
        for (std::size_t i = 0; i < fit; ++i) {
            QVERIFY(p.publish("q", body, false).ok());
        }
        const auto refused = other.publish("q", body, false);
        QCOMPARE(refused.refusal().code, ReplyCode::resourceError);
        QVERIFY(f.broker->memoryBytes() >= fit * body.size());
        QVERIFY(p.channel->txRollback().ok());
        QVERIFY(other.publish("q", body, false).ok());
        QVERIFY(f.broker->memoryBytes() < 4 * body.size());
    }
};

QTEST_APPLESS_MAIN(TransactionTest)
#include "tst_transaction.moc"
