// SPDX-License-Identifier: Apache-2.0
// What a folder of segments says after whatever happened: which files count, where the log ends,
// what was damaged.
//
// Torn or damaged: a bad record at or below the highest index that a later record knew to be
// durable was confirmed, is reported and isolated, and what follows is kept. A bad record above it
// ends the log: it and everything behind it is void, valid or not. The cut is written into the
// segment's footer and synced before open() returns, so what was cut off never comes back.
#pragma once

#include "log/commit_log.h"
#include "log/segment.h"

#include <memory>
#include <string>
#include <vector>

namespace millrace::log {

struct Recovered {
    std::vector<std::shared_ptr<Segment>> segments; // sealed, in index order
    struct Leftover { // files of no use: spares, obsolete and empty segments
        std::string path;
        std::uint64_t fileBytes = 0;
    };
    std::vector<Leftover> leftovers;
    LogIndex end = 0;
    std::int64_t wallMs = 0;
    std::uint32_t highestTerm = 0;
    std::uint64_t nextSequence = 1;
    std::uint64_t damagedRecords = 0;
};

// Makes the folder if there is none. Fails on what a newer version wrote and on what cannot be read
// at all.
base::Result<Recovered> recover(base::FileSystem& files, const std::string& folder);

// Shows the entries of `segments` at or above `from`, in order, and counts their references in the
// segments.
base::Status replaySegments(base::FileSystem& files,
                            std::span<const std::shared_ptr<Segment>> segments, LogIndex from,
                            LogIndex end, const ReplayVisitor& visitor,
                            std::uint64_t& damagedEntries);

} // namespace millrace::log
