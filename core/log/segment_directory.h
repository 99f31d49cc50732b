// SPDX-License-Identifier: Apache-2.0
// Which segment holds which log index, where the next record goes, and how many holders each
// segment's entries have.
//
// Places are decided here, before any file is attached: so the loop knows at once which segment an
// entry belongs to, and the writer only fills in. Lives on: the log's loop.
#pragma once

#include "base/ids.h"
#include "log/record_builder.h"
#include "log/segment.h"

#include <memory>
#include <vector>

namespace millrace::log {

class SegmentDirectory {
  public:
    explicit SegmentDirectory(std::uint64_t segmentBytes) : segmentBytes_(segmentBytes) {}

    // Sealed segments found by recovery, in index order.
    void adopt(std::vector<std::shared_ptr<Segment>> segments) { segments_ = std::move(segments); }

    struct Contents {
        LogIndex index = 0;
        std::uint32_t bytes = 0;
        std::uint64_t references = 0;
        std::uint64_t referencedBytes = 0;
        std::int64_t wallMs = 0;
    };
    struct Place {
        Segment* segment = nullptr;
        std::uint64_t offset = 0;
        Segment* sealed = nullptr; // the segment before, when this record begins a new one
    };
    // Indexes rise. The record's references count for its segment from now on.
    Place place(const Contents& record);
    // Ends the segment being filled, if there is one.
    Segment* seal();
    std::uint64_t capacity() const { return segmentBytes_ - 2 * kBlockBytes; }
    // What is left of the segment being filled.
    std::uint64_t room() const;
    // Segments begun by place().
    std::uint64_t begun() const { return begun_; }

    // The segment whose range holds the index, or null.
    Segment* find(LogIndex index);
    std::shared_ptr<Segment> share(const Segment& segment) const;
    // Takes them out of the directory, and puts `instead` (may be null) in their place.
    void replace(std::span<const std::shared_ptr<Segment>> old, std::shared_ptr<Segment> instead);

    const std::vector<std::shared_ptr<Segment>>& all() const { return segments_; }
    const Segment* active() const { return active_; }
    std::uint64_t fileBytes() const;
    std::uint64_t liveBytes() const;
    std::uint64_t references() const;

  private:
    Segment& beginSegment(LogIndex first);
    std::size_t positionOf(LogIndex index) const;

    const std::uint64_t segmentBytes_;
    std::vector<std::shared_ptr<Segment>> segments_; // by first index; the active one last
    Segment* active_ = nullptr;
    std::size_t lastFound_ = 0;
    std::uint64_t begun_ = 0;
};

} // namespace millrace::log
