// SPDX-License-Identifier: Apache-2.0
// Segments are recycled and compacted while the power goes at every sync point: whatever is still
// held can be read afterwards, and what lies at or above the replay start is shown again in order.
#include "crash/log_lineage.h"

#include "base/diagnostics.h"
#include "support/faulty_files.h"
#include "support/seed.h"

#include <QTest>

#include <map>
#include <mutex>
#include <set>

using namespace millrace;
using log::LogFixture;
using support::FaultyFiles;
using support::Keep;
using support::Random;

namespace {

// What a checkpoint would know: what is held, and from where the log must be replayed.
struct Knowledge {
    std::map<base::MessageId, std::string> held;
    base::LogIndex covered = 1;
    base::LogIndex told = 0;
};

struct Moment {
    support::FaultyDisk disk;
    Knowledge knowledge;
};

class Life {
  public:
    Life(FaultyFiles& files, std::uint64_t seed)
        : files_(files), random_(seed), fixture_(files, log::smallLog()) {
        fixture_.stillNeeded = [this](const base::MessageId& id) {
            return now_.held.count(id) != 0 || releasedLater_.count(id) != 0;
        };
        files_.onSync([this, keep = seed](const std::string&) mutable {
            collect({Keep::What::sectors, ++keep});
        });
    }
    ~Life() {
        fixture_.close();
        files_.onSync({});
    }
    bool open() { return fixture_.open().empty(); }

    void step() {
        for (int n = 0; n < 12; ++n) {
            std::string payload =
                std::to_string(++made_) + ":" + random_.bytes(random_.below(30'000));
            const base::MessageId id = fixture_.append(payload);
            MILLRACE_CHECK(id);
            now_.held.emplace(id, std::move(payload));
        }
        MILLRACE_CHECK(fixture_.sync());
        checkpoint();
        releaseSome();
        for (int n = 0; n < 10; ++n) {
            fixture_.clock.advance(std::chrono::milliseconds(500));
            fixture_.log().tick();
            fixture_.log().harvest();
        }
        collect({Keep::What::sectors, random_.next()});
    }
    log::Statistics statistics() { return fixture_.log().statistics(); }
    std::vector<Moment> takeMoments() {
        const std::lock_guard lock(mutex_);
        return std::move(moments_);
    }

  private:
    // Everything so far is in the checkpoint; only then may the log forget.
    void checkpoint() {
        for (const base::MessageId& id : releasedLater_) {
            fixture_.log().release(id, 1, 1);
        }
        releasedLater_.clear();
        now_.told = fixture_.log().horizons().synced;
        now_.covered = now_.told + 1;
        {
            const std::lock_guard lock(mutex_);
            safe_ = now_;
        }
        fixture_.log().covered(now_.covered);
    }
    // Known to be released with the next checkpoint.
    void releaseSome() {
        for (auto at = now_.held.begin(); at != now_.held.end();) {
            if (random_.chance(60)) {
                releasedLater_.insert(at->first);
                at = now_.held.erase(at);
            } else {
                ++at;
            }
        }
    }
    void collect(Keep keep) {
        const std::lock_guard lock(mutex_);
        Knowledge known = safe_;
        moments_.push_back({files_.afterPowerCut(keep), std::move(known)});
    }

    FaultyFiles& files_;
    Random random_;
    std::uint64_t made_ = 0;
    Knowledge now_;
    std::set<base::MessageId> releasedLater_;
    std::mutex mutex_;
    Knowledge safe_; // of the last checkpoint; guarded by mutex_
    std::vector<Moment> moments_;
    LogFixture fixture_; // last: its threads end first
};

std::string readBack(Moment& moment) {
    FaultyFiles after(std::move(moment.disk));
    LogFixture fixture(after, log::smallLog());
    const Knowledge& known = moment.knowledge;
    if (std::string wrong = fixture.open(known.covered); !wrong.empty()) {
        return wrong;
    }
    for (const log::Seen& entry : fixture.seen) {
        if (entry.damaged) {
            return "record " + std::to_string(entry.id.record) + " is damaged";
        }
    }
    std::vector<base::MessageId> ids;
    for (const auto& [id, payload] : known.held) {
        fixture.log().hold(id, 1, 1);
        ids.push_back(id);
    }
    const std::vector<log::Stored> stored = fixture.fetch(ids);
    for (std::size_t i = 0; i < ids.size(); ++i) {
        const std::string where = std::to_string(ids[i].record) + "." + std::to_string(ids[i].slot);
        if (i >= stored.size() || stored[i].damaged) {
            return where + " is held and cannot be read";
        }
        if (log::textOf(stored[i]) != known.held.at(ids[i])) {
            return where + " is not as appended";
        }
    }
    return {};
}

} // namespace

class TestLogReclaimCut : public QObject {
    Q_OBJECT

  private slots:
    void initTestCase() { base::setDiagnosticsLevel(base::Severity::error); }

    void whatIsHeldSurvivesReclaimAtEverySyncPoint() {
        const support::Seed seed(31);
        Random random(seed.value());
        for (int lives = 0; lives < 2; ++lives) {
            FaultyFiles files;
            Life life(files, random.next());
            QVERIFY(life.open());
            for (int steps = 0; steps < 25; ++steps) {
                life.step();
                for (Moment& moment : life.takeMoments()) {
                    const std::string wrong = readBack(moment);
                    QVERIFY2(wrong.empty(), wrong.c_str());
                }
            }
            QVERIFY(life.statistics().reclaimedSegments > 0);
        }
    }
};

QTEST_APPLESS_MAIN(TestLogReclaimCut)
#include "tst_log_reclaim_cut.moc"
