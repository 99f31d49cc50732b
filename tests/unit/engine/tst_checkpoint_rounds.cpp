// SPDX-License-Identifier: Apache-2.0
// When a round of the checkpoint is due, what it lets the log forget, and what it waits for.
#include "unit/engine/engine_fixture.h"

#include "base/limits.h"

#include <QTest>

using namespace millrace;
using namespace millrace::test;

class CheckpointRoundsTest : public QObject {
    Q_OBJECT

    static std::unique_ptr<EngineFixture> withPages() {
        auto f = std::make_unique<EngineFixture>();
        f->checkpoints = true;
        f->store();
        f->restart();
        return f;
    }
    static std::vector<std::string> drain(EngineFixture& f, std::string_view queue) {
        Peer p(f);
        const auto consuming = p.consume(queue, "c");
        f.sync();
        return consuming.ok() ? p.client.bodies() : std::vector<std::string>{};
    }

  private slots:
    void aFinishedRoundMakesTheLogsStartForgettable() {
        auto f = withPages();
        Peer p(*f);
        p.declare("q");
        QVERIFY(p.publish("q", "kept").ok());
        for (int i = 0; i < 50; ++i) {
            QVERIFY(p.publish("q", std::string(60'000, 'x')).ok());
        }
        QVERIFY(p.consume("q", "c").ok());
        f->sync();
        for (std::uint64_t tag = 2; tag <= 51; ++tag) {
            p.ack(tag);
        }
        f->round();
        QVERIFY(p.publish("q", "more").ok());
        f->round(); // the log is kept for the round before, too
        QVERIFY(f->pages.replayFrom() > 50);
        QVERIFY(f->durable.records() < 10); // one unacked message pins only its own record
        p.channel.reset();
        p.connection.reset();
        f->restart();
        QCOMPARE(drain(*f, "q"), (std::vector<std::string>{"kept", "more"}));
    }

    void onAShortDiskTheLogsStartIsForgettableAtOnce() {
        auto f = withPages();
        Peer p(*f);
        p.declare("q");
        f->round();
        for (int i = 0; i < 50; ++i) {
            QVERIFY(p.publish("q", std::string(60'000, 'x')).ok());
        }
        f->sync();
        p.purge("q");
        f->sync();
        f->clock.advance(limits::kHurriedCheckpoint);
        f->broker->tick();
        f->sync();
        QVERIFY(f->durable.records() > 50); // an ordinary round is not due yet
        f->broker->hurryCheckpoints(true);
        for (int i = 0; i < 2; ++i) { // without anything new in the log
            f->clock.advance(limits::kHurriedCheckpoint);
            f->broker->tick();
            f->sync();
        }
        QVERIFY(f->durable.records() < 10);
        const std::size_t rounds = f->pages.rounds;
        f->clock.advance(limits::kHurriedCheckpoint);
        f->broker->tick();
        QCOMPARE(f->pages.rounds, rounds); // nothing more to gain
    }

    void aRoundGoesOnBesideTurnsThatHaveNoTimeForIt() {
        auto f = withPages();
        Peer p(*f);
        for (int i = 0; i < 100; ++i) {
            p.declare("q" + std::to_string(i));
            QVERIFY(p.publish("q" + std::to_string(i), "a").ok());
        }
        f->sync();
        f->store();
        const std::size_t before = f->pages.rounds;
        f->clock.advance(std::chrono::minutes(1));
        f->clock.eachLookTakes(limits::kSliceTime * 2);
        for (int i = 0; i < 50; ++i) {
            f->broker->endTurn();
        }
        QCOMPARE(f->pages.rounds, before + 1);
    }

    void aRoundWithoutPagesWaitsForTheLogToo() {
        auto f = withPages();
        Peer p(*f);
        p.declare("q");
        f->round();
        QVERIFY(p.channel->beginBody(100).ok());
        QVERIFY(p.channel->bodyPiece(base::bytesOf("half of it")).ok()); // changes no page
        f->clock.advance(std::chrono::minutes(1));
        f->turn();
        f->turn();
        QVERIFY(f->pages.finished() <= f->durable.horizons().synced + 1);
        p.channel.reset();
        p.connection.reset();
        f->restart(); // takes the piece, whose number is used again
        {
            Peer again(*f);
            QVERIFY(again.publish("q", "a").ok());
            f->sync();
        }
        f->restart();
        QCOMPARE(drain(*f, "q"), std::vector<std::string>{"a"});
    }

    void aPageKnowsNothingOfARecordThatIsStillOpen() {
        auto f = withPages();
        {
            Peer p(*f);
            p.declare("q");
            QVERIFY(p.publish("q", "a").ok());
            f->sync();
            f->store();
            f->clock.advance(std::chrono::minutes(1));
            QVERIFY(f->broker->deleteQueue(*p.connection, "/", "q", false, false).ok());
            f->broker->tick(); // a round is due, in the middle of the turn
            f->durable.advanceAll();
            f->durable.harvest();
            f->broker->tick();
        }
        f->restart(); // the delete never reached the log
        QCOMPARE(drain(*f, "q"), (std::vector<std::string>{"a"}));
    }
};

QTEST_APPLESS_MAIN(CheckpointRoundsTest)
#include "tst_checkpoint_rounds.moc"
