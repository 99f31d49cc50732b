// SPDX-License-Identifier: Apache-2.0
// A connection's life: waiting for the disk, ends of every kind, blocking, heartbeats, readers that
// do not read.
#include "methods.h"
#include "scripted_peer.h"

#include <QTest>

using namespace millrace;
using namespace millrace::test;
using namespace std::chrono_literals;

class TestConnection : public QObject {
    Q_OBJECT
  private slots:
    // --- waiting for the disk

    void declareOkComesOnlyAfterTheSync() {
        TestNode node;
        ScriptedPeer peer(node);
        peer.open();
        peer.openChannel(1);
        peer.send(1, queueDeclare("q", {.durable = true}));
        node.turn();
        QCOMPARE(peer.received(), QStringList{});
        QVERIFY(!peer.connection().wantsInput());
        node.sync();
        QCOMPARE(peer.received(), QStringList{"1 50.11 'q' 0 0"});
        QVERIFY(peer.connection().wantsInput());
    }

    void whatComesBehindAWaitingReplyIsAnsweredAfterIt() {
        TestNode node;
        ScriptedPeer peer(node);
        peer.open();
        peer.openChannel(1);
        peer.openChannel(2);
        peer.send(1, queueDeclare("q", {.durable = true}));
        peer.send(2, amqp::ChannelFlow{true});
        peer.send(1, queueDeclare("r", {.durable = true, .noWait = true}));
        peer.send(1, qos(7));
        QCOMPARE(peer.received(), QStringList{});
        QVERIFY(peer.unread() > 0);
        QCOMPARE(peer.settled(), (QStringList{"1 50.11 'q' 0 0", "2 20.21 1", "1 60.11"}));
    }

    void theDeathOfAWaitingConnectionHarmsNobody() {
        TestNode node;
        {
            ScriptedPeer peer(node);
            peer.open();
            peer.openChannel(1);
            peer.send(1, queueDeclare("q", {.durable = true}));
        }
        node.sync();
        ScriptedPeer peer(node);
        peer.open();
        peer.openChannel(1);
        peer.send(1, queueDeclare("q", {.passive = true}));
        QCOMPARE(peer.settled(), QStringList{"1 50.11 'q' 0 0"});
    }

    // --- ends

    void aClientsCloseIsAnsweredAndEnds() {
        TestNode node;
        ScriptedPeer peer(node);
        peer.open();
        peer.send(0, connectionClose());
        QCOMPARE(peer.received(), QStringList{"0 10.51"});
        QVERIFY(peer.connection().finished());
        QVERIFY(peer.connection().peerLeaves());
    }

    void crossingClosesAreBothAnswered() {
        TestNode node;
        ScriptedPeer peer(node);
        peer.open();
        peer.connection().forceClose({base::ReplyCode::connectionForced,
                                      "broker forced connection closure with reason 'shutdown'"});
        peer.send(0, connectionClose());
        QCOMPARE(peer.received(), (QStringList{"0 10.50 320 'CONNECTION_FORCED - broker forced "
                                               "connection closure with reason 'shutdown'' 0 0",
                                               "0 10.51"}));
        QVERIFY(!peer.connection().finished());
        peer.send(0, amqp::ConnectionCloseOk{});
        QVERIFY(peer.connection().finished());
        QVERIFY(!peer.connection().peerLeaves());
    }

    void crossingClosesOfAChannelAreBothAnswered() {
        TestNode node;
        ScriptedPeer peer(node);
        peer.open();
        peer.openChannel(1);
        peer.send(1, ack(9)); // refused
        peer.send(1, channelClose());
        const QStringList frames = peer.received();
        QCOMPARE(frames.size(), 2);
        QVERIFY(frames[0].startsWith("1 20.40 406"));
        QCOMPARE(frames[1], QString("1 20.41"));
        peer.send(1, amqp::ChannelCloseOk{});
        peer.openChannel(1);
    }

    void afterAChannelsCloseNothingCountsUntilCloseOk() {
        TestNode node;
        ScriptedPeer peer(node);
        peer.open();
        peer.openChannel(1);
        peer.send(1, ack(9));
        peer.received();
        peer.send(1, queueDeclare("q"));
        peer.publish(1, "nox", "k", "body");
        peer.send(1, get(""));
        QCOMPARE(peer.settled(), QStringList{});
        peer.send(1, amqp::ChannelOpen{});
        QCOMPARE(peer.received(),
                 QStringList{"0 10.50 504 'CHANNEL_ERROR - second 'channel.open' seen' 20 10"});
    }

    void whoDoesNotAnswerACloseIsDropped() {
        TestNode node;
        ScriptedPeer peer(node);
        peer.open();
        peer.connection().forceClose({base::ReplyCode::connectionForced, "bye"});
        node.clock.advance(29s);
        peer.connection().tick();
        QVERIFY(!peer.connection().mustDrop());
        node.clock.advance(2s);
        peer.connection().tick();
        QVERIFY(peer.connection().mustDrop());
    }

    void aBrokenFrameLeavesThreeSecondsToReadWhy() {
        TestNode node;
        ScriptedPeer peer(node);
        peer.open();
        peer.raw(base::bytesOf(std::string_view("\x01\x00\x00\x00\x00\x00\x00\x00", 8)));
        QVERIFY(peer.received().value(0).startsWith("0 10.50 501"));
        peer.raw(base::bytesOf("anything at all"));
        QCOMPARE(peer.received(), QStringList{});
        QCOMPARE(peer.unread(), std::size_t{0});
        node.clock.advance(3s);
        peer.connection().tick();
        QVERIFY(peer.connection().mustDrop());
    }

    void exclusiveQueuesAreGoneWhenTheCloseIsAnswered() {
        TestNode node;
        ScriptedPeer owner(node);
        ScriptedPeer other(node);
        for (ScriptedPeer* peer : {&owner, &other}) {
            peer->open();
            peer->openChannel(1);
        }
        owner.send(1, queueDeclare("mine", {.exclusive = true}));
        QCOMPARE(owner.settled(), QStringList{"1 50.11 'mine' 0 0"});
        other.send(1, queueDeclare("mine", {.passive = true}));
        QVERIFY(other.settled().value(0).startsWith(
            "1 20.40 405 'RESOURCE_LOCKED - cannot obtain exclusive access to locked queue"));
        other.send(1, amqp::ChannelCloseOk{});
        other.openChannel(1);
        owner.send(0, connectionClose());
        QCOMPARE(owner.received(), QStringList{"0 10.51"});
        other.send(1, queueDeclare("mine", {.passive = true}));
        QVERIFY(other.settled().value(0).startsWith("1 20.40 404"));
    }

    void aSecretIsTaken() {
        TestNode node;
        ScriptedPeer peer(node);
        peer.open();
        peer.send(0, amqp::ConnectionUpdateSecret{"new", "why"});
        QCOMPARE(peer.received(), QStringList{"0 10.71"});
    }

    // --- heartbeats

    void theClientsHeartbeatIsKept() {
        TestNode node;
        ScriptedPeer peer(node);
        peer.raw(base::bytesOf(amqp::kProtocolHeader));
        peer.send(0, peer.startOk());
        peer.send(0,
                  amqp::ConnectionTuneOk{limits::kChannelMax, limits::kFrameMax, std::uint16_t{2}});
        peer.send(0, amqp::ConnectionOpen{"/", "", false});
        peer.received();
        QStringList heard;
        for (int i = 0; i < 100 && !peer.connection().mustDrop(); ++i) {
            node.clock.advance(100ms);
            peer.connection().tick();
            heard += peer.received();
        }
        QVERIFY(peer.connection().mustDrop());
        // One every 0.8 s (half the interval less a server's tick) of the three intervals.
        QCOMPARE(heard, QStringList(7, "0 heartbeat"));
    }

    // --- blocking

    void onlyPublishersHearThatTheyAreBlocked() {
        TestNode node;
        ScriptedPeer publisher(node);
        ScriptedPeer consumer(node);
        for (ScriptedPeer* peer : {&publisher, &consumer}) {
            peer->open();
            peer->openChannel(1);
        }
        publisher.publish(1, "", "nobody", "x");
        node.gate = {false, "low on memory"};
        for (ScriptedPeer* peer : {&publisher, &consumer}) {
            peer->connection().gateChanged();
        }
        QCOMPARE(publisher.received(), QStringList{"0 10.60 'low on memory'"});
        QCOMPARE(consumer.received(), QStringList{});
        consumer.send(1, qos(1));
        QCOMPARE(consumer.received(), QStringList{"1 60.11"});
        publisher.publish(1, "", "nobody", "x", {}, true);
        QCOMPARE(publisher.received(), QStringList{});
        QVERIFY(!publisher.connection().wantsInput());
        node.gate = {};
        publisher.connection().gateChanged();
        const QStringList frames = publisher.received();
        QCOMPARE(frames.value(0), QString("0 10.61"));
        QCOMPARE(frames.value(1), QString("1 60.50 312 'NO_ROUTE' '' 'nobody'"));
    }

    void aConnectionThatPublishesIntoAnAlarmIsToldThen() {
        TestNode node;
        node.gate = {false, "low on disk"};
        ScriptedPeer peer(node);
        peer.open();
        peer.openChannel(1);
        peer.publish(1, "", "q", "x");
        QCOMPARE(peer.received(), QStringList{"0 10.60 'low on disk'"});
    }

    void acksAreTakenFromABlockedConnection() {
        TestNode node;
        ScriptedPeer peer(node);
        peer.open();
        peer.openChannel(1);
        peer.declare(1, "q");
        peer.publish(1, "", "q", "one");
        node.sync();
        peer.send(1, get("q"));
        QCOMPARE(peer.settled().value(0), QString("1 60.71 1 0 '' 'q' 0"));
        node.gate = {false, "low on memory"};
        peer.connection().gateChanged();
        peer.publish(1, "", "q", "two");
        QVERIFY(peer.connection().hasUnacked());
        peer.send(1, ack(1));
        QVERIFY(!peer.connection().hasUnacked());
        QCOMPARE(node.broker.numbers("/", "q")->ready, std::uint64_t{0});
        node.gate = {};
        peer.connection().gateChanged();
        peer.settled();
        QCOMPARE(node.broker.numbers("/", "q")->ready, std::uint64_t{1});
    }

    void whatWasParkedDoesNotFallIntoAnotherChannelsBody() {
        TestNode node;
        ScriptedPeer peer(node);
        peer.open();
        peer.openChannel(1);
        peer.openChannel(2);
        peer.declare(1, "q");
        peer.publish(1, "", "q", "unacked");
        node.sync();
        peer.send(1, get("q"));
        QCOMPARE(peer.settled().value(0), QString("1 60.71 1 0 '' 'q' 0"));
        const std::string body(30, 'b');
        std::string large;
        amqp::StringSink sink(large);
        amqp::writeMethod(sink, 2, amqp::BasicPublish{std::uint16_t{0}, "", "q", false, false});
        amqp::writeContentHeader(sink, 2, {}, body.size());
        const std::size_t bodyAt = large.size();
        amqp::writeBody(sink, 2, base::bytesOf(body), peer.frameMax);
        peer.raw(base::bytesOf(large).first(bodyAt));
        node.gate = {false, "low on memory"};
        peer.connection().gateChanged();
        peer.publish(1, "", "q", "parked");
        peer.raw(base::bytesOf(large).subspan(bodyAt, 20));
        QCOMPARE(peer.unread(), std::size_t{0});
        node.gate = {};
        peer.connection().gateChanged();
        peer.pump();
        peer.raw(base::bytesOf(large).subspan(bodyAt + 20));
        peer.settled();
        peer.send(1, get("q"));
        QCOMPARE(peer.settled().value(2), QString("1 body '%1'").arg(QString(30, 'b')));
        peer.send(1, get("q"));
        QCOMPARE(peer.settled().value(2), QString("1 body 'parked'"));
    }

    // --- a peer that does not read

    void repliesThatAreNotReadStopTheInput() {
        TestNode node;
        ScriptedPeer peer(node);
        peer.open();
        peer.openChannel(1);
        peer.setReading(false);
        for (int i = 0; i < 100 && peer.connection().wantsInput(); ++i) {
            std::string many;
            amqp::StringSink sink(many);
            for (int j = 0; j < 10'000; ++j) {
                amqp::writeMethod(sink, 1, amqp::ChannelFlow{true});
            }
            peer.raw(base::bytesOf(many));
        }
        QVERIFY(!peer.connection().wantsInput());
        QVERIFY(peer.connection().outbox().size() < limits::kReplyBytes + 100);
        const std::size_t waiting = peer.unread();
        QVERIFY(waiting > 0);
        peer.setReading(true);
        peer.pump();
        QCOMPARE(peer.unread(), std::size_t{0});
    }
};

QTEST_APPLESS_MAIN(TestConnection)
#include "tst_connection.moc"
