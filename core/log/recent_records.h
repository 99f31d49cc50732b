// SPDX-License-Identifier: Apache-2.0
// Records in memory: a ring by log index over slabs of 64 KiB, in which records lie one after the
// other as they will on disk.
//
// Bounded: evict() drops the oldest beyond the budget, never one above the index that the caller
// allows. Views into a slab are valid until the next evict() or drop(). Lives on: the log's loop;
// the writer thread reads and seals headers of what is not evictable.
#pragma once

#include "base/bytes.h"
#include "base/ids.h"

#include <memory>
#include <vector>

namespace millrace::log {

struct Slab {
    std::unique_ptr<base::Byte[]> data;
    std::uint32_t capacity = 0;
    std::uint32_t used = 0;
    std::uint32_t users = 0; // records in it, and one while it is the current slab
    std::size_t place = 0;   // among the slabs in use
};

struct RecentRecord {
    Slab* slab = nullptr; // null: dropped
    std::uint32_t begin = 0;
    std::uint32_t bytes = 0;
    std::uint32_t payloadBytes = 0;
    std::uint32_t entries = 0;
    std::uint32_t references = 0; // scratch log only: holders left
    bool pushed = false;          // scratch log only: on its way to disk

    base::Byte* data() const { return slab->data.get() + begin; }
};

class RecentRecords {
  public:
    explicit RecentRecords(std::size_t budget) : budget_(budget) {}
    RecentRecords(const RecentRecords&) = delete;
    RecentRecords& operator=(const RecentRecords&) = delete;

    // The first record's index; before any add().
    void begin(base::LogIndex first) { first_ = first; }

    // A slab with room for `bytes`; the current one as long as it lasts. A record above a slab gets
    // one of its own size.
    Slab& slabFor(std::size_t bytes);
    // Indexes come without a gap.
    void add(const RecentRecord& record);
    RecentRecord* find(base::LogIndex index);
    base::LogIndex firstIndex() const { return first_; }
    std::size_t count() const { return count_; }

    bool overBudget() const { return memoryBytes() > budget_; }
    // Drops the oldest records at or below `upTo` while over the budget.
    void evict(base::LogIndex upTo);
    // Frees one record's bytes at once, wherever it stands.
    void drop(base::LogIndex index);
    std::size_t memoryBytes() const { return slabBytes_ + ring_.size() * sizeof(RecentRecord); }

  private:
    Slab& newSlab(std::size_t bytes);
    void unuse(Slab* slab);
    void resize(std::size_t places);
    void popFront();

    std::size_t budget_;
    std::vector<RecentRecord> ring_; // a power of two
    std::size_t head_ = 0;
    std::size_t count_ = 0;
    base::LogIndex first_ = 1;
    Slab* current_ = nullptr;
    std::vector<std::unique_ptr<Slab>> free_;
    std::vector<std::unique_ptr<Slab>> taken_;
    std::size_t slabBytes_ = 0;
};

} // namespace millrace::log
