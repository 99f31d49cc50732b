// SPDX-License-Identifier: Apache-2.0
// The pages of a MessageIndex and its recovery out of pages and log; the reasoning stands in
// message_index.h.
#include "engine/index_body.h"

#include <limits>

namespace millrace::engine {

namespace {

base::MessageId justBelow(const base::MessageId& id) {
    constexpr std::uint32_t kLastSlot = std::numeric_limits<std::uint32_t>::max();
    return id.slot > 0 ? base::MessageId{id.record, id.slot - 1}
                       : base::MessageId{id.record - 1, kLastSlot};
}

void lowerTo(base::LogIndex& lowest, base::LogIndex index) {
    if (index != 0 && (lowest == 0 || index < lowest)) {
        lowest = index;
    }
}

} // namespace

void MessageIndex::setDeliveredMark(std::uint64_t ordinal, base::LogIndex at) {
    mark_ = ordinal;
    lowerTo(headDirtySince_, at);
}

base::LogIndex MessageIndex::dirtySince() const {
    base::LogIndex lowest = headDirtySince_;
    if (body_) {
        lowerTo(lowest, body_->dirtyFirst != nullptr ? body_->dirtyFirst->dirtySince : 0);
        lowerTo(lowest, body_->removedSince);
    }
    return lowest;
}

std::optional<base::MessageId> MessageIndex::takeDirtyChunk(base::LogIndex before,
                                                            std::string& page) {
    while (body_ && body_->dirtyFirst != nullptr && body_->dirtyFirst->dirtySince < before) {
        Chunk* const chunk = body_->dirtyFirst;
        if (!chunk->encode(page)) {
            body_->dropPage(chunk);
            continue;
        }
        body_->unlinkDirty(chunk);
        chunk->hasPage = true;
        return chunk->key;
    }
    return std::nullopt;
}

MessageIndex::Head MessageIndex::takeHead() {
    headDirtySince_ = 0;
    return {ordinals_, mark_};
}

void MessageIndex::takeRemoved(std::vector<base::MessageId>& keys) {
    if (body_) {
        keys.insert(keys.end(), body_->removed.begin(), body_->removed.end());
        body_->removed.clear();
        body_->removed.shrink_to_fit();
        body_->removedSince = 0;
    }
}

MessageIndex::Body::Recovery& MessageIndex::Body::recovering() {
    if (!recovery) {
        MILLRACE_CHECK(chunks.empty());
        recovery = std::make_unique<Recovery>();
    }
    return *recovery;
}

void MessageIndex::loadHead(const Head& head, base::LogIndex reflects) {
    Body::Recovery& recovery = body().recovering();
    recovery.headReflects = reflects;
    recovery.headOrdinals = head.ordinals;
    mark_ = head.mark;
}

base::Status MessageIndex::loadChunk(const base::MessageId& key, base::Bytes page,
                                     base::LogIndex replayFrom) {
    Body& b = body();
    Body::Recovery& recovery = b.recovering();
    MILLRACE_CHECK(recovery.loading);
    recovery.replayFrom = replayFrom;
    if (!key || key.isScratch()) {
        return base::Error{base::ErrorCode::damaged, "page of a queue's index: key is no message"};
    }
    Chunk* const chunk = b.newChunk();
    b.chunks.push(chunk);
    chunk->key = key;
    chunk->floors[0] = justBelow(key);
    bool dropped = false;
    base::Status status = chunk->decode(page, replayFrom, dropped, b.bytes);
    if (!status.ok() || chunk->messages == 0) {
        b.bytes -= chunk->memoryBytes();
        b.chunks.erase(b.chunks.size() - 1);
        delete chunk;
        recovery.emptyPages.push_back(key);
        return status;
    }
    chunk->hasPage = true;
    ready_ += chunk->messages;
    if (dropped) {
        b.markDirty(chunk, replayFrom);
    }
    return {};
}

void MessageIndex::Body::endLoading() {
    recovery->loading = false;
    std::sort(chunks.begin(), chunks.end(),
              [](const Chunk* a, const Chunk* b) { return a->key < b->key; });
    ChunkCursor walk;
    for (Chunk* chunk : chunks) {
        chunk->sequence = nextSequence++;
        recovery->overlap = recovery->overlap || chunk->floors[0] < last[0];
        walk.start(chunk);
        while (walk.nextRun()) {
            last[0] = std::max(last[0], walk.run.at(walk.run.count - 1));
        }
    }
    if (!chunks.empty()) {
        main.start(chunks[0]);
        last[0] = std::max(last[0], justBelow({recovery->replayFrom, 0}));
    }
    recovery->firstReplayed = nextSequence;
}

void MessageIndex::applyAppend(const base::MessageId& id) {
    Body::Recovery& recovery = body().recovering();
    if (!id.isScratch() && id.record <= recovery.headReflects) {
        ++recovery.ordinalsBelowHead;
    }
    append(id);
}

void MessageIndex::applyMark(std::uint64_t ordinal, base::LogIndex at) {
    if (at > body().recovering().headReflects) {
        setDeliveredMark(ordinal, at);
    }
}

base::Status MessageIndex::finishRecovery() {
    if (!body_ || !body_->recovery) {
        return {};
    }
    Body& b = *body_;
    if (b.recovery->loading) {
        b.endLoading();
    }
    const Body::Recovery recovery = std::move(*b.recovery);
    b.recovery.reset();
    // Replay counted from 1; the head knows how many came before.
    const std::uint64_t counted = std::min(recovery.headOrdinals, recovery.ordinalsBelowHead);
    const std::uint64_t before = recovery.headOrdinals - counted;
    ordinals_ += before;
    b.tail.state.ordinal += before;
    for (Chunk* chunk : b.chunks) {
        chunk->ordinalBase += chunk->sequence >= recovery.firstReplayed ? before : 0;
    }
    b.recoveredMark = std::min(mark_, ordinals_);
    b.main.start(b.chunks.empty() ? nullptr : b.chunks[0]);
    b.returnedFrom.start(nullptr);
    b.lookup.start(nullptr);
    b.returned = 0;
    // A page of which nothing was taken is removed, unless replay has made a chunk of its name.
    for (const base::MessageId& key : recovery.emptyPages) {
        const auto same = std::find_if(b.chunks.begin(), b.chunks.end(),
                                       [&](const Chunk* chunk) { return chunk->key == key; });
        if (same != b.chunks.end()) {
            (*same)->hasPage = true;
        } else {
            b.removed.push_back(key);
            lowerTo(b.removedSince, recovery.replayFrom);
        }
    }
    if (recovery.overlap) {
        return base::Error{base::ErrorCode::damaged, "pages of a queue's index overlap"};
    }
    return {};
}

} // namespace millrace::engine
