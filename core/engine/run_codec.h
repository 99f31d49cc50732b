// SPDX-License-Identifier: Apache-2.0
// Runs as bytes: varint deltas to the run before of the same kind (persistent or scratch), 3 to 5
// bytes for a lone message.
//
//     head    (record - record before) << 2 | ordinals skipped? << 1 | scratch?
//     [skip]  how many ordinals lie between this run and the persistent one before: those messages
//     are settled and forgotten slot    in a new record: the slot; in the same: slots skipped count
//     of messages - 1; last, so that a run that is the newest grows in place
#pragma once

#include "engine/run.h"

#include <cstddef>

namespace millrace::engine {

inline constexpr std::size_t kMaxVarintBytes = 10;
inline constexpr std::size_t kMaxRunBytes = 10 + 10 + 5 + 5;

inline std::size_t putVarint(std::uint8_t* to, std::uint64_t value) {
    std::size_t size = 0;
    while (value >= 0x80) {
        to[size++] = static_cast<std::uint8_t>(value | 0x80);
        value >>= 7;
    }
    to[size++] = static_cast<std::uint8_t>(value);
    return size;
}

// Zero, and `at` beyond `end`, where the bytes end too early or the number is too long.
inline std::uint64_t getVarint(const std::uint8_t*& at, const std::uint8_t* end) {
    if (at < end && *at < 0x80) [[likely]] {
        return *at++;
    }
    std::uint64_t value = 0;
    for (unsigned shift = 0; at < end && shift < 64; shift += 7) {
        const std::uint8_t byte = *at++;
        value |= std::uint64_t{byte & 0x7Fu} << shift;
        if (byte < 0x80) {
            return value;
        }
    }
    at = end + 1;
    return 0;
}

// 0 persistent, 1 scratch.
inline unsigned kindOf(const base::MessageId& id) {
    return id.isScratch() ? 1 : 0;
}

// What writer and reader know behind a run.
struct RunState {
    struct End {                   // one past the newest id of a kind
        base::LogIndex record = 0; // without kScratchBit
        std::uint32_t slot = 0;
    };
    End ends[2];
    std::uint64_t ordinal = 0; // of the newest persistent message

    // Everything that follows is above `floors` (one id of each kind) and `ordinalBefore`.
    static RunState above(const base::MessageId (&floors)[2], std::uint64_t ordinalBefore) {
        RunState state;
        for (unsigned kind = 0; kind < 2; ++kind) {
            state.ends[kind] = {floors[kind].record & ~base::kScratchBit, floors[kind].slot};
        }
        state.ordinal = ordinalBefore;
        return state;
    }
    bool reaches(const base::MessageId& id) const { // id lies before the end of its kind
        const End& end = ends[kindOf(id)];
        const base::LogIndex record = id.record & ~base::kScratchBit;
        return record < end.record || (record == end.record && id.slot < end.slot);
    }
    bool continuedBy(const base::MessageId& id) const {
        const End& end = ends[kindOf(id)];
        return (id.record & ~base::kScratchBit) == end.record && id.slot == end.slot;
    }
    void pass(const Run& run) {
        const unsigned kind = kindOf(run.first);
        ends[kind] = {run.first.record & ~base::kScratchBit, run.first.slot + run.count};
        if (kind == 0) {
            ordinal = run.firstOrdinal + run.count - 1;
        }
    }
};

// Writes `run` to at least kMaxRunBytes; returns the size without its count, which putVarint(count
// - 1) follows.
inline std::size_t putRunHead(std::uint8_t* to, const RunState& state, const Run& run) {
    const unsigned kind = kindOf(run.first);
    const RunState::End& end = state.ends[kind];
    const std::uint64_t delta = (run.first.record & ~base::kScratchBit) - end.record;
    const std::uint64_t skipped = kind == 0 ? run.firstOrdinal - state.ordinal - 1 : 0;
    std::size_t size = putVarint(to, delta << 2 | (skipped != 0 ? 2u : 0u) | kind);
    if (skipped != 0) {
        size += putVarint(to + size, skipped);
    }
    return size + putVarint(to + size, delta == 0 ? run.first.slot - end.slot : run.first.slot);
}

// Reads the head of the run behind `state`; its count follows.
inline Run getRunHead(const std::uint8_t*& at, const std::uint8_t* end, const RunState& state) {
    const std::uint64_t head = getVarint(at, end);
    const unsigned kind = head & 1;
    const std::uint64_t skipped = (head & 2) != 0 ? getVarint(at, end) : 0;
    const std::uint64_t delta = head >> 2;
    const auto slot = static_cast<std::uint32_t>(getVarint(at, end));
    Run run;
    run.first.record = (state.ends[kind].record + delta) | (kind == 1 ? base::kScratchBit : 0);
    run.first.slot = delta == 0 ? state.ends[kind].slot + slot : slot;
    run.firstOrdinal = kind == 0 ? state.ordinal + 1 + skipped : 0;
    return run;
}

} // namespace millrace::engine
