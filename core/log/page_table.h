// SPDX-License-Identifier: Apache-2.0
// Where the newest version of every page lies, and which segments are still needed.
//
// A place is needed by the state in work and by the last two finished rounds. So a version that was
// replaced is kept until two more rounds have finished; one that no finished round has seen goes at
// once. Pure memory; lives on: the checkpoint's writer thread.
#pragma once

#include "log/checkpoint_format.h"
#include "log/checkpoint_store.h"

#include <array>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

namespace millrace::log {

std::size_t bucketOf(const PageKey& key);
std::string describe(const PageKey& key);

struct SegmentUse {
    std::uint64_t live = 0; // bytes of records that the state in work names
    std::uint64_t held = 0; // and of those that only a finished round names
};

class PageTable {
  public:
    struct Placed {
        PageSpot spot;
        std::uint64_t sequence = 0;
        std::uint64_t born = 0; // round in which it got its place
    };
    using Pages = std::unordered_map<PageKey, Placed, std::size_t (*)(const PageKey&)>;

    PageTable();

    // --- recovery
    void adopt(std::size_t bucket, const BucketEntry& entry);
    void adoptBucket(std::size_t bucket, const PageSpot& spot);
    // Only the round before the adopted one needs this place.
    void adoptOld(const PageSpot& spot);

    // --- changes
    void put(const PageKey& key, const PageSpot& spot, std::uint64_t sequence);
    void drop(const PageKey& key);
    // The same version at another place.
    void move(const PageKey& key, const PageSpot& spot);

    // --- rounds
    bool dirty(std::size_t bucket) const { return dirty_[bucket]; }
    void markDirty(std::size_t bucket) { dirty_[bucket] = true; }
    std::string encode(std::size_t bucket) const;
    void placeBucket(std::size_t bucket, const PageSpot& spot); // clean from now on
    const std::array<PageSpot, kBuckets>& bucketSpots() const { return spots_; }
    // A root that names this state is safe on disk: what only the root before the last one needed
    // is free.
    void roundFinished();

    // --- eyes
    const Pages& pages(std::size_t bucket) const { return buckets_[bucket]; }
    std::size_t size() const;
    // Segments without an entry are free.
    const std::map<std::uint32_t, SegmentUse>& segments() const { return segments_; }
    std::uint64_t liveBytes() const;

  private:
    void take(const PageSpot& spot);
    void letGo(const PageSpot& spot, std::uint64_t born);
    void free(const PageSpot& spot);

    std::vector<Pages> buckets_;
    std::array<PageSpot, kBuckets> spots_{};
    std::array<std::uint64_t, kBuckets> spotBorn_{};
    std::array<bool, kBuckets> dirty_{};
    std::map<std::uint32_t, SegmentUse> segments_;
    std::vector<PageSpot> replacedNow_;    // named by the last root
    std::vector<PageSpot> replacedBefore_; // named by the root before only
    std::uint64_t round_ = 1;              // in work; rounds of this run, not of the disk
};

} // namespace millrace::log
