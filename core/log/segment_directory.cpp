// SPDX-License-Identifier: Apache-2.0
#include "log/segment_directory.h"

#include "base/check.h"

#include <algorithm>

namespace millrace::log {

std::uint64_t SegmentDirectory::room() const {
    return active_ == nullptr ? 0 : segmentBytes_ - kBlockBytes - active_->dataEnd;
}

Segment& SegmentDirectory::beginSegment(LogIndex first) {
    auto segment = std::make_shared<Segment>();
    segment->header.fileBytes = segmentBytes_;
    segment->first = first;
    segment->beingWritten.store(true, std::memory_order_relaxed);
    segments_.push_back(std::move(segment));
    active_ = segments_.back().get();
    ++begun_;
    return *active_;
}

Segment* SegmentDirectory::seal() {
    Segment* ended = active_;
    if (ended != nullptr) {
        ended->sealed = true;
        active_ = nullptr;
    }
    return ended;
}

SegmentDirectory::Place SegmentDirectory::place(const Contents& record) {
    MILLRACE_CHECK(record.bytes <= capacity());
    Place place;
    if (active_ == nullptr || record.bytes > room()) {
        place.sealed = seal();
        beginSegment(record.index);
    }
    place.segment = active_;
    place.offset = active_->dataEnd;
    noteSpot(active_->spots, active_->first, record.index, place.offset, segmentBytes_);
    active_->dataEnd += record.bytes;
    active_->last = record.index;
    active_->references += record.references;
    active_->totalReferences += record.references;
    active_->referencedBytes += record.referencedBytes;
    active_->wallMs = record.wallMs;
    return place;
}

std::size_t SegmentDirectory::positionOf(LogIndex index) const {
    const auto after =
        std::upper_bound(segments_.begin(), segments_.end(), index,
                         [](LogIndex wanted, const std::shared_ptr<Segment>& segment) {
                             return wanted < segment->first;
                         });
    return after == segments_.begin() ? segments_.size()
                                      : static_cast<std::size_t>(after - segments_.begin()) - 1;
}

Segment* SegmentDirectory::find(LogIndex index) {
    const auto holds = [index](const Segment& segment) {
        return segment.first <= index && index <= segment.last;
    };
    if (lastFound_ < segments_.size() && holds(*segments_[lastFound_])) {
        return segments_[lastFound_].get();
    }
    const std::size_t position = positionOf(index);
    if (position == segments_.size() || !holds(*segments_[position])) {
        return nullptr;
    }
    lastFound_ = position;
    return segments_[position].get();
}

std::shared_ptr<Segment> SegmentDirectory::share(const Segment& segment) const {
    return segments_[positionOf(segment.first)];
}

void SegmentDirectory::replace(std::span<const std::shared_ptr<Segment>> old,
                               std::shared_ptr<Segment> instead) {
    MILLRACE_CHECK(!old.empty());
    const auto first =
        segments_.begin() + static_cast<std::ptrdiff_t>(positionOf(old.front()->first));
    MILLRACE_CHECK(first != segments_.end() && *first == old.front());
    const auto after = segments_.erase(first, first + static_cast<std::ptrdiff_t>(old.size()));
    if (instead) {
        segments_.insert(after, std::move(instead));
    }
    lastFound_ = 0;
}

std::uint64_t SegmentDirectory::fileBytes() const {
    std::uint64_t bytes = 0;
    for (const auto& segment : segments_) {
        bytes += segment->fileBytes();
    }
    return bytes;
}

std::uint64_t SegmentDirectory::liveBytes() const {
    std::uint64_t bytes = 0;
    for (const auto& segment : segments_) {
        bytes += segment->liveBytes();
    }
    return bytes;
}

std::uint64_t SegmentDirectory::references() const {
    std::uint64_t sum = 0;
    for (const auto& segment : segments_) {
        sum += segment->references;
    }
    return sum;
}

} // namespace millrace::log
