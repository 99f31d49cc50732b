// SPDX-License-Identifier: Apache-2.0
// Peers that do not read what they are sent: the memory they cost has a bound, for each and for all
// together, and the others go on.
#include "methods.h"
#include "scripted_peer.h"

#include <QTest>

using namespace millrace;
using namespace millrace::test;

namespace {

struct OpenPeer : ScriptedPeer {
    explicit OpenPeer(TestNode& node, std::uint16_t channels = 1) : ScriptedPeer(node) {
        open();
        for (std::uint16_t number = 1; number <= channels; ++number) {
            openChannel(number);
        }
    }
    std::size_t outboxSize() { return connection().outbox().size(); }
};

constexpr std::size_t kBody = 10'000;

// So many messages of kBody bytes in queue q.
void fill(OpenPeer& peer, int messages) {
    peer.declare(1, "q");
    for (int i = 0; i < messages; ++i) {
        peer.publish(1, "", "q", std::string(kBody, 'm'));
    }
    peer.settled();
}

} // namespace

class TestUnreadOutput : public QObject {
    Q_OBJECT
  private slots:
    void allChannelsOfAConnectionShareTheBoundOfItsOutbox() {
        TestNode node;
        constexpr std::uint16_t kChannels = 200;
        OpenPeer peer(node, kChannels);
        fill(peer, 600);
        peer.setReading(false);
        for (std::uint16_t number = 1; number <= kChannels; ++number) {
            peer.send(number, consume("q", "t", {.noAck = true}));
        }
        node.sync();
        QVERIFY(peer.outboxSize() > limits::kOutboxBytes);
        QVERIFY(peer.outboxSize() < limits::kOutboxBytes + 2 * kBody);
        peer.setReading(true);
        QCOMPARE(peer.settled().filter("60.60").size(), 600);
    }

    void getsWaitForTheOutboxAndAreAnsweredThen() {
        TestNode node;
        OpenPeer peer(node);
        fill(peer, 300);
        peer.setReading(false);
        for (int i = 0; i < 300; ++i) {
            peer.send(1, get("q", true));
        }
        node.sync();
        QVERIFY(peer.outboxSize() < limits::kOutboxBytes + 2 * kBody);
        QVERIFY(peer.unread() > 0);
        peer.setReading(true);
        QCOMPARE(peer.settled().filter("60.71").size(), 300);
    }

    // Pieces come as the outbox has room, and only then the end of the channel.
    void aChannelThatIsClosedWithinALargeMessageEnds_data() {
        QTest::addColumn<bool>("byPeer");
        QTest::newRow("by the peer") << true;
        QTest::newRow("by the broker") << false;
    }
    void aChannelThatIsClosedWithinALargeMessageEnds() {
        QFETCH(const bool, byPeer);
        constexpr std::size_t kLarge = 16 * 1024 * 1024;
        TestNode node;
        OpenPeer peer(node, 2);
        peer.declare(1, "q");
        peer.publish(1, "", "q", std::string(kLarge, 'm'));
        peer.settled();
        peer.setReading(false);
        peer.send(1, consume("q", "t"));
        node.sync();
        QVERIFY(peer.outboxSize() > 0 && peer.outboxSize() < kLarge / 2);
        if (byPeer) {
            peer.send(1, amqp::ChannelClose{std::uint16_t{200}, "bye", std::uint16_t{0},
                                            std::uint16_t{0}});
        } else {
            peer.send(1, ack(99));
        }
        peer.setReading(true);
        const QStringList frames = peer.settled();
        qsizetype sent = 0;
        for (const QString& frame : frames.filter("1 body ")) { // small ones are shown, not counted
            sent += frame.contains('[') ? frame.section('[', 1).section(' ', 0, 0).toLongLong()
                                        : frame.count('m');
        }
        QCOMPARE(sent, qsizetype(kLarge));
        QVERIFY2(frames.last().startsWith(byPeer ? "1 20.41" : "1 20.40 406"),
                 qPrintable(frames.last()));
        QCOMPARE(node.broker.numbers("/", "q")->ready, std::uint64_t{1});
    }

    void manyThatDoNotReadStayWithinTheBoundOfAll() {
        constexpr std::size_t kBound = 512 * 1024;
        constexpr int kPeers = 20;
        TestNode node;
        node.outboxes = session::OutboxMemory(kBound);
        OpenPeer publisher(node);
        fill(publisher, 2'000);
        std::vector<std::unique_ptr<OpenPeer>> deaf;
        for (int i = 0; i < kPeers; ++i) {
            deaf.push_back(std::make_unique<OpenPeer>(node));
            deaf.back()->setReading(false);
            if (i % 2 == 0) {
                deaf.back()->send(1, consume("q", "t", {.noAck = true}));
            } else {
                for (int j = 0; j < 50; ++j) {
                    deaf.back()->send(1, get("q", true));
                }
            }
            node.sync();
            deaf.back()->pump();
        }
        std::size_t held = 0;
        for (const auto& peer : deaf) {
            held += peer->outboxSize();
        }
        QVERIFY(held > kBound / 4);
        QVERIFY2(held < kBound + kPeers * (limits::kTightOutboxBytes + kBody),
                 std::to_string(held).c_str());

        // Who reads is served all the same.
        QVERIFY(node.outboxes.isTight());
        publisher.send(1, consume("q", "reader", {.noAck = true}));
        qsizetype read = 0;
        for (int i = 0; i < 2'000 && read < 500; ++i) {
            node.turn();
            read += publisher.received().filter("'reader'").size();
        }
        QVERIFY(read >= 500);

        // Whoever starts to read gets the rest.
        qsizetype late = 0;
        for (const auto& peer : deaf) {
            peer->setReading(true);
            late += peer->settled().filter("60.60").size();
        }
        QVERIFY(late > kPeers);
        QVERIFY(!node.outboxes.isTight());
    }

    void whoIsBehindWithDeliveriesIsStillHeard() {
        TestNode node;
        node.outboxes = session::OutboxMemory(1);
        OpenPeer peer(node);
        fill(peer, 10);
        peer.setReading(false);
        peer.send(1, consume("q", "t"));
        node.sync();
        peer.pump();
        QVERIFY(peer.outboxSize() > 0);
        peer.send(1, ack(1));
        QCOMPARE(peer.unread(), std::size_t{0});
        QVERIFY(peer.connection().wantsInput());
    }
};

QTEST_APPLESS_MAIN(TestUnreadOutput)
#include "tst_unread_output.moc"
