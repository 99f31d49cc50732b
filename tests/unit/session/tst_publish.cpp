// SPDX-License-Identifier: Apache-2.0
// Publishing: however a message is cut, it arrives whole; confirms, returns and transactions.
#include "methods.h"
#include "scripted_peer.h"
#include "support/seed.h"

#include <QTest>

using namespace millrace;
using namespace millrace::test;

namespace {

struct OpenPeer : ScriptedPeer {
    explicit OpenPeer(TestNode& node) : ScriptedPeer(node) {
        open();
        openChannel(1);
        declare(1, "q");
    }
};

std::string contentHeader(std::uint64_t size) {
    std::string header;
    base::ByteWriter out(header);
    out.big(amqp::kBasicClass);
    out.big(std::uint16_t{0});
    out.big(size);
    out.big(std::uint16_t{0});
    return header;
}

// The body of the next message of `queue`, put together from its frames.
std::string bodyOf(TestNode& node, ScriptedPeer& peer, std::string_view queue) {
    std::string bytes;
    peer.setReading(false);
    peer.send(1, get(queue, true));
    amqp::FrameReader reader(0);
    std::string body;
    for (int round = 0; round < 20; ++round) {
        node.sync();
        peer.pump();
        session::Outbox& outbox = peer.connection().outbox();
        std::array<base::Bytes, 64> parts;
        while (!outbox.empty()) {
            const std::size_t count = outbox.gather(parts);
            std::size_t sent = 0;
            for (std::size_t i = 0; i < count; ++i) {
                bytes.append(base::textOf(parts[i]));
                sent += parts[i].size();
            }
            outbox.consumed(sent);
            peer.connection().outboxDrained();
        }
    }
    peer.setReading(true);
    amqp::Frame frame;
    for (base::Bytes rest = base::bytesOf(bytes); !rest.empty();
         rest = rest.subspan(frame.totalSize)) {
        if (reader.next(rest, frame) != amqp::FrameStatus::complete) {
            return "broken";
        }
        if (frame.type == amqp::frame_type::kBody) {
            body.append(base::textOf(frame.payload));
        }
    }
    return body;
}

} // namespace

class TestPublish : public QObject {
    Q_OBJECT
  private slots:
    void anyCutOfTheInputGivesTheSameMessage_data() {
        QTest::addColumn<int>("step");
        for (const int step : {0, 1, 2, 7, 64, 1000, 4096}) {
            QTest::newRow(qPrintable(QString("%1 bytes at a time").arg(step))) << step;
        }
    }
    void anyCutOfTheInputGivesTheSameMessage() {
        QFETCH(int, step);
        TestNode node;
        ScriptedPeer peer(node);
        peer.frameMax = 4096;
        peer.open();
        peer.openChannel(1);
        peer.declare(1, "q");
        support::Random random(1);
        for (const std::size_t size : {0, 1, 100, 4088, 4089, 20'000}) {
            const std::string body = random.bytes(size);
            peer.setStep(static_cast<std::size_t>(step));
            peer.publish(1, "", "q", body);
            peer.setStep(0);
            QVERIFY(bodyOf(node, peer, "q") == body);
        }
    }

    void messagesOfTwoChannelsMayInterleave() {
        TestNode node;
        OpenPeer peer(node);
        peer.openChannel(2);
        peer.send(1, amqp::BasicPublish{kTicket, "", "q", false, false});
        peer.send(2, amqp::BasicPublish{kTicket, "", "q", false, false});
        peer.frame(2, 1, contentHeader(4));
        peer.frame(2, 2, contentHeader(4));
        peer.frame(3, 1, "on");
        peer.frame(3, 2, "tw");
        peer.send(0, amqp::ConnectionUpdateSecret{"x", "y"});
        peer.frame(3, 2, "o!");
        peer.frame(3, 1, "");
        peer.frame(3, 1, "e!");
        node.sync();
        QCOMPARE(bodyOf(node, peer, "q"), std::string("two!"));
        QCOMPARE(bodyOf(node, peer, "q"), std::string("one!"));
    }

    void aLargeBodyGoesThroughInPieces() {
        TestNode node;
        OpenPeer peer(node);
        support::Random random(2);
        for (const std::size_t size : {limits::kWholeBodyBytes, limits::kWholeBodyBytes + 1,
                                       3 * limits::kBodyPieceBytes, std::size_t{5'000'001}}) {
            const std::string body = random.bytes(size);
            peer.publish(1, "", "q", body);
            peer.settled();
            QVERIFY2(bodyOf(node, peer, "q") == body, qPrintable(QString::number(size)));
        }
    }

    void withoutMemoryLeftSmallerBodiesGoInPiecesToo() {
        TestNode node;
        OpenPeer peer(node);
        QVERIFY(node.bodies.take(limits::kAssemblyBytes));
        peer.setStep(1000);
        support::Random random(3);
        for (const std::size_t size :
             {limits::kFreeBodyBytes, limits::kFreeBodyBytes + 1, std::size_t{500'000}}) {
            const std::string body = random.bytes(size);
            peer.publish(1, "", "q", body);
            peer.settled();
            QVERIFY2(bodyOf(node, peer, "q") == body, qPrintable(QString::number(size)));
        }
        QCOMPARE(node.bodies.used(), limits::kAssemblyBytes);
    }

    void theMemoryOfABodyComesBack() {
        TestNode node;
        {
            OpenPeer peer(node);
            peer.setStep(1000);
            peer.publish(1, "", "q", std::string(900'000, 'x'));
            peer.publish(1, "", "q", std::string(3'000'000, 'x'));
            QCOMPARE(node.bodies.used(), std::size_t{0});
            peer.send(1, amqp::BasicPublish{kTicket, "", "q", false, false});
            peer.frame(2, 1, contentHeader(700'000));
            QCOMPARE(node.bodies.used(), std::size_t{700'000});
        }
        QCOMPARE(node.bodies.used(), std::size_t{0});
    }

    void aLargeReturnIsWhole() {
        TestNode node;
        OpenPeer peer(node);
        peer.publish(1, "", "nobody", std::string(2'000'000, 'x'), {}, true);
        const QStringList frames = peer.settled();
        QCOMPARE(frames.value(0), QString("1 60.50 312 'NO_ROUTE' '' 'nobody'"));
        QCOMPARE(frames.value(1), QString("1 header 2000000"));
        QCOMPARE(frames.filter(" body [").size(), 16);
    }

    void aLargeMessageThatFindsItsQueueLateIsKept() {
        TestNode node;
        OpenPeer peer(node);
        peer.openChannel(2);
        peer.send(1, amqp::BasicPublish{kTicket, "", "late", true, false});
        peer.frame(2, 1, contentHeader(1'500'000));
        peer.declare(2, "late");
        for (int i = 0; i < 15; ++i) {
            peer.frame(3, 1, std::string(100'000, 'x'));
        }
        QCOMPARE(peer.settled(), QStringList{});
        QVERIFY(bodyOf(node, peer, "late") == std::string(1'500'000, 'x'));
    }

    void aLargeBodyMayBeGivenUp() {
        TestNode node;
        OpenPeer peer(node);
        peer.send(1, amqp::BasicPublish{kTicket, "", "q", false, false});
        peer.frame(2, 1, contentHeader(3'000'000));
        for (int i = 0; i < 10; ++i) {
            peer.frame(3, 1, std::string(100'000, 'x'));
        }
        peer.disconnect();
        node.sync();
        QCOMPARE(node.broker.numbers("/", "q")->ready, std::uint64_t{0});
    }

    // --- confirms

    void confirmsOfATurnAreOneFrame() {
        TestNode node;
        OpenPeer peer(node);
        peer.send(1, amqp::ConfirmSelect{false});
        QCOMPARE(peer.received(), QStringList{"1 85.11"});
        amqp::PropertyValues persistent;
        persistent.deliveryMode = 2;
        for (int i = 0; i < 3; ++i) {
            peer.publish(1, "", "q", "m", persistent);
        }
        node.turn();
        QCOMPARE(peer.received(), QStringList{}); // not on disk
        QCOMPARE(peer.settled(), QStringList{"1 60.80 3 1"});
        peer.publish(1, "", "q", "m", persistent);
        QCOMPARE(peer.settled(), QStringList{"1 60.80 4 0"});
    }

    void aReturnComesBeforeTheConfirm() {
        TestNode node;
        OpenPeer peer(node);
        peer.send(1, amqp::ConfirmSelect{false});
        peer.received();
        peer.publish(1, "", "nobody", "lost", {}, true);
        QCOMPARE(peer.settled(), (QStringList{"1 60.50 312 'NO_ROUTE' '' 'nobody'", "1 header 4",
                                              "1 body 'lost'", "1 60.80 1 0"}));
    }

    void aReturnedBodyOfSeveralFramesIsWhole() {
        TestNode node;
        ScriptedPeer peer(node);
        peer.frameMax = 4096;
        peer.open();
        peer.openChannel(1);
        peer.publish(1, "", "nobody", std::string(5000, 'x'), {}, true);
        QCOMPARE(peer.settled(), (QStringList{"1 60.50 312 'NO_ROUTE' '' 'nobody'", "1 header 5000",
                                              "1 body [4088 bytes]", "1 body [912 bytes]"}));
    }

    // --- transactions

    void aCommitPublishesARollbackDoesNot() {
        TestNode node;
        OpenPeer peer(node);
        peer.send(1, amqp::TxSelect{});
        QCOMPARE(peer.received(), QStringList{"1 90.11"});
        amqp::PropertyValues persistent;
        persistent.deliveryMode = 2;
        peer.publish(1, "", "q", "kept", persistent);
        peer.publish(1, "", "nobody", "lost", {}, true);
        QCOMPARE(peer.settled(), QStringList{});
        peer.send(1, amqp::TxCommit{});
        node.turn();
        QVERIFY(!peer.received().contains("1 90.21")); // not on disk
        QVERIFY(peer.settled().contains("1 90.21"));
        peer.publish(1, "", "q", "forgotten");
        peer.send(1, amqp::TxRollback{});
        QCOMPARE(peer.settled(), QStringList{"1 90.31"});
        QCOMPARE(node.broker.numbers("/", "q")->ready, std::uint64_t{1});
    }

    void whatATransactionReturnsComesBeforeCommitOk() {
        TestNode node;
        OpenPeer peer(node);
        peer.send(1, amqp::TxSelect{});
        peer.publish(1, "", "nobody", "lost", {}, true);
        peer.send(1, amqp::TxCommit{});
        QCOMPARE(peer.settled(), (QStringList{"1 90.11", "1 60.50 312 'NO_ROUTE' '' 'nobody'",
                                              "1 header 4", "1 body 'lost'", "1 90.21"}));
    }

    // --- direct reply-to

    void aReplyFindsTheRequester() {
        TestNode node;
        OpenPeer requester(node);
        OpenPeer responder(node);
        requester.send(1, consume("amq.rabbitmq.reply-to", "r", {.noAck = true}));
        QCOMPARE(requester.settled(), QStringList{"1 60.21 'r'"});
        amqp::PropertyValues properties;
        properties.replyTo = "amq.rabbitmq.reply-to";
        requester.publish(1, "", "q", "ping", properties);
        requester.settled();
        // The responder's view of reply-to, as raw bytes behind the flags.
        std::string name;
        {
            std::array<base::Bytes, 8> parts;
            responder.setReading(false);
            responder.send(1, get("q", true));
            node.sync();
            responder.pump();
            const std::size_t count = responder.connection().outbox().gather(parts);
            std::string bytes;
            for (std::size_t i = 0; i < count; ++i) {
                bytes.append(base::textOf(parts[i]));
            }
            const std::size_t at = bytes.find("amq.rabbitmq.reply-to.");
            QVERIFY(at != std::string::npos);
            name = bytes.substr(at, static_cast<base::Byte>(bytes[at - 1]));
            responder.setReading(true);
            responder.received();
        }
        responder.publish(1, "", name, "pong", {}, true);
        QCOMPARE(responder.settled(), QStringList{});
        const QStringList frames = requester.settled();
        QCOMPARE(frames.size(), 3);
        QVERIFY(frames[0].startsWith("1 60.60 'r' 1 0 ''"));
        QCOMPARE(frames[2], QString("1 body 'pong'"));
    }
};

QTEST_APPLESS_MAIN(TestPublish)
#include "tst_publish.moc"
