// SPDX-License-Identifier: Apache-2.0
// Outbox: order, references, partial sends, and the chunks that come back.
#include "session/outbox.h"

#include "base/limits.h"
#include "support/seed.h"

#include <QTest>

#include <array>
#include <string>

using namespace millrace;
using session::Outbox;
using session::OutboxMemory;

namespace {

// Sends everything in steps of at most `step` bytes; returns what went out.
std::string drain(Outbox& outbox, std::size_t step, std::size_t parts = 4) {
    std::string sent;
    std::vector<base::Bytes> spans(parts);
    while (!outbox.empty()) {
        const std::size_t count = outbox.gather(spans);
        std::size_t left = step;
        for (std::size_t i = 0; i < count && left > 0; ++i) {
            const base::Bytes taken = spans[i].first(std::min(left, spans[i].size()));
            sent.append(base::textOf(taken));
            left -= taken.size();
        }
        outbox.consumed(step - left);
    }
    return sent;
}

} // namespace

class TestOutbox : public QObject {
    Q_OBJECT
  private slots:
    void appendedBytesLeaveInOrder() {
        OutboxMemory memory;
        Outbox outbox(memory);
        outbox.append(base::bytesOf("one "));
        outbox.append(base::bytesOf("two"));
        std::array<base::Bytes, 4> parts;
        QCOMPARE(outbox.gather(parts), std::size_t{1}); // neighbours are one span
        QCOMPARE(std::string(base::textOf(parts[0])), std::string("one two"));
        QCOMPARE(drain(outbox, 3), std::string("one two"));
    }

    void anOwnerLivesUntilItsBytesAreSent() {
        OutboxMemory memory;
        Outbox outbox(memory);
        auto body = std::make_shared<std::string>("body");
        std::weak_ptr<std::string> watch = body;
        outbox.append(base::bytesOf("<"));
        outbox.refer(base::bytesOf(*body), body);
        outbox.append(base::bytesOf(">"));
        body.reset();
        outbox.consumed(4);
        QVERIFY(!watch.expired());
        outbox.consumed(1);
        QVERIFY(watch.expired());
        QCOMPARE(drain(outbox, 1), std::string(">"));
    }

    void whatIsLargerThanAChunkGoesThroughSeveral() {
        OutboxMemory memory;
        Outbox outbox(memory);
        std::string all;
        for (int i = 0; i < 5; ++i) {
            const std::string piece(50'000, static_cast<char>('a' + i));
            outbox.append(base::bytesOf(piece));
            all += piece;
        }
        QCOMPARE(outbox.size(), all.size());
        QVERIFY(drain(outbox, 70'001) == all);
    }

    void reservedRoomCountsOnlyWhenCommitted() {
        OutboxMemory memory;
        Outbox outbox(memory);
        outbox.reserve(100);
        QCOMPARE(outbox.size(), std::size_t{0});
        std::memcpy(outbox.reserve(limits::kOutboxChunkBytes), "abc", 3);
        outbox.commit(3);
        std::memcpy(outbox.reserve(limits::kOutboxChunkBytes), "def", 3); // a new chunk
        outbox.commit(3);
        QCOMPARE(drain(outbox, 2), std::string("abcdef"));
    }

    void randomUseKeepsEveryByte() {
        support::Seed seed(7);
        support::Random random(seed.value());
        OutboxMemory memory;
        Outbox outbox(memory);
        std::string expected;
        std::string sent;
        std::vector<base::Bytes> parts(8);
        for (int step = 0; step < 20'000; ++step) {
            const std::string piece = random.bytes(random.below(random.chance(5) ? 90'000 : 300));
            if (random.chance(20)) {
                auto owner = std::make_shared<std::string>(piece);
                outbox.refer(base::bytesOf(*owner), owner);
            } else {
                outbox.append(base::bytesOf(piece));
            }
            expected += piece;
            const std::size_t count = outbox.gather(parts);
            std::size_t most = random.below(4000);
            std::size_t taken = 0;
            for (std::size_t i = 0; i < count && most > 0; ++i) {
                const base::Bytes span = parts[i].first(std::min(most, parts[i].size()));
                sent.append(base::textOf(span));
                taken += span.size();
                most -= span.size();
            }
            outbox.consumed(taken);
            if (outbox.size() > 500'000) {
                sent += drain(outbox, 64'000);
            }
        }
        sent += drain(outbox, 10'000);
        QVERIFY(sent == expected);
        QCOMPARE(outbox.appended(), static_cast<std::uint64_t>(expected.size()));
        QCOMPARE(memory.held(), std::size_t{0});
    }

    void whatOutboxesHoldIsCountedUntilItIsSent() {
        OutboxMemory memory(3 * limits::kOutboxChunkBytes);
        const auto record = std::make_shared<std::string>(100'000, 'r');
        const base::Bytes whole = base::bytesOf(*record);
        Outbox sent(memory);
        {
            Outbox dropped(memory);
            dropped.append(base::bytesOf("a byte holds its chunk"));
            QCOMPARE(memory.held(), limits::kOutboxChunkBytes);
            dropped.refer(whole.first(5'000), record); // keeps more than itself
            dropped.append(base::bytesOf("head of the next"));
            dropped.refer(whole.subspan(5'000, 5'000), record);
            QCOMPARE(memory.held(), limits::kOutboxChunkBytes + limits::kRecordBytes + 5'000);
            QVERIFY(!memory.isTight());
            sent.refer(whole, record);
            QVERIFY(memory.isTight());
            dropped.consumed(1'000);
        }
        QCOMPARE(memory.held(), whole.size());
        sent.consumed(whole.size());
        QCOMPARE(memory.held(), std::size_t{0});
    }
};

QTEST_APPLESS_MAIN(TestOutbox)
#include "tst_outbox.moc"
