// SPDX-License-Identifier: Apache-2.0
#include "engine/clearing.h"

#include "engine/engine.h"

#include <algorithm>

namespace millrace::engine {

using base::MessageId;

namespace {

constexpr std::uint64_t kStep = 2048; // messages between two looks at the clock: some 50 us

} // namespace

std::vector<Run> Clearing::unacked(Queue& queue) {
    std::vector<Run> runs;
    std::vector<MessageId> ready; // in truth
    if (queue.purging) {
        ready = queue.purging->givenBack;
        std::sort(ready.begin(), ready.end());
    }
    queue.index.forEachOut([&](const Run& run) {
        if (run.first.isScratch()) {
            return;
        }
        if (ready.empty()) {
            runs.push_back(run);
            return;
        }
        for (std::uint32_t i = 0; i < run.count; ++i) {
            if (std::binary_search(ready.begin(), ready.end(), run.at(i))) {
                continue;
            }
            if (!runs.empty() && runs.back().at(runs.back().count) == run.at(i)) {
                ++runs.back().count;
            } else {
                runs.push_back(Run{run.at(i), 1, 0});
            }
        }
    });
    return runs;
}

void Clearing::purge(Queue& queue, base::LogIndex record) {
    if (queue.readyCount() == 0) {
        return;
    }
    if (queue.purging) { // what came back meanwhile goes with the rest
        const std::unique_ptr<Purging> before = std::move(queue.purging);
        for (const MessageId& id : before->givenBack) {
            engine_.settling.giveBack(queue, id);
        }
    } else {
        purges_.push_back(&queue);
    }
    queue.purging = std::make_unique<Purging>();
    queue.purging->left = queue.index.ready();
    queue.purging->record = record;
    run(engine_.clock.now() + limits::kSliceTime);
}

void Clearing::bury(std::unique_ptr<Queue> queue, base::LogIndex record) {
    // Nobody has its deliveries any more: all of it can go the same way.
    std::vector<Run> out;
    queue->index.forEachOut([&out](const Run& run) { out.push_back(run); });
    for (const Run& run : out) {
        for (std::uint32_t i = 0; i < run.count; ++i) {
            queue->index.giveBack(run.at(i));
        }
    }
    std::erase(purges_, queue.get());
    deleted_.push_back({std::move(queue), record});
}

std::uint64_t Clearing::clear(Queue& queue, std::uint64_t most, base::LogIndex record) {
    Journal& journal = engine_.journal;
    LargeBodies& large = engine_.large;
    // Settled with the entry at `record`, which is not above the open one.
    const base::LogIndex at = record != 0 ? record : journal.openIndex();
    engine_.checkpointer.changed(queue);
    return queue.index.purgeReady(most, at, [&](const Run& run) {
        for (std::uint32_t i = 0; !large.empty() && i < run.count; ++i) {
            large.settled(run.at(i));
        }
        if (queue.logged && !run.first.isScratch()) {
            journal.releaseAfter(record, run);
        } else {
            journal.releaseNow(run);
        }
    });
}

void Clearing::finish(Queue& queue) {
    const std::unique_ptr<Purging> purging = std::move(queue.purging);
    queue.index.trim();
    for (const MessageId& id : purging->givenBack) {
        engine_.settling.giveBack(queue, id);
    }
    if (queue.index.ready() == 0) {
        engine_.dispatch.emptied(queue);
    }
    engine_.dispatch.wake(queue);
}

// Nobody has a deleted and empty queue on a list any more.
bool Clearing::isUnused(Queue& queue) const {
    return !queue.inWork && !queue.onHorizon && engine_.checkpointer.isDoneWith(queue);
}

void Clearing::run(std::chrono::nanoseconds deadline) {
    while (!purges_.empty()) {
        Queue& queue = *purges_.back();
        Purging& purging = *queue.purging;
        const std::uint64_t step = std::min(kStep, purging.left);
        purging.left -= step;
        const std::uint64_t done = clear(queue, step, purging.record);
        if (done < step || purging.left == 0) {
            purges_.pop_back();
            finish(queue);
        }
        if (engine_.clock.now() >= deadline) {
            return;
        }
    }
    // From where it stopped: one that waits for a checkpoint does not keep the others.
    for (std::size_t unseen = deleted_.size(); unseen > 0;) {
        nextDeleted_ = nextDeleted_ < deleted_.size() ? nextDeleted_ : 0;
        Deleted& deleted = deleted_[nextDeleted_];
        if (clear(*deleted.queue, kStep, deleted.record) < kStep) {
            --unseen;
            if (isUnused(*deleted.queue)) {
                std::swap(deleted, deleted_.back());
                deleted_.pop_back();
            } else {
                ++nextDeleted_;
            }
        }
        if (engine_.clock.now() >= deadline) {
            return;
        }
    }
}

bool Clearing::hasWork() const {
    return !purges_.empty() ||
           std::any_of(deleted_.begin(), deleted_.end(),
                       [](const Deleted& deleted) { return deleted.queue->index.total() > 0; });
}

bool Clearing::holds(const MessageId& id) const {
    return std::any_of(deleted_.begin(), deleted_.end(),
                       [&id](const Deleted& deleted) { return deleted.queue->index.contains(id); });
}

} // namespace millrace::engine
