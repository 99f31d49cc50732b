// SPDX-License-Identifier: Apache-2.0
// Memory stays within vm_memory_high_watermark + 64 MiB whatever clients do: publishers at full
// speed without a consumer, and clients that do not read. Publishers wait; who can hear it is told;
// consumers go on.
#include "server/flood.h"
#include "server/raw_peer.h"
#include "server/started_broker.h"
#include "support/random.h"

#include <deque>

using namespace millrace;
using namespace millrace::server_tests;
using namespace std::chrono_literals;
namespace amqp = millrace::wire::amqp;

namespace {

constexpr std::uint64_t kLimit = 64 * kMiB;
constexpr std::uint64_t kAbove = 64 * kMiB; // what docs/DURABILITY.md allows on top
constexpr int kLongest = 30'000;            // ms

support::BrokerSettings limitedTo(std::uint64_t bytes) {
    return {{"--set", "vm_memory_high_watermark.absolute=" + std::to_string(bytes)}, {}, 0};
}

bool declareQueue(const StartedBroker& broker, const std::string& name) {
    Session session = broker.session();
    return session && session->declareQueue(name, {.durable = true}).ok();
}

std::uint32_t messagesIn(const StartedBroker& broker, const std::string& name) {
    Session session = broker.session();
    auto state = session->declareQueue(name, {.passive = true});
    return state ? state->messages : 0;
}

void sayFigures(const StartedBroker& broker, std::uint64_t sentBytes) {
    qInfo("peak %llu MiB resident at a limit of %llu MiB, %llu MiB sent",
          static_cast<unsigned long long>(peakResidentBytes(broker.pid()) / kMiB),
          static_cast<unsigned long long>(kLimit / kMiB),
          static_cast<unsigned long long>(sentBytes / kMiB));
}

std::string queueName(std::uint64_t number) {
    return "q" + std::to_string(number);
}

enum class Ask { consumeWithoutAcks, consume, get };

// Asks for messages and never reads one.
bool askWithoutReading(RawPeer& peer, const std::string& queue, Ask by) {
    if (!peer.open()) {
        return false;
    }
    if (by != Ask::get) {
        amqp::BasicConsume consume;
        consume.queue = queue;
        consume.noAck = by == Ask::consumeWithoutAcks;
        return peer.say(1, consume);
    }
    amqp::BasicGet get;
    get.queue = queue;
    std::string gets;
    for (int i = 0; i < 2'000; ++i) {
        gets += RawPeer::bytesOf(1, get);
    }
    return peer.sendSome(gets) > 0;
}

} // namespace

class MemoryBoundTest : public QObject {
    Q_OBJECT
  private slots:
    void initTestCase() {
        if (!kMemoryIsMeasurable) {
            QSKIP("a sanitizer's own memory hides the broker's");
        }
    }

    void publishersAtFullSpeedWithoutAConsumerStayWithinTheLimit_data() {
        QTest::addColumn<int>("bodyBytes");
        QTest::addColumn<bool>("persistent");
        QTest::newRow("persistent, 100 B") << 100 << true;
        QTest::newRow("persistent, 100 KB") << 100'000 << true;
        QTest::newRow("transient, 100 B") << 100 << false;
        QTest::newRow("transient, 20 KB") << 20'000 << false;
        QTest::newRow("transient, 100 KB") << 100'000 << false;
        QTest::newRow("persistent, 3 MB, in pieces") << 3'000'000 << true;
    }
    void publishersAtFullSpeedWithoutAConsumerStayWithinTheLimit() {
        QFETCH(int, bodyBytes);
        QFETCH(bool, persistent);
        StartedBroker broker(limitedTo(kLimit));
        VERIFY_READY(broker);
        QVERIFY(declareQueue(broker, "flooded"));
        const std::string publishes =
            floodOf({"flooded", static_cast<std::size_t>(bodyBytes), persistent});
        constexpr std::uint64_t kEnough = 6 * kLimit; // bytes: memory would not do
        std::deque<Flood> floods;
        floods.emplace_back(broker.port(), publishes);
        floods.emplace_back(broker.port(), publishes);
        std::uint64_t sent = 0;
        const auto isEnough = [&] {
            sent = floods[0].sentBytes() + floods[1].sentBytes();
            return sent >= kEnough;
        };
        QTRY_VERIFY_WITH_TIMEOUT(isEnough(), kLongest);
        for (Flood& flood : floods) {
            flood.stop();
            QCOMPARE(QString::fromStdString(flood.fault()), QString());
            QCOMPARE(flood.timesBlocked(), 0); // the disk is waited for, that is no alarm
        }
        sayFigures(broker, sent);
        QVERIFY(peakResidentBytes(broker.pid()) <= kLimit + kAbove);
        const std::uint64_t messages = messagesIn(broker, "flooded");
        QVERIFY(messages * static_cast<std::uint64_t>(bodyBytes) > kEnough / 3);
    }

    void clientsThatDoNotReadStayWithinTheLimit_data() {
        QTest::addColumn<int>("bodyBytes");
        QTest::addColumn<int>("clients");
        QTest::addColumn<int>("ask");
        const auto row = [](const char* name, int bodyBytes, int clients, Ask ask) {
            QTest::newRow(name) << bodyBytes << clients << static_cast<int>(ask);
        };
        row("consumers, 100 B", 100, 300, Ask::consumeWithoutAcks);
        row("consumers, 20 KB", 20'000, 300, Ask::consumeWithoutAcks);
        row("consumers, 2 MB, in pieces", 2'000'000, 40, Ask::consumeWithoutAcks);
        row("basic.get, 20 KB", 20'000, 300, Ask::get);
        row("consumers that do not ack, 10 B", 10, 200, Ask::consume);
    }
    void clientsThatDoNotReadStayWithinTheLimit() {
        QFETCH(int, bodyBytes);
        QFETCH(int, clients);
        QFETCH(int, ask);
        const bool acks = static_cast<Ask>(ask) == Ask::consume;
        StartedBroker broker(limitedTo(kLimit));
        VERIFY_READY(broker);
        constexpr std::uint64_t kBacklog = 400 * kMiB;
        QVERIFY(declareQueue(broker, "unread"));
        QVERIFY(declareQueue(broker, "read"));
        Flood flood(broker.port(), floodOf({"unread", static_cast<std::size_t>(bodyBytes), true}));
        QTRY_VERIFY_WITH_TIMEOUT(flood.sentBytes() > kBacklog, kLongest);
        flood.stop();

        std::deque<RawPeer> deaf;
        for (int i = 0; i < clients; ++i) {
            // Unacked is what the kernel has taken, too.
            deaf.emplace_back(broker.port(), acks ? RawPeer::Way::wide : RawPeer::Way::narrow);
            QVERIFY(askWithoutReading(deaf.back(), "unread", static_cast<Ask>(ask)));
        }
        QVERIFY(awaitQuiet(broker.pid(), 30s)); // they have all they get
        sayFigures(broker, flood.sentBytes());
        QVERIFY(peakResidentBytes(broker.pid()) <= kLimit + kAbove);

        // Others are served.
        Session session = broker.session();
        QVERIFY(session);
        QVERIFY(session->consume("read", {.noAck = true}).ok());
        QVERIFY(session->publish({.routingKey = "read", .body = base::bytesOf("hello")}).ok());
        auto heard = session->next(kPatience);
        QVERIFY(heard.ok() && heard->has_value());
        QCOMPARE((*heard)->body, std::string("hello"));
    }

    void publishersAreHeldAndToldWhileMemoryIsLowAndConsumersGoOn() {
        std::uint64_t idle = 0;
        {
            StartedBroker measured;
            VERIFY_READY(measured);
            idle = residentBytes(measured.pid());
        }
        const std::uint64_t limit = idle + 24 * kMiB;
        StartedBroker broker(limitedTo(limit));
        VERIFY_READY(broker);
        Session consumer = broker.session();
        QVERIFY(consumer);
        constexpr std::uint64_t kQueues = 16;
        for (std::uint64_t i = 0; i < kQueues; ++i) {
            QVERIFY(consumer->declareQueue(queueName(i), {.durable = true}).ok());
        }

        // Small messages to queues at random: such cost the index most.
        support::Random random(1);
        std::string load;
        while (load.size() < 4 * kMiB) {
            load += publishBytes(1, queueName(random.below(kQueues)), "x", false);
        }
        RawPeer other(broker.port()); // does not publish
        QVERIFY(other.open());
        Flood flood(broker.port(), load);
        QTRY_VERIFY_WITH_TIMEOUT(flood.isBlocked(), kLongest);
        qInfo("told after %llu MiB", static_cast<unsigned long long>(flood.sentBytes() / kMiB));
        QVERIFY(peakResidentBytes(broker.pid()) <= limit + kAbove);

        QVERIFY(consumer->qos(100).ok());
        QVERIFY(consumer->consume(queueName(0)).ok());
        for (int i = 0; i < 1'000; ++i) {
            auto next = consumer->next(kPatience);
            QVERIFY(next.ok() && next->has_value());
            QVERIFY(consumer->ack((*next)->deliveryTag).ok());
        }
        QVERIFY(!other.readFrame(0ms)); // only publishers are told
        QCOMPARE(flood.timesUnblocked(), 0);
        const std::uint64_t held = flood.sentBytes();

        for (std::uint64_t i = 0; i < kQueues; ++i) {
            QVERIFY(consumer->purgeQueue(queueName(i)).ok());
        }
        QTRY_VERIFY_WITH_TIMEOUT(flood.timesUnblocked() > 0, kLongest);
        QTRY_VERIFY_WITH_TIMEOUT(flood.sentBytes() > held + kMiB, kLongest);
        flood.stop();
        QCOMPARE(QString::fromStdString(flood.fault()), QString());
        QCOMPARE(QString::fromStdString(flood.reason()), QString("low on memory"));
    }
};

QTEST_GUILESS_MAIN(MemoryBoundTest)
#include "tst_memory_bound.moc"
