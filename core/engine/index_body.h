// SPDX-License-Identifier: Apache-2.0
// Inside of MessageIndex: its chunks in order, its cursors, its lists of dirty and removed pages.
// Included by message_index*.cpp only.
//
// Invariant of the cursors: no message before `main` is ready but the `returned` ones, and none of
// those is before `returnedFrom`. A cursor never points to a chunk that is gone, and its run is
// that of the chunk as it is.
#pragma once

#include "base/check.h"
#include "engine/chunk.h"
#include "engine/message_index.h"

#include <algorithm>

namespace millrace::engine {

// The chunks in order; taking the first is cheap, one from the middle moves the shorter side.
class ChunkList {
  public:
    std::size_t size() const { return chunks_.size() - head_; }
    bool empty() const { return head_ == chunks_.size(); }
    Chunk* operator[](std::size_t at) const { return chunks_[head_ + at]; }
    Chunk* back() const { return chunks_.back(); }
    void push(Chunk* chunk) { chunks_.push_back(chunk); }
    void erase(std::size_t at);
    auto begin() { return chunks_.begin() + static_cast<std::ptrdiff_t>(head_); }
    auto end() { return chunks_.end(); }
    std::size_t memoryBytes() const { return chunks_.capacity() * sizeof(Chunk*); }

    // Of the chunk with this sequence number, or the first above.
    std::size_t indexOf(std::uint64_t sequence) const;
    // Of the only chunk that could hold the id; size() if it lies before all.
    std::size_t indexFor(const base::MessageId& id) const;

  private:
    std::vector<Chunk*> chunks_;
    std::size_t head_ = 0;
};

struct MessageIndex::Body {
    struct Recovery {
        base::LogIndex headReflects = 0;
        std::uint64_t headOrdinals = 0;
        std::uint64_t ordinalsBelowHead = 0; // appends replayed that the head counts, too
        bool loading = true;
        std::uint64_t firstReplayed = 0;         // sequence of the first chunk that replay made
        std::vector<base::MessageId> emptyPages; // keys of pages of which nothing was taken
        base::LogIndex replayFrom = 0;
        bool overlap = false;
    };

    ~Body();
    Chunk* newChunk();
    Chunk* chunkForAppend();
    bool find(const base::MessageId& id); // `lookup` is at it, or where it would be
    bool advance(ChunkCursor& cursor); // to the first ready one at or behind; false: there is none
    ChunkCursor* front(std::uint64_t ready); // at the first ready one, run located; null: none
    bool before(const Chunk* chunk, std::uint32_t position, const ChunkCursor& cursor) const;
    // After messages of it were settled: frees, resets or compacts it where that is due.
    void retire(Chunk* chunk, std::uint64_t ordinals);
    void removeChunk(Chunk* chunk);
    void resetTail(std::uint64_t ordinals);
    void compact(Chunk* chunk);
    void markDirty(Chunk* chunk, base::LogIndex at);
    void unlinkDirty(Chunk* chunk);
    void dropPage(Chunk* chunk); // its page, if it has one, is removed
    void endLoading();
    Recovery& recovering();

    ChunkList chunks;
    std::uint64_t nextSequence = 1;
    base::MessageId last[2]; // appended newest of each kind
    Chunk* tailChunk = nullptr;
    RunTail tail;

    ChunkCursor main;
    ChunkCursor returnedFrom; // in use while returned > 0
    ChunkCursor lookup;
    std::size_t lookupIndex = 0; // a guess where lookup.chunk stands
    std::uint64_t returned = 0;

    Chunk* dirtyFirst = nullptr; // dirtySince rises along the list
    Chunk* dirtyLast = nullptr;
    std::vector<base::MessageId> removed;
    base::LogIndex removedSince = 0;

    std::uint64_t recoveredMark = 0; // ordinals up to here were perhaps delivered before the start
    std::size_t bytes = 0;           // of chunks and what they own
    std::unique_ptr<Recovery> recovery;
};

} // namespace millrace::engine
