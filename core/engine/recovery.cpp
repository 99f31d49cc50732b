// SPDX-License-Identifier: Apache-2.0
#include "engine/recovery.h"

#include "base/diagnostics.h"
#include "catalog/change_codec.h"
#include "engine/engine.h"

#include <algorithm>

namespace millrace::engine {

using base::LogIndex;
using base::MessageId;

// --- pages

void Recovery::page(const log::CheckpointStore::Page& page) {
    if (page.key.kind == static_cast<std::uint32_t>(PageKind::largeMessage)) {
        if (page.key.part.record < from_ && !engine_.large.load(page.key.part, page.bytes).ok()) {
            ++damagedPages_;
        }
        return;
    }
    Queue* const queue = engine_.topology.queue(page.key.object);
    if (!queue) { // deleted: its pages were not dropped in time
        engine_.checkpointer.dropOrphan(page.key);
        return;
    }
    base::Status status;
    if (page.key.kind == static_cast<std::uint32_t>(PageKind::queueHead)) {
        base::ByteReader in(page.bytes);
        MessageIndex::Head head;
        head.ordinals = in.little<std::uint64_t>();
        head.mark = in.little<std::uint64_t>();
        if (in.ok()) {
            queue->index.loadHead(head, page.reflects);
        } else {
            ++damagedPages_;
        }
        return;
    }
    if (!queue->index.loadChunk(page.key.part, page.bytes, from_).ok()) {
        ++damagedPages_;
    }
}

// --- log

void Recovery::replay(const log::Replayed& entry) {
    last_ = std::max(last_, entry.id.record);
    switch (static_cast<EntryKind>(entry.kind)) {
    case EntryKind::message:
    case EntryKind::largeMessage:
        return message(entry);
    case EntryKind::bodyPiece:
        return engine_.large.addPiece(entry.id);
    case EntryKind::settle:
        return entry.damaged ? damaged(entry, "what was acknowledged there is delivered again")
                             : settles(entry.payload, entry.id.record);
    case EntryKind::txCommit:
        return commit(entry);
    case EntryKind::catalog:
        return catalog(entry);
    case EntryKind::deliveredMark:
        return mark(entry);
    case EntryKind::purge:
        return purge(entry);
    }
    damaged(entry, "its kind is unknown");
}

void Recovery::damaged(const log::Replayed& entry, const char* what) {
    base::diagnose(base::Severity::error, "log entry " + std::to_string(entry.id.record) + "." +
                                              std::to_string(entry.id.slot) +
                                              " cannot be used: " + what);
}

void Recovery::release(const Run& run, std::uint32_t count) {
    for (; run.first.record >= from_ && count > 0; --count) {
        engine_.journal.releaseNow(run);
    }
}

void Recovery::message(const log::Replayed& entry) {
    const auto read = entry.damaged ? std::nullopt : readMessage(entry.payload);
    if (!read) {
        // It stands in its queues, and is told and dropped when its turn comes.
        return kept_.empty() ? enter(entry.id, entry.routes) : keep(entry);
    }
    // The others were queues that ended with their connection or with the server.
    release(Run{entry.id, 1, 0},
            read->head.holders -
                std::min<std::uint32_t>(read->head.holders,
                                        static_cast<std::uint32_t>(entry.routes.size())));
    if (static_cast<EntryKind>(entry.kind) == EntryKind::largeMessage) {
        if (auto body = readLarge(read->rest)) {
            engine_.large.add(entry.id, std::move(*body), 0);
        }
    }
    if ((read->head.flags & MessageHead::kInTransaction) != 0) {
        return keep(entry);
    }
    dropKept(kept_.size()); // messages of a transaction stand together, before their commit
    enter(entry.id, entry.routes);
}

void Recovery::keep(const log::Replayed& entry) {
    kept_.push_back({entry.id, {entry.routes.begin(), entry.routes.end()}, entry.damaged});
}

void Recovery::dropKept(std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
        const Kept& kept = kept_[i];
        if (kept.damaged) {
            enter(kept.id, kept.routes);
        } else {
            release(Run{kept.id, 1, 0}, static_cast<std::uint32_t>(kept.routes.size()));
        }
    }
    kept_.erase(kept_.begin(), kept_.begin() + static_cast<std::ptrdiff_t>(count));
}

void Recovery::enter(const MessageId& id, std::span<const base::QueueId> routes) {
    for (const base::QueueId route : routes) {
        if (Queue* const queue = engine_.topology.queue(route)) {
            queue->index.applyAppend(id);
        } else {
            release(Run{id, 1, 0});
        }
    }
}

void Recovery::settles(base::Bytes blocks, LogIndex record) {
    const bool whole = readSettles(blocks, [&](base::QueueId id, const Run& run) {
        if (Queue* const queue = engine_.topology.queue(id)) {
            settle(*queue, run, record);
        }
    });
    if (!whole) {
        base::diagnose(base::Severity::error,
                       "settles in record " + std::to_string(record) + " are not well formed");
    }
}

void Recovery::settle(Queue& queue, const Run& run, LogIndex record) {
    for (std::uint32_t i = 0; i < run.count; ++i) {
        if (queue.index.settle(run.at(i), record)) {
            release(Run{run.at(i), 1, 0});
        }
    }
}

void Recovery::commit(const log::Replayed& entry) {
    base::ByteReader in(entry.payload);
    const std::size_t count = in.little<std::uint32_t>();
    if (entry.damaged || !in.ok()) {
        damaged(entry, "a transaction is lost");
        return;
    }
    // Less than it names: the replay starts within the transaction, whose beginning is in pages; or
    // its first message is damaged and stands in its queues already.
    dropKept(kept_.size() - std::min(count, kept_.size()));
    for (const Kept& kept : kept_) {
        enter(kept.id, kept.routes);
    }
    kept_.clear();
    settles(in.rest(), entry.id.record);
}

void Recovery::catalog(const log::Replayed& entry) {
    if (entry.id.record <= engine_.topology.stamp()) {
        return;
    }
    base::ByteReader in(entry.payload);
    while (!entry.damaged && in.ok() && !in.atEnd()) {
        auto change = catalog::decodeChange(base::bytesOf(base::readText32(in)));
        if (!change) {
            return damaged(entry, change.error().text.c_str());
        }
        if (const auto dropped = engine_.topology.apply(change.value())) {
            letGo(*dropped);
        }
        engine_.topology.noteReplayed(std::move(change.value()), entry.id.record);
    }
    if (entry.damaged || !in.ok()) {
        damaged(entry, "a change of queues, exchanges or users is lost");
    }
}

void Recovery::letGo(const Queue& dropped) {
    dropped.index.forEachUnsettled([this](const Run& run) { release(run); });
}

void Recovery::mark(const log::Replayed& entry) {
    const auto mark = readMark(entry.payload);
    Queue* const queue = mark ? engine_.topology.queue(mark->queue) : nullptr;
    if (queue) {
        queue->index.applyMark(mark->ordinal, entry.id.record);
    }
}

void Recovery::purge(const log::Replayed& entry) {
    const auto purge = entry.damaged ? std::nullopt : readPurge(entry.payload);
    if (!purge) {
        return damaged(entry, "a purge is undone");
    }
    Queue* const queue = engine_.topology.queue(purge->queue);
    if (!queue) {
        return;
    }
    std::vector<Run> all;
    queue->index.forEachUnsettled([&all](const Run& run) { all.push_back(run); });
    auto kept = purge->kept.begin();
    for (const Run& run : all) {
        for (std::uint32_t i = 0; i < run.count && run.at(i) <= purge->upTo; ++i) {
            const MessageId id = run.at(i);
            while (kept != purge->kept.end() && kept->at(kept->count - 1) < id) {
                ++kept;
            }
            if (kept == purge->kept.end() || !kept->holds(id)) {
                settle(*queue, Run{id, 1, 0}, entry.id.record);
            }
        }
    }
}

// --- the end

void Recovery::finishQueue(Queue& queue, const Hold& hold) {
    if (!queue.index.finishRecovery().ok()) {
        ++damagedPages_;
    }
    queue.markSafe = queue.index.deliveredMark();
    queue.delivered = std::min(queue.index.deliveredMark(), queue.index.ordinals());
    queue.index.forEachUnsettled([&](const Run& run) {
        queue.newest = run.at(run.count - 1);
        engine_.large.countHolders(run);
        if (run.first.record < from_) {
            hold(run.first, run.count, 1);
        }
    });
    if (queue.index.dirtySince() != 0) {
        engine_.checkpointer.changed(queue);
    }
}

base::Status Recovery::finish(const Hold& hold) {
    dropKept(kept_.size());
    engine_.topology.eachQueue([&](Queue& queue) { finishQueue(queue, hold); });
    engine_.large.finishRecovery(from_);
    engine_.large.eachPiece([&](const MessageId& piece) {
        if (piece.record < from_) {
            hold(piece, 1, 1);
        }
    });
    engine_.journal.startAt(std::max(last_, from_ - 1));
    if (damagedPages_ > 0) {
        return base::Error{base::ErrorCode::damaged,
                           std::to_string(damagedPages_) + " checkpoint pages cannot be used"};
    }
    return {};
}

} // namespace millrace::engine
