// SPDX-License-Identifier: Apache-2.0
// The delivered mark: logged before deliveries pass it; what may have been seen before a crash
// comes back as redelivered.
#include "unit/engine/engine_fixture.h"

#include "base/limits.h"

#include <QTest>

using namespace millrace;
using namespace millrace::test;

class DeliveredMarkTest : public QObject {
    Q_OBJECT

    static void publishMany(Peer& p, std::size_t count) {
        for (std::size_t i = 0; i < count; ++i) {
            QVERIFY(p.publish("q", std::to_string(i)).ok());
        }
    }
    static std::size_t redelivered(const RecorderClient& client) {
        return static_cast<std::size_t>(
            std::count_if(client.deliveries.begin(), client.deliveries.end(),
                          [](const auto& got) { return got.redelivered; }));
    }
    static RecorderClient& consumeAll(Peer& p, EngineFixture& f) {
        const bool consuming = p.consume("q", "c").ok();
        f.sync();
        p.client.room = consuming ? SIZE_MAX : 0;
        return p.client;
    }

  private slots:
    void aMarkThatAFullLogRefusedIsAskedForAgain() {
        EngineFixture f;
        Peer p(f);
        p.declare("q");
        QVERIFY(p.publish("q", "a").ok());
        f.sync();
        f.durable.refuse(true);
        QVERIFY(p.consume("q", "c").ok());
        f.sync();
        QVERIFY(p.client.bodies().empty());
        f.durable.refuse(false); // nothing else is appended that could move a horizon
        f.sync();
        f.broker->tick();
        f.sync();
        QCOMPARE(p.client.bodies(), std::vector<std::string>{"a"});
    }

    void whatNobodySawIsNotRedeliveredAfterACrash() {
        EngineFixture f;
        {
            Peer p(f);
            p.declare("q");
            publishMany(p, 3000);
            f.sync();
        }
        f.restart();
        Peer p(f);
        QCOMPARE(consumeAll(p, f).deliveries.size(), std::size_t{3000});
        QCOMPARE(redelivered(p.client), std::size_t{0});
    }

    void whatWasDeliveredIsRedeliveredAfterACrash() {
        EngineFixture f;
        {
            Peer p(f);
            p.declare("q");
            publishMany(p, 5000);
            f.sync();
            QVERIFY(p.channel->qos(0, 1500, false).ok());
            QVERIFY(p.consume("q", "c").ok());
            f.sync();
            QCOMPARE(p.client.deliveries.size(), std::size_t{1500});
        }
        f.restart();
        Peer p(f);
        QCOMPARE(consumeAll(p, f).deliveries.size(), std::size_t{5000});
        const std::size_t marked = redelivered(p.client);
        QVERIFY(marked >= 1500);
        QVERIFY(marked <= 1500 + 2 * limits::kDeliveredMarkStep);
        QVERIFY(p.client.deliveries[0].redelivered && p.client.deliveries[1499].redelivered);
    }

    void noDeliveryPassesAMarkThatIsNotSynced() {
        EngineFixture f;
        Peer p(f);
        p.declare("q");
        publishMany(p, 100);
        f.sync();
        QVERIFY(p.consume("q", "c").ok());
        f.turn();
        QVERIFY(p.client.deliveries.empty()); // the mark is in the log, not on disk
        f.durable.advanceAll();
        f.turn();
        QCOMPARE(p.client.deliveries.size(), std::size_t{100});
    }

    void withAConsumerTheMarkGoesWithThePublishAndCostsNoSyncOfItsOwn() {
        EngineFixture f;
        Peer p(f);
        p.declare("q");
        QVERIFY(p.consume("q", "c").ok());
        f.sync();
        publishMany(p, 5000);
        f.turn();
        f.durable.advanceAll();
        f.turn();
        QCOMPARE(p.client.deliveries.size(), std::size_t{5000});
    }

    void orderlyStopIsExact() {
        EngineFixture f;
        f.checkpoints = true;
        f.store();
        f.restart();
        {
            Peer p(f);
            p.declare("q");
            publishMany(p, 100);
            f.sync();
            QVERIFY(p.channel->qos(0, 7, false).ok());
            QVERIFY(p.consume("q", "c").ok());
            f.sync();
            p.ack(1);
            p.ack(3);
            f.sync();
        }
        int turns = 0;
        while (!f.broker->checkpointedForStop() && ++turns < 100) {
            f.sync();
            f.store();
        }
        QVERIFY(turns < 100);
        f.restart();
        QCOMPARE(f.pages.replayFrom(), f.durable.appended() + 1); // nothing to replay
        Peer p(f);
        QCOMPARE(consumeAll(p, f).deliveries.size(), std::size_t{98});
        QCOMPARE(redelivered(p.client), std::size_t{7}); // 9 were out, 2 acked
        QCOMPARE(p.client.deliveries[6].body, std::string("8"));
        QVERIFY(p.client.deliveries[6].redelivered && !p.client.deliveries[7].redelivered);
    }
};

QTEST_APPLESS_MAIN(DeliveredMarkTest)
#include "tst_delivered_mark.moc"
