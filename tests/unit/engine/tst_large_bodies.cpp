// SPDX-License-Identifier: Apache-2.0
// Bodies in pieces: stored as they come, delivered piece by piece, let go with their message.
#include "unit/engine/engine_fixture.h"

#include "base/limits.h"

#include <QTest>

using namespace millrace;
using namespace millrace::test;

class LargeBodiesTest : public QObject {
    Q_OBJECT

    static std::string bodyOf(std::size_t size) {
        std::string body(size, '\0');
        for (std::size_t i = 0; i < size; ++i) {
            body[i] = static_cast<char>('a' + i / 1000 % 26);
        }
        return body;
    }
    static void upload(Peer& p, const std::string& body) {
        QVERIFY(p.channel->beginBody(body.size()).ok());
        for (std::size_t at = 0; at < body.size(); at += limits::kBodyPieceBytes) {
            const auto piece = std::string_view(body).substr(at, limits::kBodyPieceBytes);
            QVERIFY(p.channel->bodyPiece(base::bytesOf(piece)).ok());
        }
    }
    static base::Outcome<Channel::Routed> publishLarge(Peer& p, std::string_view key,
                                                       const std::string& body,
                                                       bool persistent = true,
                                                       std::string_view exchange = {}) {
        upload(p, body);
        const std::string properties = persistent ? persistentProperties() : transientProperties();
        Channel::Publish publish;
        publish.exchange = exchange;
        publish.routingKey = key;
        publish.properties = base::bytesOf(properties);
        publish.bodySize = body.size();
        publish.largeBody = true;
        return p.channel->publish(publish);
    }
    static constexpr std::size_t kSize = 3 * limits::kBodyPieceBytes + 1000;

  private slots:
    void largeBodyArrivesWhole_data() {
        QTest::addColumn<bool>("persistent");
        QTest::addColumn<bool>("evicted");
        QTest::addColumn<bool>("noAck");
        QTest::newRow("in memory") << true << false << false;
        QTest::newRow("from disk") << true << true << false;
        QTest::newRow("from disk, no ack") << true << true << true;
        QTest::newRow("transient") << false << false << true;
    }
    void largeBodyArrivesWhole() {
        QFETCH(bool, persistent);
        QFETCH(bool, evicted);
        QFETCH(bool, noAck);
        EngineFixture f;
        Peer p(f);
        p.declare("q");
        const std::string body = bodyOf(kSize);
        QVERIFY(publishLarge(p, "q", body, persistent).ok());
        QVERIFY(p.publish("q", "small").ok());
        f.sync();
        if (evicted) {
            f.durable.evictTo(f.durable.appended());
        }
        QVERIFY(p.consume("q", "c", noAck).ok());
        f.sync();
        QCOMPARE(p.client.deliveries.size(), std::size_t{2});
        QCOMPARE(p.client.deliveries[0].bodySize, std::uint64_t{kSize});
        QVERIFY(p.client.deliveries[0].body == body);
        QCOMPARE(p.client.deliveries[1].body, std::string("small"));
        if (!noAck) {
            p.ack(2, true);
        }
        f.sync();
        QCOMPARE(f.durable.heldEntries(), 0U);
        QVERIFY(f.durable.differencesToNeeded().empty());
    }

    void nothingElseGoesToTheChannelBetweenThePieces() {
        EngineFixture f;
        Peer p(f);
        Peer other(f);
        p.declare("q");
        QVERIFY(p.consume("q", "c").ok());
        p.client.onePieceAtATime = true;
        QVERIFY(publishLarge(p, "q", bodyOf(kSize)).ok());
        QVERIFY(p.publish("q", "small").ok());
        f.sync();
        QCOMPARE(p.client.pieces, std::size_t{1});
        QCOMPARE(p.client.deliveries.size(), std::size_t{1});
        p.ack(1); // early, but the rest still comes
        f.sync();
        for (std::size_t pieces = 2; pieces <= 4; ++pieces) {
            p.channel->writable();
            f.sync();
            QCOMPARE(p.client.pieces, pieces);
        }
        QVERIFY(p.client.deliveries[0].body == bodyOf(kSize));
        QCOMPARE(p.client.deliveries.size(), std::size_t{2});
        p.ack(2);
        f.sync();
        QCOMPARE(f.durable.heldEntries(), 0U);
    }

    void aChannelThatEndsInTheMiddleLeavesTheMessage() {
        EngineFixture f;
        Peer p(f);
        p.declare("q");
        QVERIFY(p.consume("q", "c").ok());
        p.client.onePieceAtATime = true;
        QVERIFY(publishLarge(p, "q", bodyOf(kSize)).ok());
        f.sync();
        p.channel.reset();
        QCOMPARE(p.ready("q"), 1U);
        Peer other(f);
        QVERIFY(other.consume("q", "c").ok());
        f.sync();
        QVERIFY(other.client.deliveries[0].body == bodyOf(kSize));
        QVERIFY(other.client.deliveries[0].redelivered);
    }

    void piecesAreHeldAsLongAsOneQueueNeedsThem() {
        EngineFixture f;
        Peer p(f);
        for (const char* queue : {"q", "r"}) {
            p.declare(queue);
            QVERIFY(f.broker->bind(*p.connection, {"/", "amq.fanout", queue, "", false, {}}).ok());
        }
        QVERIFY(publishLarge(p, "", bodyOf(kSize), true, "amq.fanout").ok());
        f.sync();
        QVERIFY(f.broker->purgeQueue(*p.connection, "/", "q").ok());
        f.sync();
        QCOMPARE(f.durable.heldEntries(), 5U);
        QVERIFY(f.broker->deleteQueue(*p.connection, "/", "r", false, false).ok());
        f.sync();
        QCOMPARE(f.durable.heldEntries(), 0U);
    }

    void unfinishedAndUnroutedBodiesAreLetGo() {
        EngineFixture f;
        Peer p(f);
        upload(p, bodyOf(kSize));
        p.channel->abandonBody();
        auto routed = publishLarge(p, "nowhere", bodyOf(kSize));
        QVERIFY(routed.ok() && *routed == Channel::Routed::unroutable);
        QVERIFY(!publishLarge(p, "", bodyOf(kSize), true, "no exchange").ok());
        upload(p, bodyOf(kSize));
        p.channel.reset();
        f.sync();
        QCOMPARE(f.durable.heldEntries(), 0U);
    }

    void nothingIsLetGoThatTheLogHasTakenBack() {
        EngineFixture f;
        Peer p(f);
        f.sync();
        const base::LogIndex before = f.durable.appended();
        upload(p, bodyOf(kSize));
        f.turn();
        f.durable.withdraw(before + 1, {base::ErrorCode::stopped, "another node leads"});
        f.durable.harvest();
        p.channel->abandonBody(); // the log would complain
        QVERIFY(f.broker->stale());
    }

    void tooLargeIsRefusedAtOnce() {
        EngineFixture f;
        Peer p(f);
        const auto refused = p.channel->beginBody(limits::kMaxMessageSize + 1);
        QVERIFY(!refused.ok());
        QCOMPARE(refused.error().text, std::string("message size 16777217 is larger than "
                                                   "configured max size 16777216"));
    }

    void powerCutKeepsFinishedBodiesOnly() {
        EngineFixture f;
        {
            Peer p(f);
            p.declare("q");
            QVERIFY(publishLarge(p, "q", bodyOf(kSize)).ok());
            upload(p, bodyOf(kSize));
            f.sync();
            f.broker->endTurn();
        }
        f.restart();
        f.sync();
        QCOMPARE(f.durable.heldEntries(), 5U);
        Peer p(f);
        QVERIFY(p.consume("q", "c").ok());
        f.sync();
        QVERIFY(p.client.deliveries[0].body == bodyOf(kSize));
        p.ack(1);
        f.sync();
        QCOMPARE(f.durable.heldEntries(), 0U);
    }

    void inATransactionTheBodyWaitsForTheCommit() {
        EngineFixture f;
        Peer p(f);
        p.declare("q");
        QVERIFY(p.channel->txSelect().ok());
        QVERIFY(publishLarge(p, "q", bodyOf(kSize)).ok());
        QVERIFY(p.channel->txRollback().ok());
        f.sync();
        QCOMPARE(f.durable.heldEntries(), 0U);
        QVERIFY(publishLarge(p, "q", bodyOf(kSize)).ok());
        QVERIFY(p.channel->txCommit().ok());
        f.sync();
        QCOMPARE(f.durable.heldEntries(), 5U);
        p.channel.reset();
        f.sync();
        QCOMPARE(f.durable.heldEntries(), 5U);
        p.purge("q");
        f.sync();
        QCOMPARE(f.durable.heldEntries(), 0U);
    }

    void anUnreadablePieceEndsTheChannelAloud() {
        EngineFixture f;
        Peer p(f);
        p.declare("q");
        f.sync();
        const base::LogIndex before = f.durable.appended();
        QVERIFY(publishLarge(p, "q", bodyOf(kSize)).ok());
        f.sync();
        f.durable.damage({before + 2, 0});
        QVERIFY(p.consume("q", "c").ok());
        f.sync();
        QCOMPARE(p.client.pieces, std::size_t{1});
        QCOMPARE(p.client.resumes.size(), std::size_t{1});
        QCOMPARE(p.client.resumes[0].ticket, 0U);
        QCOMPARE(p.client.resumes[0].refusal, std::string("the rest of a message cannot be read"));
        p.channel.reset();
    }
};

QTEST_APPLESS_MAIN(LargeBodiesTest)
#include "tst_large_bodies.moc"
