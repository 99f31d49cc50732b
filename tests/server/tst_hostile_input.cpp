// SPDX-License-Identifier: Apache-2.0
// Input that is slow, broken, cut off or meant to harm: the client is told what was wrong where it
// can be, the server goes on, and nothing of it stays.
#include "server/raw_peer.h"
#include "server/started_broker.h"
#include "support/seed.h"

#include <deque>

using namespace millrace;
using namespace millrace::server_tests;
using namespace std::chrono_literals;
namespace amqp = millrace::wire::amqp;

namespace {

// The frames of a publish one by one: method, header, bodies.
std::vector<std::string> framesOf(const std::string& publish) {
    std::vector<std::string> frames;
    const amqp::FrameReader reader(0);
    amqp::Frame next;
    for (std::size_t at = 0; at < publish.size(); at += next.totalSize) {
        reader.next(base::bytesOf(publish).subspan(at), next);
        frames.push_back(publish.substr(at, next.totalSize));
    }
    return frames;
}

amqp::BasicGet get(std::string_view queue) {
    amqp::BasicGet method;
    method.queue = queue;
    method.noAck = true;
    return method;
}

} // namespace

class HostileInputTest : public QObject {
    Q_OBJECT

    StartedBroker* broker_ = nullptr;

    bool isServing() {
        RawPeer peer(broker_->port());
        return peer.open() && peer.send(publishBytes(1, "q", "still here", true)) &&
               peer.say(1, get("q")) && peer.await<amqp::BasicGetOk>().has_value() &&
               peer.closeInOrder();
    }

  private slots:
    void init() {
        broker_ = new StartedBroker;
        VERIFY_READY(*broker_);
        Session session = broker_->session();
        QVERIFY(session && session->declareQueue("q", {.durable = true}).ok());
    }
    void cleanup() {
        QVERIFY2(broker_->pid() > 0 && isServing(), broker_->process.logTail().c_str());
        delete broker_;
        broker_ = nullptr;
    }

    void aByteAtATimeIsAWholeSession() {
        std::string session = openingBytes();
        amqp::QueueDeclare declare;
        declare.queue = "slow";
        session += RawPeer::bytesOf(1, declare);
        for (const char* body : {"one", "two", ""}) {
            session += publishBytes(1, "slow", body, true);
        }
        session += RawPeer::bytesOf(1, get("slow"));
        RawPeer peer(broker_->port());
        for (const char& byte : session) {
            QVERIFY(peer.send({&byte, 1}));
        }
        const auto got = peer.await<amqp::BasicGetOk>();
        QVERIFY(got.has_value());
        QCOMPARE(got->messageCount.value(), 2U);
        QVERIFY(peer.readFrame() && peer.readFrame());
        QCOMPARE(std::string(base::textOf(peer.frame().payload)), std::string("one"));
        for (const char& byte : RawPeer::bytesOf(0, amqp::ConnectionClose{200, "Goodbye", 0, 0})) {
            QVERIFY(peer.send({&byte, 1}));
        }
        QVERIFY(peer.await<amqp::ConnectionCloseOk>().has_value());
    }

    void garbageInsteadOfAHeaderIsToldTheProtocol() {
        support::Seed seed(11);
        support::Random random(seed.value());
        for (int i = 0; i < 200; ++i) {
            RawPeer peer(broker_->port());
            std::string garbage = random.bytes(1 + random.below(5'000));
            garbage[0] = static_cast<char>(garbage[0] == 'A' ? 'G' : garbage[0]);
            QVERIFY(peer.send(garbage));
            QCOMPARE(peer.readToTheEnd(), std::string(amqp::kProtocolHeader));
        }
    }

    void garbageBehindTheHandshakeEndsTheConnection() {
        support::Seed seed(12);
        support::Random random(seed.value());
        std::deque<RawPeer> peers; // all at once: a broken frame is left three seconds to be read
        for (int i = 0; i < 100; ++i) {
            QVERIFY(peers.emplace_back(broker_->port()).open());
            std::string garbage = random.bytes(8 + random.below(20'000));
            garbage[0] = static_cast<char>(9 + random.below(200)); // no frame begins so
            QVERIFY(peers.back().send(garbage));
        }
        int told = 0;
        for (RawPeer& peer : peers) {
            const auto close = peer.await<amqp::ConnectionClose>();
            told += close && close->replyCode.value() == 501 ? 1 : 0;
        }
        QCOMPARE(told, 100);
        for (RawPeer& peer : peers) {
            QVERIFY(peer.awaitEnd());
        }
    }

    void anOversizedFrameIsNamedAndEndsTheConnection() {
        RawPeer peer(broker_->port());
        QVERIFY(peer.open());
        std::string head;
        amqp::StringSink sink(head);
        amqp::writeFrameHead(sink, amqp::frame_type::kMethod, 1, 512u * 1024 * 1024);
        QVERIFY(peer.send(head));
        const auto close = peer.await<amqp::ConnectionClose>();
        QVERIFY(close.has_value());
        QCOMPARE(close->replyCode.value(), std::uint16_t{501});
        QVERIFY(close->replyText.view().find("frame_too_large") != std::string_view::npos);
        QVERIFY(peer.awaitEnd());
    }

    void framesThatAreCutOffLeaveNothing() {
        QVERIFY(awaitQuiet(broker_->pid(), 10s));
        const std::uint64_t files = openDescriptors(broker_->pid());
        const std::string publish = publishBytes(1, "q", std::string(3'000, 'h'), true);
        for (std::size_t cut = 1; cut < publish.size(); cut += 1 + publish.size() / 60) {
            RawPeer peer(broker_->port());
            QVERIFY(peer.open());
            QVERIFY(peer.send(std::string_view(publish).substr(0, cut)));
        }
        QTRY_COMPARE(openDescriptors(broker_->pid()), files);
        Session session = broker_->session();
        auto q = session->declareQueue("q", {.passive = true});
        QVERIFY(q.ok());
        QCOMPARE(q->messages, 0U);
    }

    void contentsOfTwoChannelsMayInterleave() {
        RawPeer peer(broker_->port());
        QVERIFY(peer.open() && peer.say(2, amqp::ChannelOpen{}));
        const auto first = framesOf(publishBytes(1, "q", std::string(300'000, '1'), true));
        const auto second = framesOf(publishBytes(2, "q", std::string(300'000, '2'), true));
        for (std::size_t i = 0; i < first.size(); ++i) {
            QVERIFY(peer.send(first[i]) && peer.send(second[i]));
        }
        Session session = broker_->session();
        for (const char expected : {'1', '2'}) {
            std::optional<client::Delivery> delivery;
            const auto hasCome = [&] {
                auto got = session->get("q", true);
                delivery = got ? std::move(*got) : std::nullopt;
                return delivery.has_value();
            };
            QVERIFY(QTest::qWaitFor(hasCome));
            QVERIFY(delivery->body == std::string(300'000, expected));
        }
    }

    void anythingElseWithinAContentIsAnError() {
        const auto frames = framesOf(publishBytes(1, "q", "body", true));
        const std::string other = RawPeer::bytesOf(1, get("q"));
        for (const std::size_t whole : {1u, 2u}) {
            RawPeer peer(broker_->port());
            QVERIFY(peer.open());
            for (std::size_t i = 0; i < whole; ++i) {
                QVERIFY(peer.send(frames[i]));
            }
            QVERIFY(peer.send(other));
            const auto close = peer.await<amqp::ConnectionClose>();
            QVERIFY(close.has_value());
            QCOMPARE(close->replyCode.value(), std::uint16_t{505});
        }
    }

    void whatIsAnnouncedAndDoesNotComeCostsNothing() {
        if (!kMemoryIsMeasurable) {
            QSKIP("a sanitizer's own memory hides the broker's");
        }
        const std::uint64_t before = residentBytes(broker_->pid());
        const auto frames = framesOf(publishBytes(1, "q", std::string(15'000'000, 'b'), true));
        std::deque<RawPeer> peers;
        for (int i = 0; i < 300; ++i) {
            QVERIFY(peers.emplace_back(broker_->port()).open());
            QVERIFY(peers.back().send(frames[0] + frames[1] + frames[2].substr(0, 1'000)));
        }
        QVERIFY(awaitQuiet(broker_->pid(), 10s));
        const std::uint64_t grown = residentBytes(broker_->pid()) - before;
        qInfo("300 bodies of 15 MB that do not come: %llu KiB",
              static_cast<unsigned long long>(grown / 1024));
        QVERIFY(grown < 32 * kMiB);
    }
};

QTEST_GUILESS_MAIN(HostileInputTest)
#include "tst_hostile_input.moc"
