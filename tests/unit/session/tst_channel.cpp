// SPDX-License-Identifier: Apache-2.0
// Commands of a channel and what comes back: replies, deliveries, cancels, in their order.
#include "methods.h"
#include "scripted_peer.h"

#include <QTest>

using namespace millrace;
using namespace millrace::test;

namespace {

struct OpenPeer : ScriptedPeer {
    explicit OpenPeer(TestNode& node) : ScriptedPeer(node) {
        open();
        openChannel(1);
    }
};

} // namespace

class TestChannel : public QObject {
    Q_OBJECT
  private slots:
    // --- topology

    void everyDeclarationHasItsOk() {
        TestNode node;
        OpenPeer peer(node);
        peer.send(1, exchangeDeclare("x", "topic", {.durable = true}));
        peer.send(1, exchangeDeclare("y", "fanout"));
        peer.send(1, amqp::ExchangeBind{kTicket, "y", "x", "a.#", false, base::Bytes{}});
        peer.send(1, queueDeclare("q", {.durable = true}));
        peer.send(1, queueBind("q", "y", ""));
        peer.publish(1, "x", "a.b", "hello");
        peer.send(1, queuePurge("q"));
        peer.send(1, queueUnbind("q", "y", ""));
        peer.send(1, amqp::ExchangeUnbind{kTicket, "y", "x", "a.#", false, base::Bytes{}});
        peer.send(1, queueDelete("q"));
        peer.send(1, exchangeDelete("x"));
        QCOMPARE(peer.settled(),
                 (QStringList{"1 40.11", "1 40.11", "1 40.31", "1 50.11 'q' 0 0", "1 50.21",
                              "1 50.31 1", "1 50.51", "1 40.51", "1 50.41 0", "1 40.21"}));
    }

    void withNoWaitNothingIsSaid() {
        TestNode node;
        OpenPeer peer(node);
        peer.send(1, exchangeDeclare("x", "topic", {.durable = true, .noWait = true}));
        peer.send(1, queueDeclare("q", {.durable = true, .noWait = true}));
        peer.send(1, queueBind("q", "x", "#", true));
        peer.send(1, consume("q", "t", {.noAck = true, .noWait = true}));
        peer.send(1, amqp::BasicCancel{"t", true});
        peer.send(1, amqp::ConfirmSelect{true});
        peer.send(1, queueDelete("q", false, false, true));
        QCOMPARE(peer.settled(), QStringList{});
        peer.send(1, amqp::ChannelFlow{true});
        QCOMPARE(peer.received(), QStringList{"1 20.21 1"});
    }

    void anEmptyNameIsTheQueueDeclaredLast() {
        TestNode node;
        OpenPeer peer(node);
        peer.send(1, queueDeclare("", {.exclusive = true}));
        const QString declared = peer.settled().value(0);
        const QString name = declared.section('\'', 1, 1);
        QVERIFY2(name.startsWith("amq.gen-") && name.size() == 30, qPrintable(declared));
        peer.send(1, queueBind("", "amq.direct", ""));
        peer.settled();
        peer.publish(1, "amq.direct", name.toStdString(),
                     "by its name"); // both left out: the key is the queue's name
        peer.send(1, get("", true));
        QCOMPARE(peer.settled(), (QStringList{"1 60.71 1 0 'amq.direct' '" + name + "' 0",
                                              "1 header 11", "1 body 'by its name'"}));
        peer.send(1, queueDelete(""));
        QCOMPARE(peer.settled(), QStringList{"1 50.41 0"});
    }

    void accessIsAlwaysGranted() {
        TestNode node;
        OpenPeer peer(node);
        peer.send(1, amqp::AccessRequest{"/data", true, true, true, true, true});
        QCOMPARE(peer.received(), QStringList{"1 30.11 1"});
    }

    // --- consuming

    void consumeOkComesBeforeTheFirstDelivery() {
        TestNode node;
        OpenPeer peer(node);
        peer.declare(1, "q");
        peer.publish(1, "", "q", "first");
        node.sync();
        peer.send(1, consume("q", "t"));
        QCOMPARE(peer.settled(), (QStringList{"1 60.21 't'", "1 60.60 't' 1 0 '' 'q'", "1 header 5",
                                              "1 body 'first'"}));
    }

    void anEmptyTagIsChosenByTheServer() {
        TestNode node;
        OpenPeer peer(node);
        peer.declare(1, "q");
        peer.send(1, consume("q", ""));
        const QString answer = peer.received().value(0);
        QVERIFY2(answer.startsWith("1 60.21 'amq.ctag-"), qPrintable(answer));
        QCOMPARE(answer.section('\'', 1, 1).size(), 31);
    }

    void aLargeDeliveryIsSplitByTheAgreedFrame() {
        TestNode node;
        ScriptedPeer peer(node);
        peer.frameMax = 4096;
        peer.open();
        peer.openChannel(1);
        peer.declare(1, "q");
        peer.publish(1, "", "q", std::string(10'000, 'x'));
        peer.settled();
        peer.send(1, get("q", true));
        QCOMPARE(peer.settled(),
                 (QStringList{"1 60.71 1 0 '' 'q' 0", "1 header 10000", "1 body [4088 bytes]",
                              "1 body [4088 bytes]", "1 body [1824 bytes]"}));
    }

    void anEmptyQueueIsSaidToBeEmpty() {
        TestNode node;
        OpenPeer peer(node);
        peer.declare(1, "q");
        peer.send(1, get("q"));
        QCOMPARE(peer.settled(), QStringList{"1 60.72 ''"});
        QVERIFY(peer.connection().wantsInput());
    }

    void prefetchIsKept() {
        TestNode node;
        OpenPeer peer(node);
        peer.declare(1, "q");
        for (int i = 0; i < 5; ++i) {
            peer.publish(1, "", "q", "m");
        }
        peer.settled();
        peer.send(1, qos(2));
        peer.send(1, consume("q", "t"));
        QCOMPARE(peer.settled().filter("60.60").size(), 2);
        peer.send(1, ack(2, true));
        QCOMPARE(peer.settled().filter("60.60").size(), 2);
        QVERIFY(peer.connection().hasUnacked());
    }

    void requeuedMessagesComeBackInOrderAndMarked() {
        TestNode node;
        OpenPeer peer(node);
        peer.declare(1, "q");
        peer.publish(1, "", "q", "a");
        peer.publish(1, "", "q", "b");
        peer.settled();
        peer.send(1, get("q"));
        peer.send(1, get("q"));
        peer.settled();
        peer.send(1, nack(2, true, true));
        peer.send(1, get("q"));
        QCOMPARE(peer.settled(), (QStringList{"1 60.71 3 1 '' 'q' 1", "1 header 1", "1 body 'a'"}));
        peer.send(1, amqp::BasicRecover{true});
        QCOMPARE(peer.settled(), QStringList{"1 60.111"});
        peer.send(1, amqp::BasicRecoverAsync{true});
        QCOMPARE(peer.settled(), QStringList{});
    }

    void theReplyToADeleteComesBeforeTheCancel() {
        TestNode node;
        OpenPeer peer(node);
        OpenPeer other(node);
        peer.declare(1, "q");
        peer.send(1, consume("q", "mine"));
        other.send(1, consume("q", "theirs"));
        peer.settled();
        other.settled();
        peer.send(1, queueDelete("q"));
        QCOMPARE(peer.settled(), (QStringList{"1 50.41 0", "1 60.30 'mine' 1"}));
        QCOMPARE(other.settled(), QStringList{"1 60.30 'theirs' 1"});
    }

    void whoDoesNotKnowCancelsIsNotSentAny() {
        TestNode node;
        ScriptedPeer peer(node);
        peer.capabilities.clear();
        peer.open();
        peer.openChannel(1);
        peer.declare(1, "q");
        peer.send(1, consume("q", "t"));
        peer.settled();
        peer.send(1, queueDelete("q"));
        QCOMPARE(peer.settled(), QStringList{"1 50.41 0"});
    }

    void whatIsUnackedGoesBackWithItsChannel() {
        TestNode node;
        OpenPeer peer(node);
        peer.openChannel(2);
        peer.declare(1, "q");
        peer.publish(1, "", "q", "m");
        peer.settled();
        peer.send(1, get("q"));
        peer.settled();
        peer.send(1, channelClose());
        QCOMPARE(peer.settled(), QStringList{"1 20.41"});
        peer.send(2, get("q"));
        QCOMPARE(peer.settled().value(0), QString("2 60.71 1 1 '' 'q' 0"));
    }

    void aDeliveryNotAckedInTimeClosesItsChannel() {
        TestNode node;
        OpenPeer peer(node);
        peer.declare(1, "q");
        peer.publish(1, "", "q", "m");
        peer.send(1, get("q"));
        peer.settled();
        node.clock.advance(limits::kConsumerTimeout + std::chrono::seconds(10));
        node.broker.tick();
        QCOMPARE(
            peer.settled(),
            QStringList{"1 20.40 406 'PRECONDITION_FAILED - delivery acknowledgement on "
                        "channel 1 timed out. Timeout value used: 1800000 ms. This timeout "
                        "value can be configured, see consumers doc guide to learn more' 0 0"});
    }

    void aConsumerThatDoesNotReadIsNotFloodedAndLosesNothing() {
        TestNode node;
        OpenPeer peer(node);
        peer.declare(1, "q");
        const std::string body(10'000, 'm');
        constexpr int kMessages = 400;
        for (int i = 0; i < kMessages; ++i) {
            peer.publish(1, "", "q", body);
        }
        peer.settled();
        peer.setReading(false);
        peer.send(1, consume("q", "t", {.noAck = true}));
        node.sync();
        QVERIFY(peer.connection().outbox().size() >= limits::kOutboxBytes);
        QVERIFY(peer.connection().outbox().size() < limits::kOutboxBytes + 100'000);
        peer.setReading(true);
        int delivered = 0;
        for (int i = 0; i < 20; ++i) {
            delivered += static_cast<int>(peer.settled().filter("60.60").size());
        }
        QCOMPARE(delivered, kMessages);
    }
};

QTEST_APPLESS_MAIN(TestChannel)
#include "tst_channel.moc"
