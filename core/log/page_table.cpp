// SPDX-License-Identifier: Apache-2.0
// Bookkeeping of page versions and of the segments that hold them.
#include "log/page_table.h"

#include "base/check.h"

#include <cstring>

namespace millrace::log {

namespace {

std::size_t hashOf(const PageKey& key) {
    std::uint64_t hash = key.object * 0x9E3779B97F4A7C15ULL;
    hash ^= (hash >> 29) + key.part.record * 0xBF58476D1CE4E5B9ULL;
    hash ^= (hash >> 31) + (std::uint64_t{key.kind} << 32 | key.part.slot) * 0x94D049BB133111EBULL;
    return static_cast<std::size_t>(hash ^ (hash >> 32));
}

} // namespace

// Part of the format in effect: a page is looked for in no other bucket. But a reader takes every
// bucket, so another hash would do no harm to what is on disk.
std::size_t bucketOf(const PageKey& key) {
    return hashOf(key) % kBuckets;
}

std::string describe(const PageKey& key) {
    std::string text =
        "kind " + std::to_string(key.kind) + " of object " + std::to_string(key.object);
    if (key.part) {
        text += " at " + std::to_string(key.part.record) + "." + std::to_string(key.part.slot);
    }
    return text;
}

PageTable::PageTable() : buckets_(kBuckets, Pages(0, &hashOf)) {}

void PageTable::take(const PageSpot& spot) {
    SegmentUse& use = segments_[spot.segment];
    use.live += pageRecordBytes(spot.length);
    use.held += pageRecordBytes(spot.length);
}

void PageTable::free(const PageSpot& spot) {
    const auto use = segments_.find(spot.segment);
    MILLRACE_CHECK(use != segments_.end() && use->second.held >= pageRecordBytes(spot.length));
    use->second.held -= pageRecordBytes(spot.length);
    if (use->second.held == 0) {
        segments_.erase(use);
    }
}

void PageTable::letGo(const PageSpot& spot, std::uint64_t born) {
    if (spot.segment == 0) {
        return;
    }
    segments_[spot.segment].live -= pageRecordBytes(spot.length);
    if (born == round_) {
        free(spot);
    } else {
        replacedNow_.push_back(spot);
    }
}

void PageTable::adopt(std::size_t bucket, const BucketEntry& entry) {
    const PageKey key{entry.kind, entry.object, {entry.record, entry.slot}};
    buckets_[bucket][key] = Placed{entry.spot, entry.sequence, 0};
    take(entry.spot);
}

void PageTable::adoptBucket(std::size_t bucket, const PageSpot& spot) {
    spots_[bucket] = spot;
    if (spot.segment != 0) {
        take(spot);
    }
}

void PageTable::adoptOld(const PageSpot& spot) {
    segments_[spot.segment].held += pageRecordBytes(spot.length);
    replacedBefore_.push_back(spot);
}

void PageTable::put(const PageKey& key, const PageSpot& spot, std::uint64_t sequence) {
    const std::size_t bucket = bucketOf(key);
    take(spot);
    const auto [at, isNew] = buckets_[bucket].try_emplace(key);
    if (!isNew) {
        letGo(at->second.spot, at->second.born);
    }
    at->second = Placed{spot, sequence, round_};
    dirty_[bucket] = true;
}

void PageTable::drop(const PageKey& key) {
    const std::size_t bucket = bucketOf(key);
    const auto found = buckets_[bucket].find(key);
    if (found == buckets_[bucket].end()) {
        return;
    }
    letGo(found->second.spot, found->second.born);
    buckets_[bucket].erase(found);
    dirty_[bucket] = true;
}

void PageTable::move(const PageKey& key, const PageSpot& spot) {
    const auto found = buckets_[bucketOf(key)].find(key);
    MILLRACE_CHECK(found != buckets_[bucketOf(key)].end());
    put(key, spot, found->second.sequence);
}

std::string PageTable::encode(std::size_t bucket) const {
    std::string out;
    out.reserve(buckets_[bucket].size() * sizeof(BucketEntry));
    for (const auto& [key, placed] : buckets_[bucket]) {
        BucketEntry entry;
        entry.object = key.object;
        entry.record = key.part.record;
        entry.sequence = placed.sequence;
        entry.kind = key.kind;
        entry.slot = key.part.slot;
        entry.spot = placed.spot;
        char raw[sizeof entry];
        std::memcpy(raw, &entry, sizeof entry);
        out.append(raw, sizeof raw);
    }
    return out;
}

void PageTable::placeBucket(std::size_t bucket, const PageSpot& spot) {
    if (spot.segment != 0) {
        take(spot);
    }
    letGo(spots_[bucket], spotBorn_[bucket]);
    spots_[bucket] = spot;
    spotBorn_[bucket] = round_;
    dirty_[bucket] = false;
}

void PageTable::roundFinished() {
    for (const PageSpot& spot : replacedBefore_) {
        free(spot);
    }
    replacedBefore_ = std::move(replacedNow_);
    replacedNow_.clear();
    ++round_;
}

std::size_t PageTable::size() const {
    std::size_t sum = 0;
    for (const Pages& bucket : buckets_) {
        sum += bucket.size();
    }
    return sum;
}

std::uint64_t PageTable::liveBytes() const {
    std::uint64_t sum = 0;
    for (const auto& [number, use] : segments_) {
        sum += use.live;
    }
    return sum;
}

} // namespace millrace::log
