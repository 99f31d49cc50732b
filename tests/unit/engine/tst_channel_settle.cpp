// SPDX-License-Identifier: Apache-2.0
// Acks, rejects and what comes back: tags, places, flags, counts.
#include "unit/engine/engine_fixture.h"

#include "base/field_table.h"

#include <QTest>

using namespace millrace;
using namespace millrace::test;
using base::ReplyCode;
using Strings = std::vector<std::string>;

class ChannelSettleTest : public QObject {
    Q_OBJECT

    static std::string quorum(std::int64_t limit = 0) {
        std::string table;
        base::FieldTableWriter writer(table);
        writer.text("x-queue-type", "quorum");
        if (limit != 0) {
            writer.long64("x-delivery-limit", limit);
        }
        return table;
    }
    static void deliver(EngineFixture& f, Peer& p, int count, bool persistent = true) {
        p.declare("q");
        QVERIFY(p.consume("q", "c").ok());
        for (int i = 0; i < count; ++i) {
            QVERIFY(p.publish("q", std::to_string(i), persistent).ok());
        }
        f.sync();
        QCOMPARE(p.client.deliveries.size(), static_cast<std::size_t>(count));
    }

  private slots:
    void unknownTagIsRefused() {
        EngineFixture f;
        Peer p(f);
        deliver(f, p, 2);
        for (const std::uint64_t tag : {0U, 3U, 99U}) {
            const auto refused = p.channel->settle(tag, false, Settlement::ack);
            QCOMPARE(refused.refusal().code, ReplyCode::preconditionFailed);
            QCOMPARE(refused.refusal().text, "unknown delivery tag " + std::to_string(tag));
        }
        p.ack(1);
        QVERIFY(!p.channel->settle(1, false, Settlement::ack).ok());
        QVERIFY(!p.channel->settle(99, true, Settlement::ack).ok());
    }

    void tagZeroWithMultipleIsEverythingAlsoNothing() {
        EngineFixture f;
        Peer p(f);
        deliver(f, p, 5);
        p.ack(0, true);
        QCOMPARE(p.unacked("q"), 0U);
        p.ack(0, true);
    }

    void multipleAcksUpToItsTag() {
        EngineFixture f;
        Peer p(f);
        deliver(f, p, 5);
        p.ack(2);
        p.ack(4, true);
        QCOMPARE(p.unacked("q"), 1U);
        f.sync();
        QCOMPARE(f.durable.heldEntries(), 1U);
    }

    void theAcksOfATurnAreOneEntry() {
        EngineFixture f;
        Peer p(f);
        deliver(f, p, 100);
        const auto before = f.durable.records();
        for (std::uint64_t tag = 1; tag <= 100; ++tag) {
            p.ack(tag);
        }
        f.turn();
        QCOMPARE(f.durable.records(), before + 1);
    }

    void requeuedMessagesGoBackToTheirPlaceAndAreMarked() {
        EngineFixture f;
        Peer p(f);
        p.declare("q");
        QVERIFY(p.consume("q", "c").ok());
        for (int i = 0; i < 3; ++i) {
            QVERIFY(p.publish("q", std::to_string(i)).ok());
        }
        f.sync();
        QVERIFY(p.channel->cancel("c").ok());
        for (const std::uint64_t tag : {3U, 1U, 2U}) {
            QVERIFY(p.channel->settle(tag, false, Settlement::requeue).ok());
        }
        QVERIFY(p.publish("q", "3").ok());
        p.client.deliveries.clear();
        QVERIFY(p.consume("q", "d").ok());
        f.sync();
        QCOMPARE(p.client.bodies(), (Strings{"0", "1", "2", "3"}));
        QVERIFY(p.client.deliveries[0].redelivered);
        QVERIFY(p.client.deliveries[2].redelivered);
        QVERIFY(!p.client.deliveries[3].redelivered);
        QCOMPARE(p.client.deliveries[0].deliveryCount, -1);
    }

    void requeueIsDeliveredAlthoughALaterMessageWaitsForItsSync() {
        EngineFixture f;
        Peer p(f);
        deliver(f, p, 1);
        QVERIFY(p.publish("q", "unsynced").ok());
        f.turn();
        QVERIFY(p.channel->settle(1, false, Settlement::requeue).ok());
        f.turn();
        QCOMPARE(p.client.bodies(), (Strings{"0", "0"}));
    }

    void recoverBringsBackAllUnacked() {
        EngineFixture f;
        Peer p(f);
        deliver(f, p, 3);
        p.ack(2);
        p.channel->recover();
        f.turn();
        QCOMPARE(p.client.bodies(), (Strings{"0", "1", "2", "0", "2"}));
        QCOMPARE(p.client.lastTag(), 5U);
    }

    void closedChannelGivesBackAndCancelDoesNot() {
        EngineFixture f;
        Peer p(f);
        deliver(f, p, 3);
        QVERIFY(p.channel->cancel("c").ok());
        QCOMPARE(p.unacked("q"), 3U);
        p.ack(1);
        p.channel.reset();
        QCOMPARE(p.unacked("q"), 0U);
        QCOMPARE(p.ready("q"), 2U);
    }

    void deliveryThatIsNotAckedInTimeEndsItsChannel() {
        EngineFixture f;
        Peer p(f);
        deliver(f, p, 2);
        p.ack(2);
        f.clock.advance(limits::kConsumerTimeout - std::chrono::seconds(10));
        f.broker->tick();
        QVERIFY(p.client.resumes.empty());
        f.clock.advance(std::chrono::seconds(20));
        f.broker->tick();
        f.clock.advance(std::chrono::seconds(20));
        f.broker->tick();
        QCOMPARE(p.client.resumes.size(), std::size_t{1});
        QCOMPARE(p.client.resumes[0].refusal,
                 std::string("delivery acknowledgement on channel 0 timed out. Timeout value used: "
                             "1800000 ms. This timeout value can be configured, see consumers doc "
                             "guide to learn more"));
    }

    void discardedMessageIsGone() {
        EngineFixture f;
        Peer p(f);
        deliver(f, p, 1);
        QVERIFY(p.channel->settle(1, false, Settlement::discard).ok());
        f.sync();
        QCOMPARE(p.ready("q") + p.unacked("q"), 0U);
        QCOMPARE(f.durable.heldEntries(), 0U);
    }

    void quorumQueueCountsDeliveriesFromTheSecondOn() {
        EngineFixture f;
        Peer p(f);
        p.declare("q", true, false, false, quorum());
        QVERIFY(p.consume("q", "c").ok());
        QVERIFY(p.publish("q", "a", false).ok()); // quorum queues keep transient messages, too
        f.turn();
        QVERIFY(p.client.deliveries.empty());
        f.sync();
        QCOMPARE(p.client.deliveries[0].deliveryCount, std::int64_t{-1});
        for (std::uint64_t tag = 1; tag <= 2; ++tag) {
            QVERIFY(p.channel->settle(tag, false, Settlement::requeue).ok());
            f.turn();
        }
        QCOMPARE(p.client.deliveries[1].deliveryCount, 1);
        QCOMPARE(p.client.deliveries[2].deliveryCount, 2);
        QVERIFY(p.publish("q", "b").ok()); // its neighbour has come back, it has not
        f.sync();
        QCOMPARE(p.client.deliveries[3].deliveryCount, std::int64_t{-1});
    }

    void quorumQueueDropsBeyondItsDeliveryLimit_data() {
        QTest::addColumn<qint64>("limit");
        QTest::addColumn<int>("deliveries");
        QTest::newRow("default 20") << qint64{0} << 21;
        QTest::newRow("2") << qint64{2} << 3;
        QTest::newRow("none") << qint64{-1} << 40;
    }
    void quorumQueueDropsBeyondItsDeliveryLimit() {
        QFETCH(qint64, limit);
        QFETCH(int, deliveries);
        EngineFixture f;
        Peer p(f);
        p.declare("q", true, false, false, quorum(limit));
        QVERIFY(p.consume("q", "c").ok());
        QVERIFY(p.publish("q", "a").ok());
        f.sync();
        for (std::uint64_t tag = 1; tag <= 39 && p.client.lastTag() == tag; ++tag) {
            QVERIFY(p.channel->settle(tag, false, Settlement::requeue).ok());
            f.turn();
        }
        QCOMPARE(p.client.deliveries.size(), static_cast<std::size_t>(deliveries));
        f.sync();
        QCOMPARE(f.durable.heldEntries(), limit < 0 ? 1U : 0U);
    }
};

QTEST_APPLESS_MAIN(ChannelSettleTest)
#include "tst_channel_settle.moc"
