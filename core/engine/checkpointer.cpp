// SPDX-License-Identifier: Apache-2.0
#include "engine/checkpointer.h"

#include "base/limits.h"
#include "engine/engine.h"

#include <algorithm>

namespace millrace::engine {

using base::LogIndex;

namespace {

constexpr int kLeastTaken = 8; // queues or chunks a turn, also where deliveries use up its time

log::PageKey keyOf(PageKind kind, std::uint64_t object, const base::MessageId& part) {
    return {static_cast<std::uint32_t>(kind), object, part};
}

} // namespace

bool Checkpointer::isDoneWith(Queue& queue) {
    if (queue.inCheckpoint && !store_) {
        std::erase(changed_, &queue);
        queue.inCheckpoint = false;
    }
    return !queue.inCheckpoint;
}

bool Checkpointer::due() const {
    if (!store_ || state_ != State::idle || !store_->failure().ok() ||
        store_->finished() < asked_) {
        return false;
    }
    if (engine_.clearing.isPurging()) {
        return false; // what it settles stands in an entry below the round's start
    }
    const Journal& journal = engine_.journal;
    if (final_) { // until nothing is left to replay, which the catalog store may delay
        return asked_ <= journal.lastClosed() && engine_.topology.unstoredSince() == 0;
    }
    const std::uint64_t entries = journal.entriesAppended() - entriesAtRound_;
    const std::uint64_t bytes = journal.bytesAppended() - bytesAtRound_;
    const std::chrono::nanoseconds interval =
        hurry_ ? limits::kHurriedCheckpoint : limits::kCheckpointInterval;
    const bool late = engine_.clock.now() - timeAtRound_ >= interval;
    return entries >= limits::kReplayEntries / 4 || bytes >= limits::kReplayBytes / 4 ||
           ((entries > 0 || gainsSpace()) && late);
}

// The log is kept for the round before the last one, too: another round lets go of it.
bool Checkpointer::gainsSpace() const {
    return hurry_ && store_->logNeededFrom() < asked_;
}

void Checkpointer::begin() {
    state_ = State::taking;
    from_ = engine_.journal.lastClosed() + 1;
    bytesAtRound_ = engine_.journal.bytesAppended();
    entriesAtRound_ = engine_.journal.entriesAppended();
    timeAtRound_ = engine_.clock.now();
    round_ = std::move(changed_);
    changed_.clear();
    for (const log::PageKey& key : orphans_) {
        wait(key, {}, true);
    }
    orphans_.clear();
}

void Checkpointer::wait(const log::PageKey& key, std::string bytes, bool drop) {
    waitingBytes_ += bytes.size() + sizeof(Page);
    waiting_.push_back({key, engine_.journal.lastClosed(), drop, std::move(bytes)});
}

void Checkpointer::takeRemoved(Queue& queue) {
    std::vector<base::MessageId> removed;
    queue.index.takeRemoved(removed);
    for (const base::MessageId& key : removed) {
        wait(keyOf(PageKind::queueChunk, queue.spec.id, key), {}, true);
    }
}

bool Checkpointer::takeQueue(Queue& queue, std::chrono::nanoseconds deadline) {
    const base::QueueId id = queue.spec.id;
    takeRemoved(queue);
    if (queue.deleted) {
        wait(keyOf(PageKind::queueHead, id, {}), {}, true);
        return true;
    }
    if (queue.index.headDirty(from_)) {
        const MessageIndex::Head head = queue.index.takeHead();
        std::string bytes;
        base::ByteWriter writer(bytes);
        writer.little<std::uint64_t>(head.ordinals);
        writer.little<std::uint64_t>(head.mark);
        wait(keyOf(PageKind::queueHead, id, {}), std::move(bytes), false);
    }
    std::string page;
    while (const auto key = queue.index.takeDirtyChunk(from_, page)) {
        wait(keyOf(PageKind::queueChunk, id, *key), std::move(page), false);
        page.clear();
        if (waitingBytes_ >= limits::kPagesAhead || engine_.clock.now() >= deadline) {
            return false;
        }
    }
    takeRemoved(queue); // also pages that have just been found to be of nothing
    return true;
}

void Checkpointer::takeLarge() {
    LargeBodies::Page page;
    while (engine_.large.takeDirty(page)) {
        wait(keyOf(PageKind::largeMessage, 0, page.message), std::move(page.bytes), page.drop);
    }
}

void Checkpointer::take(std::chrono::nanoseconds deadline) {
    for (int taken = 0; !round_.empty(); ++taken) {
        if (waitingBytes_ >= limits::kPagesAhead ||
            (taken >= kLeastTaken && engine_.clock.now() >= deadline)) {
            return;
        }
        Queue& queue = *round_.back();
        if (!takeQueue(queue, deadline)) {
            continue;
        }
        round_.pop_back();
        queue.inCheckpoint = false;
        if (queue.index.dirtySince() != 0) {
            changed(queue);
        }
    }
    takeLarge();
    state_ = State::putting;
}

void Checkpointer::put() {
    const LogIndex committed = engine_.journal.horizons().committed;
    while (put_ < waiting_.size() && waiting_[put_].reflects <= committed && store_->ready()) {
        Page& page = waiting_[put_++];
        if (page.drop) {
            store_->drop(page.key);
        } else {
            store_->put(page.key, page.reflects, base::bytesOf(page.bytes));
        }
        waitingBytes_ -= page.bytes.size() + sizeof(Page);
        page.bytes = {};
    }
    if (put_ == waiting_.size()) {
        waiting_.clear();
        put_ = 0;
    }
}

void Checkpointer::finish() {
    const LogIndex unstored = engine_.topology.unstoredSince();
    asked_ = std::max(asked_, unstored != 0 ? std::min(unstored, from_) : from_);
    store_->finishRound(asked_);
    state_ = State::idle;
}

void Checkpointer::run(std::chrono::nanoseconds deadline) {
    if (!store_) {
        return;
    }
    if (due()) {
        begin();
    }
    if (state_ == State::taking) {
        take(deadline);
    }
    if (!waiting_.empty()) {
        put();
    }
    // A round without pages waits like any other: records at its start and above will come again
    // under the same numbers if the log loses its tail.
    if (state_ == State::putting && waiting_.empty() &&
        engine_.journal.horizons().committed + 1 >= from_) {
        finish();
    }
    const LogIndex needed = store_->logNeededFrom();
    if (needed > covered_) {
        covered_ = needed;
        engine_.journal.durable().covered(needed);
    }
}

// While taking it goes on by itself; what waits for a sync or for the store goes on when those
// report.
bool Checkpointer::hasWork() const {
    return state_ == State::taking && waitingBytes_ < limits::kPagesAhead;
}

void Checkpointer::writeExactMarks() {
    engine_.topology.eachQueue([this](Queue& queue) {
        if (!queue.logged || queue.index.deliveredMark() == queue.delivered) {
            return;
        }
        std::string payload;
        writeMark({queue.spec.id, queue.delivered}, payload);
        const LogIndex at = engine_.journal.openIndex();
        if (engine_.journal.append(EntryKind::deliveredMark, log::Waiting::somebody,
                                   base::bytesOf(payload))) {
            queue.index.setDeliveredMark(queue.delivered, at);
            changed(queue);
        }
    });
}

bool Checkpointer::finalRound() {
    if (!store_ || !store_->failure().ok()) {
        return true;
    }
    if (!final_) {
        writeExactMarks();
        final_ = true;
    }
    return state_ == State::idle && !engine_.journal.hasUnsubmitted() &&
           asked_ > engine_.journal.lastClosed() && store_->finished() >= asked_;
}

} // namespace millrace::engine
