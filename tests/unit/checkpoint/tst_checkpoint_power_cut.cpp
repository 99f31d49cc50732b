// SPDX-License-Identifier: Apache-2.0
// The power goes at every sync point: what comes back is exactly a finished round, and never one
// older than the last that was told.
#include "checkpoint_fixture.h"

#include "log/checkpoint_format.h"
#include "support/seed.h"

#include <QTest>

#include <vector>

using namespace millrace;
using namespace millrace::checkpoint_tests;
using support::FaultyFiles;
using support::Keep;

namespace {

struct Moment {
    support::FaultyDisk disk;
    base::LogIndex finished;
};

// One life of the store: random rounds, with the disk as it would be if the power went at each
// sync.
class Life {
  public:
    Life(FaultyFiles& files, std::map<base::LogIndex, Pages>& history, std::uint64_t seed)
        : files_(files), history_(history), random_(seed) {}

    void run(int rounds) {
        OpenStore store(files_);
        MILLRACE_CHECK(store.isOpen());
        base::LogIndex round = history_.rbegin()->first;
        Pages pages = history_.at(store->replayFrom());
        std::uint64_t keepSeed = random_.next();
        files_.onSync([&, keepSeed](const std::string&) mutable {
            const base::LogIndex told = store->finished();
            moments.push_back({files_.afterPowerCut({Keep::What::sectors, ++keepSeed}), told});
            moments.push_back({files_.afterPowerCut(), told});
        });
        store->start();
        for (int i = 0; i < rounds; ++i) {
            changeSome(store, pages);
            history_[++round] = pages;
            MILLRACE_CHECK(store.finish(round));
        }
        changeSome(store, pages);
        MILLRACE_CHECK(store->stop().ok());
        files_.onSync({});
    }
    std::vector<Moment> moments;

  private:
    void changeSome(OpenStore& store, Pages& pages) {
        for (std::uint64_t n = random_.below(12); n > 0; --n) {
            const std::uint64_t object = random_.below(30);
            if (random_.chance(25)) {
                store->drop(keyOf(object));
                pages.erase(keyOf(object));
                continue;
            }
            const std::size_t size = random_.chance(10) ? 300'000 : 3'000;
            const std::string bytes = random_.bytes(random_.below(size));
            store.put(object, bytes);
            pages[keyOf(object)] = bytes;
        }
    }

    FaultyFiles& files_;
    std::map<base::LogIndex, Pages>& history_;
    support::Random random_;
};

} // namespace

class TestCheckpointPowerCut : public QObject {
    Q_OBJECT

  private slots:
    void everySyncPointComesBackAsAFinishedRound() {
        const support::Seed seed(20);
        support::Random random(seed.value());
        for (int i = 0; i < 2; ++i) {
            FaultyFiles files;
            std::map<base::LogIndex, Pages> history{{1, {}}};
            Life life(files, history, random.next());
            life.run(8);
            QVERIFY(life.moments.size() > 30);
            for (Moment& moment : life.moments) {
                FaultyFiles after(std::move(moment.disk));
                OpenStore store(after);
                QVERIFY2(store.isOpen(), store.refusal().text.c_str());
                QVERIFY(store->replayFrom() >= moment.finished);
                QCOMPARE(store.load(), history.at(store->replayFrom()));
            }
        }
    }

    // Large pages, so that segments are recycled all the time.
    void theRoundBeforeIsWholeWheneverTheNewestIsNot() {
        const support::Seed seed(22);
        support::Random random(seed.value());
        FaultyFiles files;
        OpenStore store(files);
        store->start();
        Pages pages;
        Pages before;
        for (base::LogIndex round = 2; round < 30; ++round) {
            before = pages;
            for (std::uint64_t n = random.below(8); n > 0; --n) {
                const std::uint64_t object = random.below(8);
                const std::string bytes = random.bytes(random.below(1'000'000));
                store.put(object, bytes);
                pages[keyOf(object)] = bytes;
            }
            QVERIFY(store.finish(round));
            FaultyFiles after(files.afterPowerCut());
            // The slots take turns, beginning with the first.
            after.flipBit("cp/roots", round % 2 == 0 ? 100 : log::kRootSlotBytes + 100);
            OpenStore old(after);
            QVERIFY2(old.isOpen(), old.refusal().text.c_str());
            QCOMPARE(old->replayFrom(), round - 1);
            QCOMPARE(old.load(), before);
        }
    }

    void aSecondLifeIsCutAsWell() {
        const support::Seed seed(21);
        support::Random random(seed.value());
        for (int i = 0; i < 5; ++i) {
            auto files = std::make_unique<FaultyFiles>();
            std::map<base::LogIndex, Pages> history{{1, {}}};
            for (int lives = 0; lives < 5; ++lives) {
                Life life(*files, history, random.next());
                life.run(3);
                Moment& moment = life.moments[random.below(life.moments.size())];
                FaultyFiles after(moment.disk.afterPowerCut());
                OpenStore store(after);
                QVERIFY2(store.isOpen(), store.refusal().text.c_str());
                QVERIFY(store->replayFrom() >= moment.finished);
                const base::LogIndex round = store->replayFrom();
                QCOMPARE(store.load(), history.at(round));
                history = {{round, history.at(round)}};
                files = std::make_unique<FaultyFiles>(std::move(moment.disk));
            }
        }
    }
};

QTEST_APPLESS_MAIN(TestCheckpointPowerCut)
#include "tst_checkpoint_power_cut.moc"
