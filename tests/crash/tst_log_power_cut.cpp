// SPDX-License-Identifier: Apache-2.0
// The power goes at every sync point of the log and at random points between: everything reported
// synced is there, in order, and nothing that was cut off ever comes back.
#include "crash/log_lineage.h"

#include "base/diagnostics.h"
#include "support/faulty_files.h"
#include "support/seed.h"

#include <QTest>

#include <atomic>
#include <memory>
#include <mutex>

using namespace millrace;
using crash_tests::Lineage;
using log::LogFixture;
using support::FaultyFiles;
using support::Keep;
using support::Random;

namespace {

struct Moment {
    support::FaultyDisk disk;
    base::LogIndex told;
};

// One life of a log, which grows the lineage and collects moments at which the power could go.
class Life {
  public:
    Life(FaultyFiles& files, Lineage& lineage, std::uint64_t seed)
        : files_(files), lineage_(lineage), random_(seed), fixture_(files, log::smallLog()) {
        files_.onSync([this, keep = seed](const std::string&) mutable {
            const base::LogIndex told = told_.load();
            collect({Keep::What::sectors, ++keep}, told);
            collect({}, told);
        });
    }
    ~Life() {
        fixture_.close();
        files_.onSync({});
    }

    std::string open() { return fixture_.open(); }
    const std::vector<log::Seen>& seen() const { return fixture_.seen; }

    void step() {
        for (std::uint64_t turns = random_.between(1, 4); turns > 0; --turns) {
            for (std::uint64_t n = random_.below(20); n > 0; --n) {
                std::string payload = lineage_.nextPayload(random_);
                const auto waiting =
                    random_.chance(70) ? log::Waiting::somebody : log::Waiting::nobody;
                const base::MessageId id = fixture_.append(payload, 1, {7, 9}, waiting);
                MILLRACE_CHECK(id);
                lineage_.add(id, std::move(payload));
            }
            fixture_.log().submit();
            harvest();
        }
        if (random_.chance(30)) {
            MILLRACE_CHECK(fixture_.sync());
        }
        if (random_.chance(20)) {
            fixture_.clock.advance(std::chrono::milliseconds(random_.below(300)));
            fixture_.log().tick(); // marks of an idle log, spares
        }
        harvest();
        collect({Keep::What::sectors, random_.next()}, told_.load());
    }

    std::vector<Moment> takeMoments() {
        const std::lock_guard lock(mutex_);
        return std::move(moments_);
    }

  private:
    void harvest() {
        fixture_.log().harvest();
        told_ = fixture_.log().horizons().synced;
    }
    void collect(Keep keep, base::LogIndex told) {
        support::FaultyDisk disk = files_.afterPowerCut(keep);
        const std::lock_guard lock(mutex_);
        moments_.push_back({std::move(disk), told});
    }

    FaultyFiles& files_;
    Lineage& lineage_;
    Random random_;
    LogFixture fixture_;
    std::atomic<base::LogIndex> told_{0};
    std::mutex mutex_;
    std::vector<Moment> moments_;
};

std::string openTexts(LogFixture& fixture, std::vector<std::string>& texts) {
    const std::string wrong = fixture.open();
    texts = fixture.payloads();
    return wrong;
}

// Cut, found, cut again at the same place, used, cut again: the same, and what came new, and
// nothing else.
std::string cutAgain(FaultyFiles& files, std::uint64_t seed) {
    std::vector<std::string> first;
    std::vector<std::string> again;
    LogFixture fixture(files, log::smallLog());
    if (std::string wrong = openTexts(fixture, first); !wrong.empty()) {
        return wrong;
    }
    fixture.close();
    files.crash({Keep::What::sectors, seed});
    if (std::string wrong = openTexts(fixture, again); !wrong.empty()) {
        return wrong;
    }
    if (again != first) {
        return "cut again at the same place: " + std::to_string(first.size()) + " entries, then " +
               std::to_string(again.size());
    }
    if (!fixture.appendSynced("new")) {
        return "no append after recovery";
    }
    fixture.close();
    files.crash({Keep::What::sectors, seed + 1});
    if (std::string wrong = openTexts(fixture, again); !wrong.empty()) {
        return wrong;
    }
    first.push_back("new");
    return again == first ? std::string() : "after a new entry and a cut it shows something else";
}

} // namespace

class TestLogPowerCut : public QObject {
    Q_OBJECT

  private:
    std::uint64_t moments_ = 0;

    void verify(std::vector<Moment> moments, const Lineage& lineage, Random& random) {
        for (Moment& moment : moments) {
            ++moments_;
            FaultyFiles after(std::move(moment.disk));
            {
                LogFixture fixture(after, log::smallLog());
                const std::string opened = fixture.open();
                QVERIFY2(opened.empty(), opened.c_str());
                const std::string wrong = lineage.check(fixture.seen, moment.told);
                QVERIFY2(wrong.empty(), wrong.c_str());
            }
            if (random.chance(30)) {
                const std::string wrong = cutAgain(after, random.next());
                QVERIFY2(wrong.empty(), wrong.c_str());
            }
        }
    }

  private slots:
    void initTestCase() { base::setDiagnosticsLevel(base::Severity::error); }

    void whatWasToldSyncedIsThereAndNothingCutOffComesBack() {
        const support::Seed seed(20240601);
        Random random(seed.value());
        for (int lineages = 0; lineages < 2; ++lineages) {
            auto files = std::make_unique<FaultyFiles>();
            Lineage lineage;
            for (int lives = 0; lives < 4; ++lives) {
                Moment last;
                {
                    Life life(*files, lineage, random.next());
                    const std::string opened = life.open();
                    QVERIFY2(opened.empty(), opened.c_str());
                    lineage.keepFirst(life.seen().size());
                    for (int steps = 0; steps < 5; ++steps) {
                        life.step();
                        std::vector<Moment> moments = life.takeMoments();
                        const Moment& one = moments[random.below(moments.size())];
                        last = {one.disk.afterPowerCut({Keep::What::everything, 0}), one.told};
                        verify(std::move(moments), lineage, random);
                        if (QTest::currentTestFailed()) {
                            return;
                        }
                    }
                }
                files = std::make_unique<FaultyFiles>(std::move(last.disk));
            }
        }
        QVERIFY(moments_ > 100);
    }

    // Opening writes too (it seals what it found): the power may go there, again and again.
    void theCutDuringRecoveryChangesNothing() {
        const support::Seed seed(77);
        Random random(seed.value());
        for (int i = 0; i < 6; ++i) {
            FaultyFiles files;
            Lineage lineage;
            std::vector<Moment> moments;
            {
                Life life(files, lineage, random.next());
                QVERIFY(life.open().empty());
                for (int steps = 0; steps < 3; ++steps) {
                    life.step();
                }
                moments = life.takeMoments();
            }
            Moment& chosen = moments[random.below(moments.size())];
            FaultyFiles after(std::move(chosen.disk));
            std::vector<support::FaultyDisk> during;
            std::mutex mutex;
            std::uint64_t keep = random.next();
            after.onSync([&](const std::string&) {
                support::FaultyDisk torn = after.afterPowerCut({Keep::What::sectors, ++keep});
                const std::lock_guard lock(mutex);
                during.push_back(std::move(torn));
                during.push_back(after.afterPowerCut());
            });
            std::vector<std::string> expected;
            {
                LogFixture fixture(after, log::smallLog());
                const std::string opened = openTexts(fixture, expected);
                QVERIFY2(opened.empty(), opened.c_str());
                QVERIFY(fixture.sparesAreReady(2));
            }
            QVERIFY(!during.empty());
            for (support::FaultyDisk& disk : during) {
                FaultyFiles second(std::move(disk));
                std::vector<std::string> texts;
                LogFixture fixture(second, log::smallLog());
                const std::string opened = openTexts(fixture, texts);
                QVERIFY2(opened.empty(), opened.c_str());
                QCOMPARE(texts, expected);
            }
        }
    }
};

QTEST_APPLESS_MAIN(TestLogPowerCut)
#include "tst_log_power_cut.moc"
