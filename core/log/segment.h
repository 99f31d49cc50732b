// SPDX-License-Identifier: Apache-2.0
// One segment of the log as the running node knows it: where its file is, what index range it
// covers, how many holders its entries have. The identity is set once, by the thread that attaches
// the file, before any record in it counts as written; everything else belongs to the log's loop.
#pragma once

#include "base/file.h"
#include "base/ids.h"
#include "log/format.h"

#include <atomic>
#include <memory>
#include <string>
#include <vector>

namespace millrace::log {

// A file that a writer may begin to fill: header on disk with a salt of its own, full length,
// renamed into its place.
struct Spare {
    std::unique_ptr<base::File> file;
    std::string path;
    SegmentHeader header;
};

struct Segment {
    // --- identity
    std::string path;
    SegmentHeader header;
    std::unique_ptr<base::File> file; // the writer's, while it is being filled
    // From its first record until the writer has put the footer; only then may it be retired.
    std::atomic<bool> beingWritten{false};

    // --- the loop's
    base::LogIndex first = 0;
    base::LogIndex last = 0;
    std::uint64_t dataEnd = kBlockBytes; // where the next record begins
    std::uint64_t references = 0;        // holders left
    std::uint64_t totalReferences = 0;   // when sealed; 0: not known
    std::uint64_t referencedBytes = 0;   // payload of what had holders when sealed
    std::int64_t wallMs = 0;
    std::uint32_t readers = 0; // fetches under way
    bool compacting = false;
    bool sealed = false;
    base::LogIndex emptySince =
        0; // appended index when the last holder let go: the letting go must be synced
    std::vector<Spot> spots; // until the footer that has them is synced

    std::uint64_t fileBytes() const { return header.fileBytes; }
    // An estimate that ranks.
    std::uint64_t liveBytes() const {
        return totalReferences == 0
                   ? (references == 0 ? 0 : referencedBytes)
                   : static_cast<std::uint64_t>(static_cast<double>(referencedBytes) *
                                                static_cast<double>(references) /
                                                static_cast<double>(totalReferences));
    }
};

// Checks and seals headers and footers. A bad one is nothing.
void sealSegmentHeader(SegmentHeader& header);
base::Result<SegmentHeader> readSegmentHeader(base::File& file, const std::string& path);
base::Status writeSegmentHeader(base::File& file, const SegmentHeader& header);
void sealFooter(SegmentFooter& footer);
// False: there is none of this life of the file.
bool readFooter(base::File& file, const SegmentHeader& header, SegmentFooter& footer);
// What is known of a sealed segment but its salt.
void describe(const Segment& segment, SegmentFooter& footer);

// Notes the spot of a record at `offset` if it is due.
void noteSpot(std::vector<Spot>& spots, base::LogIndex first, base::LogIndex index,
              std::uint64_t offset, std::uint64_t fileBytes);
// Where to begin looking for `index`.
std::uint64_t offsetBefore(std::span<const Spot> spots, base::LogIndex first, base::LogIndex index);

std::uint64_t newSalt();
std::string segmentName(std::uint64_t sequence, std::uint32_t generation);

} // namespace millrace::log
