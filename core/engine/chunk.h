// SPDX-License-Identifier: Apache-2.0
// A stretch of a queue's contents: up to limits::kChunkMessages messages as encoded runs, with bits
// for what happened to them, and a cursor that walks it. A message's position counts from the
// chunk's first; only compaction changes it.
//
// Bounded: runs are appended up to limits::kChunkBytes; settled messages are forgotten when that
// makes the chunk smaller. Used by MessageIndex alone, which keeps the sums and the order of
// chunks.
#pragma once

#include "base/bytes.h"
#include "base/result.h"
#include "engine/bitmap.h"
#include "engine/run_codec.h"

#include <memory>
#include <string>

namespace millrace::engine {

// Where the next message of a chunk goes.
struct RunTail {
    RunState state;
    std::uint32_t countOffset = 0; // of the newest run's count; 0: there is no run yet
    std::uint32_t count = 0;
    unsigned kind = 0;
};

struct Chunk {
    static constexpr std::uint32_t kCompactLeast = 64; // settled messages that are worth a try

    std::uint64_t sequence = 0; // rises along the index
    base::MessageId
        floors[2]; // the chunk's ids are above these, those of the chunks before are not
    std::uint64_t ordinalBase = 0; // the first persistent message's ordinal is above
    base::MessageId key; // its page's name: the first persistent id it held; none: it needs no page
    bool hasPage = false;
    base::LogIndex dirtySince =
        0; // first change that is not in its page; 0: none. Then it is in the list of dirty ones
    Chunk* previousDirty = nullptr;
    Chunk* nextDirty = nullptr;

    std::unique_ptr<std::uint8_t[]> bytes; // encoded runs
    std::uint32_t size = 0;
    std::uint32_t capacity = 0;
    std::uint32_t messages = 0; // positions
    std::uint32_t settledCount = 0;
    std::uint32_t outCount = 0;
    std::uint32_t compactAt = kCompactLeast; // settledCount at which compaction is tried next
    Bitmap settled;
    Bitmap out; // never together with settled
    Bitmap redelivered;

    std::uint32_t left() const { return messages - settledCount; }
    std::uint32_t ready() const { return messages - settledCount - outCount; }
    bool isReady(std::uint32_t position) const {
        return position < messages && !settled.test(position) && !out.test(position);
    }
    // The first ready position at or behind `from`; `messages` if there is none.
    std::uint32_t nextReady(std::uint32_t from) const;
    // The first position behind `from`, at most `end`, that is not ready.
    std::uint32_t endOfReady(std::uint32_t from, std::uint32_t end) const {
        return std::min(settled.nextSet(from, end), out.nextSet(from, end));
    }
    std::size_t memoryBytes() const {
        return sizeof(Chunk) + capacity + settled.memoryBytes() + out.memoryBytes() +
               redelivered.memoryBytes();
    }

    bool full() const;
    // Appends behind `tail`, which is this chunk's. `bytesSum` follows what is allocated, here and
    // below.
    void append(RunTail& tail, const Run& run, std::size_t& bytesSum);
    // No message is left: empty as new, above `newFloors`.
    void reset(const base::MessageId (&newFloors)[2], std::uint64_t ordinalsSoFar,
               std::size_t& bytesSum);
    // Frees what a chunk that is not appended to any more does not need.
    void seal(std::size_t& bytesSum);

    // Appends the page: its unsettled persistent ids. False, and nothing appended: there are none.
    bool encode(std::string& page) const;
    // Fills a new chunk, whose key and floors are set, with the page's ids below `below`. `dropped`
    // tells whether there were others.
    base::Status decode(base::Bytes page, base::LogIndex below, bool& dropped,
                        std::size_t& bytesSum);
};

// Walks a chunk by position or by id. Stays valid while runs are appended; not over compaction and
// reset.
struct ChunkCursor {
    Chunk* chunk = nullptr;
    std::uint32_t position = 0; // its user's; moves only by the verbs that say so
    Run run;                    // decoded last; count 0: none yet
    std::uint32_t runPosition = 0;

    void start(Chunk* at, std::uint32_t newPosition = 0);
    // Makes `run` the next one (the newest may have grown, which is the same run again). False:
    // there is none.
    bool nextRun();
    // Makes `run` the one of `position`, which must be below chunk->messages.
    void locate();
    base::MessageId id() const { return run.at(position - runPosition); }
    std::uint64_t ordinal() const {
        return run.firstOrdinal == 0 ? 0 : run.firstOrdinal + (position - runPosition);
    }
    // Moves to `wanted`; if the chunk does not hold it, to the first above of its kind, or the end,
    // and says false.
    bool seek(const base::MessageId& wanted);

  private:
    void rewind();

    RunState state_;
    std::uint32_t countOffset_ = 0;
    std::uint32_t next_ = 0; // offset behind the run
};

// Rewrites `chunk` without its settled messages, if that makes it smaller. `tail`: it is the chunk
// appended to. Positions below chunk->messages change: `moved` hold such positions, and are changed
// with them.
bool compactChunk(Chunk& chunk, RunTail* tail, std::uint32_t* const (&moved)[2],
                  std::size_t& bytesSum);

// visitor(Run, first position) of the stretches of `run` whose messages are unsettled.
template <typename Visitor>
void visitUnsettled(const Chunk& chunk, const Run& run, std::uint32_t runPosition,
                    const Visitor& visitor) {
    const std::uint32_t end = runPosition + run.count;
    std::uint32_t from = chunk.settled.nextClear(runPosition, end);
    while (from < end) {
        const std::uint32_t to = chunk.settled.nextSet(from, end);
        const std::uint32_t step = from - runPosition;
        visitor(Run{run.at(step), to - from, run.firstOrdinal == 0 ? 0 : run.firstOrdinal + step},
                from);
        from = chunk.settled.nextClear(to, end);
    }
}

} // namespace millrace::engine
