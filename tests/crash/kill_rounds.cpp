// SPDX-License-Identifier: Apache-2.0
// A broker under load is killed with SIGKILL at random moments, started again, and audited: see
// kill_ledger.h for the rules.
//
//   kill_rounds --program build/release/bin/millrace [--rounds 50] [--seed 1] [--grace 100]
//   [--keep]
#include "crash/kill_load.h"
#include "support/broker_process.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <poll.h>
#include <thread>
#include <unistd.h>

using namespace millrace;
using namespace millrace::crash_tests;
using Clock = std::chrono::steady_clock;

namespace {

struct Arguments {
    std::string program;
    std::uint64_t rounds = 50;
    std::uint64_t seed = 1;
    std::chrono::milliseconds grace{100};
    bool keep = false;
};

bool parse(int count, char** texts, Arguments& out) {
    for (int i = 1; i < count; ++i) {
        const std::string name = texts[i];
        if (name == "--keep") {
            out.keep = true;
            continue;
        }
        if (i + 1 == count) {
            return false;
        }
        const char* value = texts[++i];
        if (name == "--program") {
            out.program = value;
        } else if (name == "--rounds") {
            out.rounds = std::strtoull(value, nullptr, 10);
        } else if (name == "--seed") {
            out.seed = std::strtoull(value, nullptr, 10);
        } else if (name == "--grace") {
            out.grace = std::chrono::milliseconds(std::strtoull(value, nullptr, 10));
        } else {
            return false;
        }
    }
    return !out.program.empty();
}

const std::vector<std::string> kQueues{"classic-plain", "quorum-plain", "classic-both",
                                       "quorum-both"};

struct Source {
    std::string exchange;
    std::string key;
    std::vector<std::size_t> queues;
};
const std::vector<Source> kSources{{"", "classic-plain", {0}},
                                   {"", "classic-plain", {0}},
                                   {"", "quorum-plain", {1}},
                                   {kFanout, "", {2, 3}},
                                   {kFanout, "", {2, 3}}};

// Waits, and tells by how much longer than asked: on a machine that is busy with other things the
// broker was late, too.
std::chrono::milliseconds waitMeasured(std::chrono::milliseconds longest) {
    const auto end = Clock::now() + longest;
    std::chrono::milliseconds worst{0};
    while (Clock::now() < end) {
        const auto before = Clock::now();
        ::poll(nullptr, 0, 5);
        const auto late =
            std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - before) -
            std::chrono::milliseconds(5);
        worst = std::max(worst, late);
    }
    return worst;
}

class Rounds {
  public:
    Rounds(const Arguments& arguments, const std::string& folder)
        : arguments_(arguments), random_(arguments.seed), broker_(arguments.program, folder),
          ledger_(kQueues, routes()) {
        endpoint_.port = broker_.port();
    }

    bool run() {
        for (std::uint64_t round = 1; round <= arguments_.rounds && sound(); ++round) {
            if (random_.chance(20)) {
                killWhileStarting();
            }
            if (sound()) {
                killUnderLoad(round);
            }
        }
        if (sound()) {
            drainAndStop();
        }
        return sound();
    }
    const KillLedger& ledger() const { return ledger_; }

  private:
    static std::vector<KillLedger::Route> routes() {
        std::vector<KillLedger::Route> out;
        for (const Source& source : kSources) {
            out.push_back({source.queues});
        }
        return out;
    }
    bool sound() const { return ledger_.violations().empty(); }

    // Killed again at the same place: recovery itself is cut short.
    void killWhileStarting() {
        broker_.spawn();
        waitMeasured(std::chrono::milliseconds(random_.below(120)));
        broker_.killNow();
    }

    bool start() {
        broker_.spawn();
        if (const std::string wrong = broker_.awaitReady(); !wrong.empty()) {
            ledger_.violation(wrong);
            return false;
        }
        ledger_.beginLife();
        if (const std::string wrong = declareTopology(endpoint_, kQueues); !wrong.empty()) {
            ledger_.violation("declaring what exists: " + wrong);
            return false;
        }
        return true;
    }

    std::vector<std::thread> load(Life& life, bool publish, bool drain) {
        std::vector<std::thread> threads;
        for (std::size_t p = 0; publish && p < kSources.size(); ++p) {
            threads.emplace_back([this, &life, p, random = support::Random(random_.next())] {
                publishLoop(life, ledger_, p, kSources[p].exchange, kSources[p].key, random);
            });
        }
        for (std::size_t q = 0; q < kQueues.size(); ++q) {
            threads.emplace_back([this, &life, q, drain, random = support::Random(random_.next())] {
                consumeLoop(life, ledger_, q, kQueues[q], drain, random);
            });
        }
        return threads;
    }

    void killUnderLoad(std::uint64_t round) {
        if (!start()) {
            return;
        }
        Life life;
        life.endpoint = endpoint_;
        life.paced = random_.chance(60);
        std::vector<std::thread> threads = load(life, true, false);
        const auto late = waitMeasured(std::chrono::milliseconds(30 + random_.below(1800)));
        life.alive = false;
        const auto now = Clock::now();
        broker_.killNow();
        life.over = true;
        for (std::thread& thread : threads) {
            thread.join();
        }
        ledger_.killed(now, arguments_.grace + late);
        if (round % 10 == 0) {
            report(round);
        }
    }

    void drainAndStop() {
        if (!start()) {
            return;
        }
        Life life;
        life.endpoint = endpoint_;
        for (std::thread& thread : load(life, false, true)) {
            thread.join();
        }
        ledger_.auditDrained();
        if (const std::string wrong = broker_.stop(); !wrong.empty()) {
            ledger_.violation(wrong);
        }
    }

    void report(std::uint64_t round) const {
        std::printf("round %llu: %llu published, %llu confirmed, %llu delivered, %llu again after "
                    "a late ack\n",
                    static_cast<unsigned long long>(round),
                    static_cast<unsigned long long>(ledger_.published()),
                    static_cast<unsigned long long>(ledger_.confirmedCount()),
                    static_cast<unsigned long long>(ledger_.deliveredCount()),
                    static_cast<unsigned long long>(ledger_.redeliveredAfterAck()));
        std::fflush(stdout);
    }

    Arguments arguments_;
    support::Random random_;
    support::BrokerProcess broker_;
    KillLedger ledger_;
    client::Endpoint endpoint_;
};

} // namespace

int main(int count, char** texts) {
    Arguments arguments;
    if (!parse(count, texts, arguments)) {
        std::fprintf(
            stderr,
            "usage: kill_rounds --program PATH [--rounds N] [--seed N] [--grace MS] [--keep]\n");
        return 64;
    }
    std::string folder = (std::filesystem::temp_directory_path() / "millrace-kill-XXXXXX").string();
    if (!::mkdtemp(folder.data())) {
        std::perror("mkdtemp");
        return 74;
    }
    Rounds rounds(arguments, folder);
    const bool sound = rounds.run();
    const KillLedger& ledger = rounds.ledger();
    for (const std::string& text : ledger.violations()) {
        std::fprintf(stderr, "BROKEN: %s\n", text.c_str());
    }
    std::printf("%s: %llu published, %llu confirmed, %llu delivered\n", sound ? "sound" : "broken",
                static_cast<unsigned long long>(ledger.published()),
                static_cast<unsigned long long>(ledger.confirmedCount()),
                static_cast<unsigned long long>(ledger.deliveredCount()));
    if (sound && ledger.confirmedCount() == 0) {
        std::fprintf(stderr, "BROKEN: nothing was ever confirmed, so nothing was tested\n");
        return 1;
    }
    if (!sound) {
        std::fprintf(stderr,
                     "replay: %s --program %s --rounds %llu --seed %llu (the moments differ from "
                     "run to run)\n",
                     texts[0], arguments.program.c_str(),
                     static_cast<unsigned long long>(arguments.rounds),
                     static_cast<unsigned long long>(arguments.seed));
    }
    if (sound && !arguments.keep) {
        std::filesystem::remove_all(folder);
    } else {
        std::fprintf(stderr, "the data directory and the broker's log are kept in %s\n",
                     folder.c_str());
    }
    return sound ? 0 : 1;
}
