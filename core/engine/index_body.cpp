// SPDX-License-Identifier: Apache-2.0
// Chunks and cursors of MessageIndex: finding, making, freeing, compacting.
#include "engine/index_body.h"

#include "base/limits.h"

namespace millrace::engine {

namespace {

// Settled from the front, a chunk will be gone soon: rewriting it on the way would be for nothing,
// unless it stays like that.
constexpr std::uint32_t kFewLeft = 32;

constexpr std::size_t kKeptPlaces = 32; // of chunks in the list; a shorter list is not made smaller

} // namespace

void ChunkList::erase(std::size_t at) {
    const auto place = begin() + static_cast<std::ptrdiff_t>(at);
    if (at < size() / 2) {
        std::move_backward(begin(), place, place + 1);
        ++head_;
        if (head_ * 2 > chunks_.size()) {
            chunks_.erase(chunks_.begin(), begin());
            head_ = 0;
        }
    } else {
        chunks_.erase(place);
    }
    if (chunks_.capacity() > kKeptPlaces && chunks_.size() < chunks_.capacity() / 4) {
        chunks_.shrink_to_fit();
    }
}

std::size_t ChunkList::indexOf(std::uint64_t sequence) const {
    const auto from = chunks_.begin() + static_cast<std::ptrdiff_t>(head_);
    const auto at = std::lower_bound(
        from, chunks_.end(), sequence,
        [](const Chunk* chunk, std::uint64_t wanted) { return chunk->sequence < wanted; });
    return static_cast<std::size_t>(at - from);
}

std::size_t ChunkList::indexFor(const base::MessageId& id) const {
    const unsigned kind = kindOf(id);
    const auto from = chunks_.begin() + static_cast<std::ptrdiff_t>(head_);
    const auto above = std::partition_point(
        from, chunks_.end(), [&](const Chunk* chunk) { return chunk->floors[kind] < id; });
    return above == from ? size() : static_cast<std::size_t>(above - from) - 1;
}

MessageIndex::Body::~Body() {
    for (Chunk* chunk : chunks) {
        delete chunk;
    }
}

Chunk* MessageIndex::Body::newChunk() {
    auto* chunk = new Chunk;
    bytes += sizeof(Chunk);
    chunk->sequence = nextSequence++;
    return chunk;
}

Chunk* MessageIndex::Body::chunkForAppend() {
    if (tailChunk != nullptr && !tailChunk->full()) [[likely]] {
        return tailChunk;
    }
    if (tailChunk != nullptr) {
        tailChunk->seal(bytes);
    }
    Chunk* const chunk = newChunk();
    chunk->floors[0] = last[0];
    chunk->floors[1] = last[1];
    chunk->ordinalBase = tail.state.ordinal;
    tail = {};
    tail.state = RunState::above(chunk->floors, chunk->ordinalBase);
    tailChunk = chunk;
    chunks.push(chunk);
    if (main.chunk == nullptr) {
        main.start(chunk);
    }
    return chunk;
}

bool MessageIndex::Body::find(const base::MessageId& id) {
    if (recovery && recovery->loading) {
        endLoading();
    }
    const unsigned kind = kindOf(id);
    const bool guessHolds =
        lookup.chunk != nullptr && lookupIndex < chunks.size() &&
        chunks[lookupIndex] == lookup.chunk && lookup.chunk->floors[kind] < id &&
        (lookupIndex + 1 == chunks.size() || !(chunks[lookupIndex + 1]->floors[kind] < id));
    if (!guessHolds) {
        const std::size_t at = chunks.indexFor(id);
        const bool beforeAll = at == chunks.size();
        if (chunks.empty()) {
            lookup.chunk = nullptr;
            return false;
        }
        lookupIndex = beforeAll ? 0 : at;
        if (lookup.chunk != chunks[lookupIndex]) {
            lookup.start(chunks[lookupIndex]);
        }
        if (beforeAll) {
            lookup.position = 0;
            return false;
        }
    }
    return lookup.seek(id) && !lookup.chunk->settled.test(lookup.position);
}

bool MessageIndex::Body::advance(ChunkCursor& cursor) {
    if (cursor.chunk == nullptr) {
        return false;
    }
    if (cursor.chunk->isReady(cursor.position)) [[likely]] {
        return true;
    }
    std::size_t index = 0;
    bool indexKnown = false;
    while (true) {
        const Chunk* const chunk = cursor.chunk;
        cursor.position = chunk->ready() == 0 ? chunk->messages : chunk->nextReady(cursor.position);
        if (cursor.position < chunk->messages) {
            return true;
        }
        if (chunk == chunks.back()) {
            return false;
        }
        index = indexKnown ? index + 1 : chunks.indexOf(chunk->sequence) + 1;
        indexKnown = true;
        // Runs are decoded only of chunks that have something ready.
        while (chunks[index]->ready() == 0 && chunks[index] != chunks.back()) {
            ++index;
        }
        cursor.start(chunks[index]);
    }
}

ChunkCursor* MessageIndex::Body::front(std::uint64_t ready) {
    if (ready == 0) {
        return nullptr;
    }
    ChunkCursor& cursor = returned > 0 ? returnedFrom : main;
    MILLRACE_CHECK(advance(cursor));
    cursor.locate();
    return &cursor;
}

bool MessageIndex::Body::before(const Chunk* chunk, std::uint32_t position,
                                const ChunkCursor& cursor) const {
    return chunk == cursor.chunk ? position < cursor.position
                                 : chunk->sequence < cursor.chunk->sequence;
}

void MessageIndex::Body::retire(Chunk* chunk, std::uint64_t ordinals) {
    const std::uint32_t left = chunk->left();
    if (left == 0) {
        if (chunk == tailChunk) {
            resetTail(ordinals);
        } else {
            removeChunk(chunk);
        }
        return;
    }
    if (chunk->settledCount >= chunk->compactAt && left <= chunk->settledCount) {
        chunk->compactAt = chunk->settledCount + std::max(Chunk::kCompactLeast, left / 2);
        const bool fromFront = chunk->settled.nextClear(0, chunk->messages) == chunk->settledCount;
        if (!fromFront || left <= kFewLeft) {
            compact(chunk);
        }
    }
}

void MessageIndex::Body::removeChunk(Chunk* chunk) {
    const std::size_t index = chunks.indexOf(chunk->sequence);
    chunks.erase(index);
    for (ChunkCursor* cursor : {&main, &returnedFrom}) {
        if (cursor->chunk != chunk) {
            continue;
        }
        if (index < chunks.size()) {
            cursor->start(chunks[index]);
        } else if (!chunks.empty()) {
            cursor->start(chunks.back(), chunks.back()->messages);
        } else {
            cursor->start(nullptr);
        }
    }
    if (lookup.chunk == chunk) {
        lookup.start(nullptr);
    }
    dropPage(chunk);
    bytes -= chunk->memoryBytes();
    delete chunk;
}

void MessageIndex::Body::resetTail(std::uint64_t ordinals) {
    dropPage(tailChunk);
    tailChunk->reset(last, ordinals, bytes);
    tail = {};
    tail.state = RunState::above(tailChunk->floors, ordinals);
    for (ChunkCursor* cursor : {&main, &returnedFrom, &lookup}) {
        if (cursor->chunk == tailChunk) {
            cursor->start(tailChunk);
        }
    }
}

void MessageIndex::Body::compact(Chunk* chunk) {
    std::uint32_t* const moved[2] = {
        main.chunk == chunk ? &main.position : nullptr,
        returnedFrom.chunk == chunk ? &returnedFrom.position : nullptr,
    };
    if (!compactChunk(*chunk, chunk == tailChunk ? &tail : nullptr, moved, bytes)) {
        return;
    }
    for (ChunkCursor* cursor : {&main, &returnedFrom, &lookup}) {
        if (cursor->chunk == chunk) {
            cursor->start(chunk, cursor->position);
        }
    }
}

void MessageIndex::Body::markDirty(Chunk* chunk, base::LogIndex at) {
    if (chunk->dirtySince != 0) [[likely]] {
        if (chunk->dirtySince <= at) {
            return;
        }
        unlinkDirty(chunk);
    }
    chunk->dirtySince = at;
    Chunk* after = dirtyLast;
    while (after != nullptr && after->dirtySince > at) {
        after = after->previousDirty;
    }
    chunk->previousDirty = after;
    chunk->nextDirty = after != nullptr ? after->nextDirty : dirtyFirst;
    (after != nullptr ? after->nextDirty : dirtyFirst) = chunk;
    (chunk->nextDirty != nullptr ? chunk->nextDirty->previousDirty : dirtyLast) = chunk;
}

void MessageIndex::Body::unlinkDirty(Chunk* chunk) {
    if (chunk->dirtySince == 0) {
        return;
    }
    (chunk->previousDirty != nullptr ? chunk->previousDirty->nextDirty : dirtyFirst) =
        chunk->nextDirty;
    (chunk->nextDirty != nullptr ? chunk->nextDirty->previousDirty : dirtyLast) =
        chunk->previousDirty;
    chunk->previousDirty = chunk->nextDirty = nullptr;
    chunk->dirtySince = 0;
}

void MessageIndex::Body::dropPage(Chunk* chunk) {
    if (chunk->hasPage) {
        removed.push_back(chunk->key);
        if (chunk->dirtySince != 0 && (removedSince == 0 || chunk->dirtySince < removedSince)) {
            removedSince = chunk->dirtySince;
        }
    }
    unlinkDirty(chunk);
    chunk->hasPage = false;
    chunk->key = {};
}

} // namespace millrace::engine
