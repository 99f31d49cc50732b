// SPDX-License-Identifier: Apache-2.0
// Checkpoint and recovery: pages plus the log from the replay start are the same state as the whole
// log, whenever the power goes.
#include "unit/engine/engine_fixture.h"

#include "base/limits.h"
#include "support/seed.h"

#include <QTest>

#include <set>

using namespace millrace;
using namespace millrace::test;

class CheckpointerTest : public QObject {
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
    void aRoundWaitsForTheCatalogStore() {
        auto f = withPages();
        Peer p(*f);
        p.declare("q");
        QVERIFY(p.publish("q", "a").ok());
        f->sync();
        const base::LogIndex declared = f->durable.appended();
        f->clock.advance(std::chrono::minutes(1));
        f->broker->tick();
        f->sync();
        QVERIFY(f->pages.rounds > 0);
        QVERIFY(f->pages.finished() <= declared); // the store does not have the queue yet
        p.channel.reset();
        p.connection.reset();
        f->restart();
        QCOMPARE(drain(*f, "q"), std::vector<std::string>{"a"});
    }

    void aPageIsPutOnlyWhenItsIndexIsSynced() {
        auto f = withPages();
        Peer p(*f);
        p.declare("q");
        f->sync();
        f->store();
        QVERIFY(p.publish("q", "a").ok());
        f->clock.advance(std::chrono::minutes(1));
        const auto before = f->pages.puts;
        f->turn();
        f->broker->tick();
        f->turn();
        QCOMPARE(f->pages.puts, before);
        f->sync();
        QVERIFY(f->pages.puts > before);
    }

    void aBusyStoreDelaysTheRoundAndNothingElse() {
        auto f = withPages();
        Peer p(*f);
        p.declare("q");
        QVERIFY(p.publish("q", "a").ok());
        f->pages.open = false;
        f->round();
        QCOMPARE(f->pages.puts, std::size_t{0});
        QVERIFY(!f->broker->hasWork());
        f->pages.open = true;
        f->sync();
        f->broker->tick();
        f->sync();
        QVERIFY(f->pages.puts > 0);
    }

    void pagesOfADeletedQueueAreDropped() {
        auto f = withPages();
        {
            Peer p(*f);
            p.declare("q");
            for (int i = 0; i < 1000; ++i) {
                QVERIFY(p.publish("q", "m").ok());
            }
            f->round();
            QVERIFY(f->pages.pages() > 0);
            QVERIFY(f->broker->deleteQueue(*p.connection, "/", "q", false, false).ok());
            f->round();
            f->round();
        }
        QCOMPARE(f->pages.pages(), std::size_t{0});
        QCOMPARE(f->durable.heldEntries(), 0U);
    }

    void pagesOfAQueueThatWentUnnoticedAreDroppedLater() {
        auto f = withPages();
        {
            Peer p(*f);
            p.declare("q");
            QVERIFY(p.publish("q", "m").ok());
            f->round();
            QVERIFY(f->broker->deleteQueue(*p.connection, "/", "q", false, false).ok());
            f->sync();
            f->store();
        }
        f->restart();
        QVERIFY(f->pages.pages() > 0);
        f->broker->putVhost({"other"});
        f->round();
        QCOMPARE(f->pages.pages(), std::size_t{0});
    }

    void largeMessagesHavePages() {
        auto f = withPages();
        const std::string body(2 * limits::kBodyPieceBytes, 'b');
        {
            Peer p(*f);
            p.declare("q");
            QVERIFY(p.channel->beginBody(body.size()).ok());
            for (int i = 0; i < 2; ++i) {
                const auto half = std::string_view(body).substr(0, limits::kBodyPieceBytes);
                QVERIFY(p.channel->bodyPiece(base::bytesOf(half)).ok());
            }
            const std::string properties = persistentProperties();
            Channel::Publish publish;
            publish.routingKey = "q";
            publish.properties = base::bytesOf(properties);
            publish.bodySize = body.size();
            publish.largeBody = true;
            QVERIFY(p.channel->publish(publish).ok());
            f->round();
            QVERIFY(p.publish("q", "small").ok());
            f->round();
        }
        QVERIFY(f->pages.replayFrom() > 3);
        f->restart();
        QCOMPARE(f->durable.heldEntries(), 4U);
        Peer p(*f);
        QVERIFY(p.consume("q", "c").ok());
        f->sync();
        QVERIFY(p.client.deliveries[0].body == body);
        p.ack(0, true);
        f->round();
        QCOMPARE(f->durable.heldEntries(), 0U);
    }

    // Random publishes, acks, purges, declares and deletes of a few queues; rounds and power cuts
    // in between. What an oracle of confirmed publishes and synced acks says must be there is
    // there, in order, and nothing else.
    void randomWorkWithPowerCuts_data() {
        QTest::addColumn<quint64>("number");
        for (quint64 i = 1; i <= 12; ++i) {
            QTest::addRow("%llu", i) << i;
        }
    }
    void randomWorkWithPowerCuts();
};

namespace {

struct Oracle {
    std::map<std::string, std::set<int>> queues; // synced contents, by number of publish
};

class RandomWork {
  public:
    RandomWork(EngineFixture& fixture, std::uint64_t seed) : f_(fixture), random_(seed) {}

    void life() {
        Peer p(f_);
        peer_ = &p;
        consuming_.clear();
        for (int step = 0; step < 60; ++step) {
            act();
            if (random_.chance(30)) {
                settled();
            }
            if (random_.chance(15)) {
                f_.clock.advance(std::chrono::minutes(1));
                f_.broker->tick();
            }
        }
        settled();
    }
    // Everything is synced here, so what the oracle says is exact.
    void settled() {
        f_.sync();
        if (random_.chance(60)) {
            f_.store();
        }
        const auto differences = f_.durable.differencesToNeeded();
        QVERIFY2(differences.empty(), differences.empty() ? "" : differences[0].c_str());
    }
    void check() {
        for (const auto& [name, numbers] : oracle_.queues) {
            Peer p(f_);
            QVERIFY2(p.consume(name, "check").ok(), name.c_str());
            f_.sync();
            std::vector<std::string> expected;
            for (const int number : numbers) {
                expected.push_back(std::to_string(number));
            }
            QCOMPARE(p.client.bodies(), expected);
        }
    }

  private:
    void act() {
        const std::string name = "q" + std::to_string(random_.below(3));
        switch (random_.below(10)) {
        case 0:
            peer_->declare(name);
            oracle_.queues[name];
            bind(name);
            break;
        case 1:
            if (random_.chance(20) && oracle_.queues.erase(name) > 0) {
                QVERIFY(f_.broker->deleteQueue(*peer_->connection, "/", name, false, false).ok());
                consuming_.erase(name);
                noteDeliveries();
                for (auto& [tag, out] : out_) { // acks of them stay valid and do nothing
                    out.first = out.first == name ? "" : out.first;
                }
            }
            break;
        case 2:
            purge(name);
            break;
        case 3:
        case 4:
            settle();
            break;
        case 5:
            if (oracle_.queues.contains(name) && consuming_.insert(name).second) {
                QVERIFY(peer_->channel
                            ->qos(0, static_cast<std::uint16_t>(random_.between(1, 40)), false)
                            .ok());
                QVERIFY(peer_->consume(name, name).ok());
            }
            break;
        default:
            publish(random_.chance(30) ? "" : name);
        }
    }
    void bind(const std::string& name) {
        QVERIFY(f_.broker->bind(*peer_->connection, {"/", "amq.fanout", name, "", false, {}}).ok());
    }
    void purge(const std::string& name) {
        if (!oracle_.queues.contains(name) || !random_.chance(30)) {
            return;
        }
        // Quiet first, so that the test knows what is out.
        f_.sync();
        peer_->purge(name);
        noteDeliveries();
        std::set<int> kept;
        for (const auto& [tag, out] : out_) {
            if (out.first == name) {
                kept.insert(out.second);
            }
        }
        oracle_.queues[name] = kept;
    }
    void publish(const std::string& name) {
        for (std::uint64_t count = random_.between(1, 30); count > 0; --count) {
            const int number = ++published_;
            QVERIFY(
                peer_->publish(name, std::to_string(number), true, name.empty() ? "amq.fanout" : "")
                    .ok());
            for (auto& [queue, numbers] : oracle_.queues) {
                if (name.empty() || queue == name) {
                    numbers.insert(number);
                }
            }
        }
    }
    void noteDeliveries() {
        auto& deliveries = peer_->client.deliveries;
        for (const auto& got : deliveries) {
            out_[got.deliveryTag] = {got.tag, std::stoi(got.body)};
        }
        deliveries.clear();
    }
    void settle() {
        noteDeliveries();
        if (out_.empty()) {
            return;
        }
        auto at = std::next(out_.begin(), static_cast<std::ptrdiff_t>(random_.below(out_.size())));
        if (random_.chance(25)) {
            QVERIFY(peer_->channel->settle(at->first, false, Settlement::requeue).ok());
            out_.erase(at);
            return;
        }
        const bool multiple = random_.chance(30);
        peer_->ack(at->first, multiple);
        const auto from = multiple ? out_.begin() : at;
        for (auto acked = from; acked != std::next(at); ++acked) {
            const auto queue = oracle_.queues.find(acked->second.first);
            if (queue != oracle_.queues.end()) {
                queue->second.erase(acked->second.second);
            }
        }
        out_.erase(from, std::next(at));
    }

    EngineFixture& f_;
    support::Random random_;
    Oracle oracle_;
    Peer* peer_ = nullptr;
    std::set<std::string> consuming_;
    std::map<std::uint64_t, std::pair<std::string, int>> out_; // unacked: tag -> queue, number
    int published_ = 0;

  public:
    void newLife() { out_.clear(); }
};

} // namespace

void CheckpointerTest::randomWorkWithPowerCuts() {
    QFETCH(quint64, number);
    support::Seed seed(0xC0FFEE + number);
    auto f = withPages();
    RandomWork work(*f, seed.value());
    for (int life = 0; life < 8 && !QTest::currentTestFailed(); ++life) {
        work.newLife();
        work.life();
        f->restart();
        work.check();
    }
}

QTEST_APPLESS_MAIN(CheckpointerTest)
#include "tst_checkpointer.moc"
