// SPDX-License-Identifier: Apache-2.0
// Appending to, emptying and sealing a chunk, and its page.
#include "engine/chunk.h"

#include "base/check.h"
#include "base/limits.h"

#include <algorithm>

namespace millrace::engine {

namespace {

constexpr std::uint8_t kPageVersion = 1;
constexpr std::size_t kKeptIdleBytes =
    512; // of an emptied chunk's buffers: what a short queue uses again and again

void resizeBytes(Chunk& chunk, std::uint32_t capacity, std::size_t& bytesSum) {
    std::unique_ptr<std::uint8_t[]> bytes(new std::uint8_t[capacity]);
    std::copy_n(chunk.bytes.get(), chunk.size, bytes.get());
    bytesSum += capacity;
    bytesSum -= chunk.capacity;
    chunk.bytes = std::move(bytes);
    chunk.capacity = capacity;
}

base::Error damagedPage(const char* what) {
    return {base::ErrorCode::damaged, std::string("page of a queue's index: ") + what};
}

} // namespace

std::uint32_t Chunk::nextReady(std::uint32_t from) const {
    while (from < messages) {
        const std::uint64_t taken = settled.word(from / 64) | out.word(from / 64);
        const std::uint64_t rest = ~taken >> (from % 64);
        if (rest != 0) {
            return std::min(messages, from + static_cast<std::uint32_t>(std::countr_zero(rest)));
        }
        from = (from / 64 + 1) * 64;
    }
    return messages;
}

bool Chunk::full() const {
    return messages >= limits::kChunkMessages || size + kMaxRunBytes > limits::kChunkBytes;
}

void Chunk::append(RunTail& tail, const Run& run, std::size_t& bytesSum) {
    const bool continues = tail.countOffset != 0 && tail.kind == kindOf(run.first) &&
                           tail.state.continuedBy(run.first) &&
                           (tail.kind == 1 || run.firstOrdinal == tail.state.ordinal + 1);
    if (continues) {
        tail.count += run.count;
    } else {
        if (size + kMaxRunBytes > capacity) [[unlikely]] {
            const auto least = static_cast<std::uint32_t>(limits::kChunkBytesLeast);
            resizeBytes(*this, std::max(least, capacity * 2), bytesSum);
        }
        tail.countOffset =
            size + static_cast<std::uint32_t>(putRunHead(bytes.get() + size, tail.state, run));
        tail.count = run.count;
        tail.kind = kindOf(run.first);
    }
    size = tail.countOffset +
           static_cast<std::uint32_t>(putVarint(bytes.get() + tail.countOffset, tail.count - 1));
    tail.state.pass(run);
    messages += run.count;
}

void Chunk::reset(const base::MessageId (&newFloors)[2], std::uint64_t ordinalsSoFar,
                  std::size_t& bytesSum) {
    size = 0;
    if (memoryBytes() > sizeof(Chunk) + kKeptIdleBytes) {
        bytesSum -= capacity;
        capacity = 0;
        bytes.reset();
        settled.free(bytesSum);
        out.free(bytesSum);
        redelivered.free(bytesSum);
    } else {
        settled.zero();
        redelivered.zero();
    }
    floors[0] = newFloors[0];
    floors[1] = newFloors[1];
    ordinalBase = ordinalsSoFar;
    key = {};
    hasPage = false;
    messages = settledCount = outCount = 0;
    compactAt = kCompactLeast;
}

void Chunk::seal(std::size_t& bytesSum) {
    if (capacity - size >= capacity / 4) {
        resizeBytes(*this, size, bytesSum);
    }
    compactAt = kCompactLeast;
}

bool Chunk::encode(std::string& page) const {
    RunTail tail;
    tail.state.ordinal = ordinalBase;
    std::uint8_t raw[kMaxRunBytes];
    bool any = false;
    ChunkCursor cursor;
    cursor.start(const_cast<Chunk*>(this)); // only read
    while (cursor.nextRun()) {
        if (cursor.run.first.isScratch()) {
            continue;
        }
        visitUnsettled(*this, cursor.run, cursor.runPosition, [&](const Run& run, std::uint32_t) {
            if (!any) {
                any = true;
                page.push_back(static_cast<char>(kPageVersion));
                page.append(reinterpret_cast<const char*>(raw), putVarint(raw, ordinalBase));
            }
            std::size_t length = putRunHead(raw, tail.state, run);
            length += putVarint(raw + length, run.count - 1);
            page.append(reinterpret_cast<const char*>(raw), length);
            tail.state.pass(run);
        });
    }
    return any;
}

base::Status Chunk::decode(base::Bytes page, base::LogIndex below, bool& dropped,
                           std::size_t& bytesSum) {
    const std::uint8_t* at = page.data();
    const std::uint8_t* const end = at + page.size();
    if (page.empty() || *at++ != kPageVersion) {
        return damagedPage("unknown version");
    }
    RunTail tail;
    RunState state;
    ordinalBase = state.ordinal = getVarint(at, end);
    tail.state = RunState::above(floors, ordinalBase);
    dropped = false;
    while (at < end) {
        Run run = getRunHead(at, end, state);
        const std::uint64_t more = getVarint(at, end);
        if (at > end || run.first < key || run.first.isScratch() || state.reaches(run.first) ||
            more >= limits::kChunkMessages - messages ||
            more > std::uint64_t{~std::uint32_t{0}} - run.first.slot - 1) {
            return damagedPage("runs do not rise");
        }
        run.count = static_cast<std::uint32_t>(more) + 1;
        state.pass(run);
        if (run.first.record >= below) {
            dropped = true;
        } else {
            append(tail, run, bytesSum);
        }
    }
    if (at > end) {
        return damagedPage("ends early");
    }
    seal(bytesSum);
    return {};
}

} // namespace millrace::engine
