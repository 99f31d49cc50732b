// SPDX-License-Identifier: Apache-2.0
#include "log/reclaim.h"

#include "base/diagnostics.h"
#include "base/limits.h"

#include <algorithm>

namespace millrace::log {

namespace {

constexpr std::uint64_t kSlackUnderLoad = 1024ull * 1024 * 1024;
constexpr std::uint64_t kMuch = 1024 * 1024; // between two looks: then there is traffic
constexpr std::chrono::seconds kQuietFor{3};
constexpr std::chrono::seconds kAfterFailure{10};
constexpr std::uint64_t kLeastGain = 64 * 1024; // less is not worth a sync
constexpr std::size_t kAskedAtOnce = 64;        // between two looks at the time
constexpr std::size_t kMostNeighbours = 256;
constexpr LogIndex kMostSpan =
    0xFFFF'FFFF; // a footer's spots count from its first index in 32 bits

} // namespace

bool Reclaim::eligible(const Segment& segment, const Standing& standing) const {
    return segment.sealed && !segment.compacting && segment.references != 0 &&
           segment.last < standing.covered && segment.last < standing.synced &&
           segment.liveBytes() < segment.fileBytes() / 2;
}

bool Reclaim::outOfProportion(const Standing& standing) {
    const bool much = standing.queuedBytes - bytesBefore_ > kMuch;
    bytesBefore_ = standing.queuedBytes;
    if (much) {
        busySince_ = standing.now;
    }
    const bool quiet = standing.now - busySince_ >= kQuietFor;
    const std::uint64_t slack = quiet || standing.spaceShort ? kLeastGain : kSlackUnderLoad;
    const Segment* active = directory_.active();
    const std::uint64_t sealed =
        directory_.fileBytes() - (active != nullptr ? active->fileBytes() : 0);
    const std::uint64_t live = directory_.liveBytes();
    return sealed > live + live / 2 + slack;
}

// The segment at `first` and as many of its neighbours behind as fit into one together.
Reclaim::Choice Reclaim::groupAt(std::size_t first, const Standing& standing) const {
    const auto& all = directory_.all();
    const std::uint64_t most = directory_.capacity() / 2;
    std::uint64_t files = 0;
    std::uint64_t live = 0;
    std::size_t count = 0;
    while (first + count < all.size() && count < kMostNeighbours) {
        const Segment& next = *all[first + count];
        if (!eligible(next, standing) ||
            (count != 0 && (live + next.liveBytes() > most || files > 2 * directory_.capacity())) ||
            next.last - all[first]->first > kMostSpan) {
            break;
        }
        files += next.fileBytes();
        live += next.liveBytes();
        ++count;
    }
    const std::uint64_t after = live + live / 4 + 2 * kBlockBytes; // tables, header, footer
    if (count == 0 || files < after + std::max(files / 4, kLeastGain)) {
        return {};
    }
    const auto age =
        static_cast<double>(std::max<std::int64_t>(standing.wallMs - all[first]->wallMs, 0) + 1);
    return {first, count, static_cast<double>(files - after) * age / static_cast<double>(after)};
}

Reclaim::Choice Reclaim::best(const Standing& standing) const {
    Choice best;
    for (std::size_t first = 0; first < directory_.all().size(); ++first) {
        const Choice choice = groupAt(first, standing);
        if (choice.count != 0 && choice.score > best.score) {
            best = choice;
        }
    }
    return best;
}

void Reclaim::consider(const Standing& standing) {
    const bool wanted = outOfProportion(standing);
    if (compaction_ || !wanted || standing.now < notBefore_) {
        return;
    }
    const Choice choice = best(standing);
    if (choice.count == 0) {
        return;
    }
    const auto first = directory_.all().begin() + static_cast<std::ptrdiff_t>(choice.first);
    std::vector<std::shared_ptr<Segment>> victims(
        first, first + static_cast<std::ptrdiff_t>(choice.count));
    for (const auto& victim : victims) {
        victim->compacting = true;
    }
    compaction_ = std::make_shared<Compaction>(folder_, std::move(victims), synchronous_);
    keeper_.work(compaction_);
}

bool Reclaim::ask(CommitLogListener& listener) {
    const auto end = std::chrono::steady_clock::now() + limits::kSliceTime;
    do {
        if (compaction_->ask(listener, kAskedAtOnce)) {
            return true;
        }
    } while (std::chrono::steady_clock::now() < end);
    return false;
}

bool Reclaim::turn(const Standing& standing, CommitLogListener& listener,
                   std::vector<std::shared_ptr<Segment>>& replaced) {
    if (!compaction_) {
        return false;
    }
    switch (compaction_->phase()) {
    case Compaction::Phase::asking:
        if (!ask(listener)) {
            return true;
        }
        decided_ = kUntilSubmit;
        compaction_->write();
        keeper_.work(compaction_);
        break;
    case Compaction::Phase::settling:
        if (decided_ > standing.synced) {
            break;
        }
        compaction_->name();
        keeper_.work(compaction_);
        break;
    case Compaction::Phase::done:
        exchange(replaced);
        break;
    case Compaction::Phase::failed:
        base::diagnose(base::Severity::warning,
                       "space is not reclaimed for now: " + compaction_->error().text);
        notBefore_ = standing.now + kAfterFailure;
        end();
        break;
    default:
        break; // the keeper's
    }
    return false;
}

void Reclaim::submitted(LogIndex appended) {
    if (decided_ == kUntilSubmit) {
        decided_ = appended;
    }
}

void Reclaim::exchange(std::vector<std::shared_ptr<Segment>>& replaced) {
    const std::shared_ptr<Segment> result = compaction_->result();
    const auto& victims = compaction_->victims();
    if (result) {
        for (const auto& victim : victims) {
            result->references += victim->references;
        }
    }
    replaced.insert(replaced.end(), victims.begin(), victims.end());
    directory_.replace(victims, result);
    end();
}

void Reclaim::end() {
    for (const auto& victim : compaction_->victims()) {
        victim->compacting = false;
    }
    compaction_.reset();
}

} // namespace millrace::log
