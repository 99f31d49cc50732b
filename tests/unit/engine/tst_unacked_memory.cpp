// SPDX-License-Identifier: Apache-2.0
// All unacked deliveries together have one bound of memory.
#include "unit/engine/engine_fixture.h"

#include "base/limits.h"

#include <QTest>

using namespace millrace;
using namespace millrace::test;

class UnackedMemoryTest : public QObject {
    Q_OBJECT

  private slots:
    void whereUnackedMemoryIsTightAConsumerMustAckFirst() {
        EngineFixture f;
        f.options.unackedBytes = 64 * 1024;
        f.start(catalog::Snapshot{});
        f.broker->putVhost({"/"});
        f.sync();
        constexpr int kMessages = 10'000;
        constexpr auto kTight = static_cast<std::size_t>(limits::kTightUnacked);
        Peer hoarder(f);
        Peer other(f); // taking turns makes every delivery an entry of its own
        Peer modest(f);
        hoarder.declare("q");
        QVERIFY(hoarder.consume("q", "h").ok() && other.consume("q", "o").ok());
        for (int i = 0; i < kMessages; ++i) {
            QVERIFY(hoarder.publish("q", std::to_string(i), false).ok());
        }
        f.turn();
        QVERIFY(hoarder.client.deliveries.size() >= kTight);
        QVERIFY(hoarder.client.deliveries.size() < 2 * kTight);
        QVERIFY(hoarder.ready("q") > kMessages / 2);

        QVERIFY(modest.consume("q", "m").ok()); // who has little outstanding is served
        for (int i = 0; i < 3'000; ++i) {
            f.turn();
            modest.ack(0, true);
        }
        QVERIFY(modest.client.deliveries.size() > 2'000);
        QVERIFY(modest.channel->cancel("m").ok());

        const std::size_t before = hoarder.client.deliveries.size();
        other.channel.reset(); // its memory is free: the hoarder goes on without an ack
        f.turn();
        f.broker->tick();
        f.turn();
        QVERIFY(hoarder.client.deliveries.size() > before);
        for (int i = 0; i < 20; ++i) {
            hoarder.ack(0, true);
            f.turn();
        }
        QCOMPARE(hoarder.ready("q"), std::uint64_t{0}); // acks bring the rest
    }
};

QTEST_APPLESS_MAIN(UnackedMemoryTest)
#include "tst_unacked_memory.moc"
