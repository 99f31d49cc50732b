// SPDX-License-Identifier: Apache-2.0
// Reads one segment from its first record to its last and says where it ends; recovery.h has the
// rules.
#pragma once

#include "log/segment.h"

namespace millrace::log {

struct Survey {
    bool empty = true; // no record of it counts
    base::LogIndex first = 0;
    base::LogIndex last = 0;
    std::uint64_t dataEnd = kBlockBytes;
    std::uint64_t references = 0;
    std::uint64_t referencedBytes = 0;
    std::int64_t wallMs = 0;
    std::uint32_t term = 0;
    std::vector<Spot> spots;
    std::uint64_t damagedRecords = 0;
    std::uint64_t droppedRecords = 0; // behind the cut
};

enum class Evidence {
    synced,   // a later segment has records, so all of this one was synced: whatever is bad was
              // damaged afterwards
    knownOnly // the last segment: only what a later record knew to be durable was
};

// Records above `limit` do not count: an earlier recovery has cut them off.
Survey survey(base::File& file, const SegmentHeader& header, Evidence evidence,
              base::LogIndex limit);

} // namespace millrace::log
