// SPDX-License-Identifier: Apache-2.0
// What the loop does for the log between turns: reports progress, frees memory and segments, keeps
// an eye on space.
#include "base/diagnostics.h"
#include "base/limits.h"
#include "log/local_log.h"

#include <algorithm>

namespace millrace::log {

namespace {

constexpr std::chrono::seconds kScratchQuiet{
    30}; // after this long without a push no scratch file is kept ready

} // namespace

void LocalLog::harvest() {
    dropUnheld();
    report();
    answerFetches();
    reclaim();
    retireEmpty();
    if (durable()) {
        recent_.evict(horizons_.written);
    } else {
        pushOut();
    }
    considerSpace();
}

void LocalLog::report() {
    const bool failed = writer_.failed(); // before the horizons: they are final then
    Horizons now = horizons_;
    if (durable()) {
        now.written = std::max(now.written, writer_.written());
        now.synced = now.committed = std::max(now.synced, writer_.synced());
    }
    const bool moved = now.written != horizons_.written || now.synced != horizons_.synced;
    horizons_ = now;
    const auto& segments = directory_.all();
    const LogIndex safe = writer_.synced();
    for (std::size_t i = segments.size(); i-- > 0 && !segments[i]->spots.empty();) {
        if (segments[i]->sealed && segments[i]->last < safe) {
            std::vector<Spot>().swap(segments[i]->spots); // the footer has them now
        }
    }
    if (moved && listener_ != nullptr) {
        listener_->advanced(horizons_);
    }
    if (failed && !withdrawalTold_) {
        withdrawalTold_ = true;
        base::diagnose(base::Severity::error,
                       "the log in " + options_.folder + " has stopped: " + writer_.error().text);
        listener_->withdrawn(writer_.synced() + 1, writer_.error());
    }
}

void LocalLog::answerFetches() {
    std::vector<RecordReader::Job> done;
    reader_.take(done);
    for (RecordReader::Job& job : done) {
        std::vector<Stored> entries;
        entries.reserve(job.wanted.size());
        for (RecordReader::Wanted& wanted : job.wanted) {
            if (wanted.segment) {
                --wanted.segment->readers;
            }
            damagedEntries_ += wanted.entry.damaged ? 1 : 0;
            entries.push_back(std::move(wanted.entry));
        }
        listener_->fetched(job.token, std::move(entries));
    }
}

Reclaim::Standing LocalLog::standing() const {
    Reclaim::Standing now;
    now.covered = covered_;
    now.synced = writer_.synced();
    now.appended = horizons_.appended;
    now.now = clock_.now();
    now.wallMs = wallMs_;
    now.queuedBytes = queuedBytes_;
    now.spaceShort = admission_.diskShort();
    return now;
}

void LocalLog::reclaim() {
    if (!reclaim_.busy()) {
        return;
    }
    std::vector<std::shared_ptr<Segment>> replaced;
    if (reclaim_.turn(standing(), *listener_, replaced)) {
        options_.wake();
    }
    for (const auto& segment : replaced) {
        segment->emptySince = 0; // if it was waiting to go, it has gone
        std::erase(empty_, segment);
        leaving_.push_back(segment);
    }
    if (!replaced.empty()) {
        covered(0); // the new one may have no holder left
    }
}

// A segment goes when nothing in it has a holder, the letting go is synced, no replay will need it,
// and a later record is synced: the log's end must be found again.
void LocalLog::retireEmpty() {
    std::erase_if(empty_, [this](const std::shared_ptr<Segment>& segment) {
        if (segment->references != 0) {
            segment->emptySince = 0;
            return true;
        }
        const LogIndex safe = writer_.synced();
        const bool settled = !durable() || (segment->emptySince <= safe && segment->last < safe);
        const bool allowed = segment->sealed && !segment->compacting &&
                             !segment->beingWritten.load(std::memory_order_acquire) &&
                             segment->emptySince != kUntilSubmit && settled &&
                             segment->last <= safe && segment->last < covered_;
        if (allowed) {
            directory_.replace({&segment, 1}, nullptr);
            leaving_.push_back(segment);
        }
        return allowed;
    });
    std::erase_if(leaving_, [this](const std::shared_ptr<Segment>& segment) {
        if (segment->readers != 0) {
            return false;
        }
        reader_.forget(segment->path);
        keeper_.retire(segment->path, segment->fileBytes());
        ++retired_;
        return true;
    });
}

void LocalLog::dropUnheld() {
    for (const LogIndex index : unheld_) {
        const RecentRecord* record = recent_.find(index);
        if (record != nullptr && record->references == 0 && !record->pushed) {
            recent_.drop(index);
        }
    }
    unheld_.clear();
}

// Scratch: the oldest records that still have holders go to disk while memory is above its budget.
void LocalLog::pushOut() {
    dropUnheld();
    recent_.evict(writer_.written());
    const std::uint64_t underWay = unsyncedBytes();
    std::uint64_t leaving = underWay;
    while (pushedTo_ < horizons_.appended &&
           recent_.memoryBytes() > options_.memoryBytes + leaving) {
        RecentRecord* record = recent_.find(++pushedTo_);
        if (record == nullptr) {
            continue;
        }
        record->pushed = true;
        leaving += record->bytes;
        queue(pushedTo_, *record,
              {pushedTo_, record->bytes, record->references, record->payloadBytes, wallMs_});
        lastPush_ = clock_.now();
    }
    if (!closed_.empty()) {
        writer_.submit(closed_, Waiting::somebody);
    }
}

// A scratch log that nobody needs any more leaves no file behind.
void LocalLog::sealQuietScratch() {
    const Segment* active = directory_.active();
    if (active != nullptr && active->references == 0 && clock_.now() - lastPush_ >= kScratchQuiet) {
        queueFooter(*directory_.seal());
        writer_.submit(closed_, Waiting::somebody);
        covered(0);
    }
}

void LocalLog::writeMark() {
    Entry mark;
    mark.waiting = Waiting::nobody;
    if (append(mark)) {
        submit();
        markedTo_ = horizons_.appended;
    }
}

void LocalLog::considerSpace() {
    Admission::Situation now;
    now.unsyncedBytes = unsyncedBytes();
    now.spares = durable() ? static_cast<std::int64_t>(shelf_.offered()) -
                                 static_cast<std::int64_t>(directory_.begun())
                           : static_cast<std::int64_t>(options_.reserveSegments);
    now.room = durable() ? directory_.room() : directory_.capacity();
    now.freeSpace = keeper_.freeSpace();
    now.blocked = keeper_.blocked();
    now.stopped = writer_.failed();
    admission_.update(now);
}

void LocalLog::tick() {
    const std::chrono::nanoseconds now = clock_.now();
    if (++ticksSinceTurn_ > 1) {
        endTurn(); // a whole turn has passed without anything to append
    }
    const bool idle = !builder_.isOpen() && horizons_.synced == horizons_.appended;
    if (durable() && idle && horizons_.appended != markedTo_ &&
        now - lastAppend_ >= limits::kIdleMark) {
        writeMark();
    }
    if (durable()) {
        const bool filling = directory_.active() != nullptr &&
                             directory_.room() < directory_.capacity() / 2 &&
                             queuedBytes_ != bytesAtTick_;
        bytesAtTick_ = queuedBytes_;
        keeper_.want(admission_.sparesWanted(now, directory_.begun(), filling));
    } else {
        sealQuietScratch();
        const bool pushing = directory_.begun() != 0 && now - lastPush_ < kScratchQuiet;
        keeper_.want(pushing ? 1 : 0);
    }
    keeper_.look();
    harvest();
    reclaim_.consider(standing());
}

LocalLog::Trouble LocalLog::trouble() const {
    if (writer_.failed()) {
        return Trouble::stopped;
    }
    if (admission_.diskShort()) {
        return Trouble::diskFull;
    }
    return admission_.slow() ? Trouble::slow : Trouble::none;
}

Statistics LocalLog::statistics() const {
    Statistics sums;
    sums.segments = directory_.all().size();
    sums.spareSegments = keeper_.ready();
    sums.logBytes = directory_.fileBytes();
    sums.liveReferences = directory_.references();
    sums.reclaimedSegments = retired_;
    sums.syncs = writer_.syncs();
    sums.bytesWritten = writer_.syncedBytes();
    sums.memoryBytes = recent_.memoryBytes();
    sums.unsyncedBytes = unsyncedBytes();
    sums.damagedEntries = damagedEntries_;
    return sums;
}

} // namespace millrace::log
