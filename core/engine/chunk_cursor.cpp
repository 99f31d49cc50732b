// SPDX-License-Identifier: Apache-2.0
// Walking a chunk's runs, and rewriting a chunk without what is settled.
#include "engine/chunk.h"

#include "base/check.h"
#include "base/limits.h"

#include <cstring>

namespace millrace::engine {

void ChunkCursor::start(Chunk* at, std::uint32_t newPosition) {
    chunk = at;
    position = newPosition;
    rewind();
}

void ChunkCursor::rewind() {
    run = {};
    runPosition = countOffset_ = next_ = 0;
    if (chunk != nullptr) {
        state_ = RunState::above(chunk->floors, chunk->ordinalBase);
    }
}

bool ChunkCursor::nextRun() {
    const std::uint8_t* const bytes = chunk->bytes.get();
    const std::uint8_t* const end = bytes + chunk->size;
    if (run.count != 0) {
        const std::uint8_t* at = bytes + countOffset_;
        const auto count = static_cast<std::uint32_t>(getVarint(at, end)) + 1;
        next_ = static_cast<std::uint32_t>(at - bytes);
        if (count != run.count) {
            run.count = count;
            state_.pass(run);
            return true;
        }
    }
    if (next_ >= chunk->size) {
        return false;
    }
    const std::uint8_t* at = bytes + next_;
    const std::uint32_t before = run.count;
    run = getRunHead(at, end, state_);
    countOffset_ = static_cast<std::uint32_t>(at - bytes);
    run.count = static_cast<std::uint32_t>(getVarint(at, end)) + 1;
    next_ = static_cast<std::uint32_t>(at - bytes);
    runPosition += before;
    state_.pass(run);
    return true;
}

void ChunkCursor::locate() {
    if (position < runPosition) {
        rewind();
    }
    while (position - runPosition >= run.count) {
        MILLRACE_CHECK(nextRun());
    }
}

bool ChunkCursor::seek(const base::MessageId& wanted) {
    if (run.count != 0) {
        if (run.holds(wanted)) {
            position = runPosition + (wanted.slot - run.first.slot);
            return true;
        }
        if (state_.reaches(wanted)) {
            rewind();
        }
    }
    const unsigned kind = kindOf(wanted);
    while (nextRun()) {
        if (kindOf(run.first) != kind) {
            continue;
        }
        if (run.holds(wanted)) {
            position = runPosition + (wanted.slot - run.first.slot);
            return true;
        }
        if (wanted < run.first) {
            position = runPosition;
            return false;
        }
    }
    position = chunk->messages;
    return false;
}

namespace {

// A chunk in the making, without the settled messages of another.
struct Rewrite {
    RunTail tail;
    std::unique_ptr<std::uint8_t[]> bytes;
    std::uint32_t size = 0;
    std::uint32_t limit = 0;
    std::uint32_t messages = 0;
    std::uint32_t moved[2] = {0, 0};
    Bitmap out;
    Bitmap redelivered;
    std::size_t bitmapBytes = 0;

    bool add(const Chunk& from, const Run& run, std::uint32_t position) {
        if (size + kMaxRunBytes > limit) {
            return false;
        }
        tail.countOffset =
            size + static_cast<std::uint32_t>(putRunHead(bytes.get() + size, tail.state, run));
        size = tail.countOffset +
               static_cast<std::uint32_t>(putVarint(bytes.get() + tail.countOffset, run.count - 1));
        tail.count = run.count;
        tail.kind = kindOf(run.first);
        tail.state.pass(run);
        copyBits(from.out, out, position, run.count);
        copyBits(from.redelivered, redelivered, position, run.count);
        messages += run.count;
        return true;
    }
    void copyBits(const Bitmap& from, Bitmap& to, std::uint32_t position, std::uint32_t count) {
        const std::uint32_t end = position + count;
        for (std::uint32_t at = from.nextSet(position, end); at < end;
             at = from.nextSet(at + 1, end)) {
            to.set(messages + (at - position), bitmapBytes);
        }
    }
};

bool rewriteInto(Rewrite& rewrite, Chunk& chunk, std::uint32_t* const (&moved)[2]) {
    bool fits = true;
    ChunkCursor cursor;
    cursor.start(&chunk);
    while (fits && cursor.nextRun()) {
        visitUnsettled(chunk, cursor.run, cursor.runPosition,
                       [&](const Run& run, std::uint32_t from) {
                           for (unsigned i = 0; i < 2; ++i) {
                               if (moved[i] != nullptr && *moved[i] > from) {
                                   rewrite.moved[i] += std::min(*moved[i] - from, run.count);
                               }
                           }
                           fits = fits && rewrite.add(chunk, run, from);
                       });
    }
    return fits;
}

// What a chunk that is appended to allocates, so that one more run fits.
std::uint32_t roomFor(std::uint32_t size) {
    std::uint32_t capacity = limits::kChunkBytesLeast;
    while (capacity < size + kMaxRunBytes) {
        capacity *= 2;
    }
    return capacity;
}

} // namespace

bool compactChunk(Chunk& chunk, RunTail* tail, std::uint32_t* const (&moved)[2],
                  std::size_t& bytesSum) {
    const std::size_t before = chunk.memoryBytes();
    Rewrite rewrite;
    rewrite.limit = static_cast<std::uint32_t>(before - sizeof(Chunk));
    rewrite.bytes.reset(new std::uint8_t[rewrite.limit]);
    rewrite.tail.state = RunState::above(chunk.floors, chunk.ordinalBase);
    if (!rewriteInto(rewrite, chunk, moved)) {
        return false;
    }
    const std::uint32_t capacity = tail != nullptr ? roomFor(rewrite.size) : rewrite.size;
    if (capacity + rewrite.bitmapBytes + sizeof(Chunk) >= before) {
        return false;
    }
    std::unique_ptr<std::uint8_t[]> bytes(new std::uint8_t[capacity]);
    std::memcpy(bytes.get(), rewrite.bytes.get(), rewrite.size);
    chunk.bytes = std::move(bytes);
    chunk.size = rewrite.size;
    chunk.capacity = capacity;
    std::size_t settledBytes = 0;
    chunk.settled.free(settledBytes);
    chunk.out = std::move(rewrite.out);
    chunk.redelivered = std::move(rewrite.redelivered);
    chunk.messages = rewrite.messages;
    chunk.settledCount = 0;
    chunk.compactAt = Chunk::kCompactLeast;
    for (unsigned i = 0; i < 2; ++i) {
        if (moved[i] != nullptr) {
            *moved[i] = rewrite.moved[i];
        }
    }
    if (tail != nullptr) {
        *tail = rewrite.tail;
    }
    bytesSum += chunk.memoryBytes();
    bytesSum -= before;
    return true;
}

} // namespace millrace::engine
