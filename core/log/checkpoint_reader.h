// SPDX-License-Identifier: Apache-2.0
// Which finished round of a checkpoint folder is whole: the newest, or the one before if a page of
// the newest is damaged.
#pragma once

#include "base/file.h"
#include "log/page_segments.h"
#include "log/page_table.h"

#include <functional>
#include <string>

namespace millrace::log {

inline constexpr const char* kRootsFile = "roots";

struct CheckpointImage {
    PageTable table;
    std::uint64_t round = 0;        // 0: no round has finished yet
    std::uint64_t newestRound = 0;  // seen, damaged or not
    std::uint64_t nextSequence = 1; // above everything seen
    std::size_t slot = 1;           // of the chosen root; the next round writes the other one
    base::LogIndex replayFrom = 1;
    base::LogIndex neededFrom = 1; // recovery may replay from here, if the chosen round is damaged
                                   // until the next has finished
    base::LogIndex mostReflected = 0;
};

// ErrorCode::damaged if neither of the last two rounds is whole; the text names what is damaged.
base::Result<CheckpointImage> readCheckpoint(base::FileSystem& files, const std::string& folder,
                                             const PageSegments& segments);

// Every page of the table in the order of its place on disk, verified against the table's checksum.
// Stops at the first damaged one.
base::Status readPages(const PageSegments& segments, const PageTable& table,
                       const std::function<void(const CheckpointStore::Page&)>& visitor);

// Adds the record to `out`, padded.
void appendPageRecord(std::string& out, PageHeader header, base::Bytes payload);
// The payload of the record at `spot` in `segment` (a whole file), or an error that says what is
// wrong with it.
base::Result<base::Bytes> pageRecordAt(std::string_view segment, const PageSpot& spot,
                                       PageHeader& header);

std::uint32_t rootCrc(const Root& root);

} // namespace millrace::log
