// SPDX-License-Identifier: Apache-2.0
// Hostile and confused peers: whatever comes in, the connection goes on or closes, says only whole
// frames, stays bounded, and leaves the broker to others unharmed.
#include "methods.h"
#include "scripted_peer.h"
#include "support/seed.h"

#include <QTest>

#include <vector>

using namespace millrace;
using namespace millrace::test;
using namespace std::chrono_literals;

namespace {

constexpr std::string_view kNames[] = {
    "", "q", "r", "amq.direct", "amq.topic", "amq.rabbitmq.reply-to", "x", "t", "a.b", "nobody"};

// Fills the fields of a method with what a client might send, and sometimes with what it would not.
struct RandomFields {
    support::Random& random;

    template <typename T> void fill(amqp::Number<T>& field) {
        field = static_cast<T>(random.chance(80) ? random.below(6) : random.next());
    }
    void fill(amqp::Bit& field) { field = random.chance(30); }
    template <typename Length> void fill(amqp::Text<Length>& field) {
        field = kNames[random.below(std::size(kNames))];
    }
    void fill(amqp::Table& field) { field = base::Bytes{}; }
};

std::vector<std::string> randomMethods(support::Random& random, std::uint16_t channel) {
    std::vector<std::string> frames;
    amqp::ServerMethods::each([&]<typename Method>() {
        Method method;
        wire::eachField(method, [&](auto& field) { RandomFields{random}.fill(field); });
        std::string bytes;
        amqp::StringSink sink(bytes);
        amqp::writeMethod(sink, channel, method);
        frames.push_back(bytes);
    });
    return frames;
}

// A session that uses everything, as the bytes of a client.
std::string validSession() {
    std::string bytes(amqp::kProtocolHeader);
    amqp::StringSink sink(bytes);
    const auto say = [&](std::uint16_t channel, const auto& method) {
        amqp::writeMethod(sink, channel, method);
    };
    say(0, amqp::ConnectionStartOk{base::Bytes{}, "PLAIN", std::string_view("\0guest\0guest", 12),
                                   "en_US"});
    say(0, amqp::ConnectionTuneOk{std::uint16_t{100}, std::uint32_t{4096}, std::uint16_t{0}});
    say(0, amqp::ConnectionOpen{"/", "", false});
    for (const std::uint16_t channel : {std::uint16_t{1}, std::uint16_t{2}}) {
        say(channel, amqp::ChannelOpen{});
        say(channel, exchangeDeclare("x", "topic", {.durable = true}));
        say(channel, queueDeclare("q", {.durable = true}));
        say(channel, queueBind("q", "x", "#"));
        say(channel, amqp::ConfirmSelect{false});
        say(channel, qos(10));
        say(channel, consume("q", "t"));
        amqp::PropertyValues properties;
        properties.deliveryMode = 2;
        properties.replyTo = "r";
        for (const std::size_t size : {0, 10, 9000}) {
            amqp::writeContent(sink, channel, amqp::BasicPublish{kTicket, "x", "a.b", true, false},
                               base::bytesOf(properties.encode()),
                               base::bytesOf(std::string(size, 'b')), size, 4096);
        }
        say(channel, get("q"));
        say(channel, ack(1));
        say(channel, nack(0, true, true));
        say(channel, amqp::BasicCancel{"t", false});
        say(channel, queuePurge("q"));
        say(channel, channelClose());
    }
    say(0, connectionClose());
    return bytes;
}

std::string mutated(std::string bytes, support::Random& random) {
    for (std::uint64_t i = random.below(6); i > 0 && !bytes.empty(); --i) {
        const std::size_t at = random.below(bytes.size());
        const std::size_t count = std::min<std::size_t>(random.below(40), bytes.size() - at);
        switch (random.below(4)) {
        case 0:
            bytes[at] = static_cast<char>(random.next());
            break;
        case 1:
            bytes.erase(at, count);
            break;
        case 2:
            bytes.insert(at, bytes.substr(random.below(bytes.size()), count));
            break;
        default:
            bytes.insert(at, random.bytes(count));
            break;
        }
    }
    return bytes;
}

void expectSane(ScriptedPeer& peer) {
    const QStringList frames = peer.settled();
    QVERIFY2(!frames.contains("broken"), qPrintable(frames.join('\n')));
    QVERIFY(peer.connection().outbox().size() < limits::kReplyBytes + limits::kOutboxBytes);
    // However it stands, time ends it or lets it live; it does not hang.
    peer.node().clock.advance(31s);
    peer.connection().tick();
    QVERIFY(peer.connection().isOpen() || peer.connection().finished());
}

void expectOthersServed(TestNode& node) {
    ScriptedPeer peer(node);
    peer.open();
    peer.openChannel(1);
    peer.send(1, queueDeclare("", {.exclusive = true}));
    QVERIFY(peer.settled().value(0).startsWith("1 50.11 'amq.gen-"));
}

} // namespace

class TestSessionFuzz : public QObject {
    Q_OBJECT
  private slots:
    void randomBytesFromTheStart() {
        support::Seed seed(11);
        support::Random random(seed.value());
        TestNode node;
        for (int round = 0; round < 300; ++round) {
            ScriptedPeer peer(node);
            if (random.chance(70)) {
                peer.raw(base::bytesOf(amqp::kProtocolHeader));
            }
            peer.raw(base::bytesOf(random.bytes(random.below(500))));
            expectSane(peer);
        }
        expectOthersServed(node);
    }

    void randomFramesOnAnOpenConnection() {
        support::Seed seed(12);
        support::Random random(seed.value());
        TestNode node;
        for (int round = 0; round < 300; ++round) {
            ScriptedPeer peer(node);
            peer.open();
            peer.openChannel(1);
            for (int i = 0; i < 20 && peer.connection().isOpen(); ++i) {
                const auto type = static_cast<std::uint8_t>(random.chance(90) ? random.between(1, 3)
                                                                              : random.next());
                peer.frame(type, static_cast<std::uint16_t>(random.below(3)),
                           random.bytes(random.below(60)));
            }
            expectSane(peer);
        }
        expectOthersServed(node);
    }

    void randomMethodsOnAnOpenConnection() {
        support::Seed seed(13);
        support::Random random(seed.value());
        TestNode node;
        for (int round = 0; round < 200; ++round) {
            ScriptedPeer peer(node);
            peer.open();
            peer.openChannel(1);
            for (int i = 0; i < 60 && peer.connection().isOpen(); ++i) {
                const std::vector<std::string> methods =
                    randomMethods(random, static_cast<std::uint16_t>(random.chance(95) ? 1 : 0));
                peer.raw(base::bytesOf(methods[random.below(methods.size())]));
                if (random.chance(30)) {
                    peer.publish(1, random.chance(50) ? "" : "amq.direct", "q", "body");
                }
                if (random.chance(20)) {
                    peer.send(1, amqp::ChannelCloseOk{});
                    peer.send(1, amqp::ChannelOpen{});
                }
                if (random.chance(30)) {
                    node.turn();
                    peer.pump();
                }
            }
            expectSane(peer);
        }
        expectOthersServed(node);
    }

    void mutatedSessionsInPieces() {
        support::Seed seed(14);
        support::Random random(seed.value());
        const std::string valid = validSession();
        TestNode node;
        for (int round = 0; round < 600; ++round) {
            ScriptedPeer peer(node);
            peer.setStep(random.chance(50) ? 0 : random.between(1, 300));
            const std::string bytes = mutated(valid, random);
            for (std::size_t at = 0; at < bytes.size();) {
                const std::size_t count =
                    std::min<std::size_t>(random.between(1, 5000), bytes.size() - at);
                peer.raw(base::bytesOf(std::string_view(bytes).substr(at, count)));
                at += count;
                if (random.chance(50)) {
                    node.turn();
                }
                if (random.chance(30)) {
                    node.sync();
                }
            }
            expectSane(peer);
        }
        expectOthersServed(node);
    }

    void theValidSessionEndsWell() {
        TestNode node;
        ScriptedPeer peer(node);
        peer.raw(base::bytesOf(validSession()));
        const QStringList frames = peer.settled();
        QVERIFY2(frames.filter("10.50").isEmpty() && frames.filter("20.40").isEmpty(),
                 qPrintable(frames.join('\n')));
        QVERIFY(peer.connection().finished());
    }
};

QTEST_APPLESS_MAIN(TestSessionFuzz)
#include "tst_session_fuzz.moc"
