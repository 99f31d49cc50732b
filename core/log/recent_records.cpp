// SPDX-License-Identifier: Apache-2.0
#include "log/recent_records.h"

#include "base/check.h"
#include "base/limits.h"

#include <utility>

namespace millrace::log {

namespace {

constexpr std::size_t kSlabBytes = limits::kRecordBytes;
constexpr std::size_t kFreeSlabs =
    64; // kept for the next burst: a fresh page costs 10 us on a virtual machine
constexpr std::size_t kRingStart = 1024;

} // namespace

Slab& RecentRecords::slabFor(std::size_t bytes) {
    if (bytes > kSlabBytes) {
        return newSlab(bytes);
    }
    if (current_ != nullptr && current_->capacity - current_->used >= bytes) {
        return *current_;
    }
    if (current_ != nullptr) {
        unuse(std::exchange(current_, nullptr));
    }
    current_ = &newSlab(kSlabBytes);
    ++current_->users;
    return *current_;
}

Slab& RecentRecords::newSlab(std::size_t bytes) {
    std::unique_ptr<Slab> slab;
    if (bytes == kSlabBytes && !free_.empty()) {
        slab = std::move(free_.back());
        free_.pop_back();
    } else {
        slab = std::make_unique<Slab>();
        slab->data = std::make_unique_for_overwrite<base::Byte[]>(bytes);
        slab->capacity = static_cast<std::uint32_t>(bytes);
    }
    slab->used = 0;
    slab->place = taken_.size();
    slabBytes_ += slab->capacity;
    taken_.push_back(std::move(slab));
    return *taken_.back();
}

void RecentRecords::unuse(Slab* slab) {
    if (--slab->users != 0) {
        return;
    }
    slabBytes_ -= slab->capacity;
    std::unique_ptr<Slab> owned = std::move(taken_[slab->place]);
    if (owned->place + 1 != taken_.size()) {
        taken_[owned->place] = std::move(taken_.back());
        taken_[owned->place]->place = owned->place;
    }
    taken_.pop_back();
    if (owned->capacity == kSlabBytes && free_.size() < kFreeSlabs) {
        free_.push_back(std::move(owned));
    }
}

void RecentRecords::add(const RecentRecord& record) {
    if (count_ == ring_.size()) {
        resize(ring_.empty() ? kRingStart : ring_.size() * 2);
    }
    ring_[(head_ + count_) & (ring_.size() - 1)] = record;
    ++count_;
    ++record.slab->users;
}

void RecentRecords::resize(std::size_t places) {
    std::vector<RecentRecord> ring(places);
    for (std::size_t i = 0; i < count_; ++i) {
        ring[i] = ring_[(head_ + i) & (ring_.size() - 1)];
    }
    ring_ = std::move(ring);
    head_ = 0;
}

RecentRecord* RecentRecords::find(base::LogIndex index) {
    if (index < first_ || index - first_ >= count_) {
        return nullptr;
    }
    RecentRecord& record = ring_[(head_ + (index - first_)) & (ring_.size() - 1)];
    return record.slab != nullptr ? &record : nullptr;
}

void RecentRecords::popFront() {
    RecentRecord& record = ring_[head_];
    if (record.slab != nullptr) {
        unuse(std::exchange(record.slab, nullptr));
    }
    head_ = (head_ + 1) & (ring_.size() - 1);
    ++first_;
    --count_;
}

void RecentRecords::evict(base::LogIndex upTo) {
    while (count_ != 0 && first_ <= upTo && (overBudget() || ring_[head_].slab == nullptr)) {
        popFront();
    }
    if (ring_.size() > kRingStart && count_ < ring_.size() / 8) {
        resize(ring_.size() / 4);
    }
}

void RecentRecords::drop(base::LogIndex index) {
    if (RecentRecord* record = find(index)) {
        unuse(std::exchange(record->slab, nullptr));
    }
    while (count_ != 0 && ring_[head_].slab == nullptr) {
        popFront();
    }
}

} // namespace millrace::log
