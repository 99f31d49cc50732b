// SPDX-License-Identifier: Apache-2.0
// The names of things that never change: log indexes, message ids, queue ids.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>

namespace millrace::base {

// Index of a record in the log: 1, 2, 3 ... without a gap, for ever. 0 = nothing yet.
using LogIndex = std::uint64_t;

// A queue's name in log entries; assigned once at declare, never used again. 0 = none.
using QueueId = std::uint64_t;

// Records of the scratch log (transient messages, never synced, gone at the next start) have this bit in their index.
inline constexpr LogIndex kScratchBit = LogIndex{1} << 63;

// Names one entry of one record, on every node, whatever file it lies in. Ordered as appended within its log.
struct MessageId {
    LogIndex record = 0;
    std::uint32_t slot = 0;

    bool isScratch() const { return (record & kScratchBit) != 0; }
    explicit operator bool() const { return record != 0; }
    friend auto operator<=>(const MessageId&, const MessageId&) = default;
};

} // namespace millrace::base

template <> struct std::hash<millrace::base::MessageId> {
    std::size_t operator()(const millrace::base::MessageId& id) const noexcept {
        return static_cast<std::size_t>((id.record * 0x9E3779B97F4A7C15ULL) ^ (std::uint64_t{id.slot} * 0xC2B2AE3D27D4EB4FULL));
    }
};
