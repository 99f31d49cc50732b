// SPDX-License-Identifier: Apache-2.0
#include "log/record_builder.h"

#include "base/check.h"
#include "base/crc32c.h"
#include "base/limits.h"

#include <algorithm>

namespace millrace::log {

namespace {

constexpr std::size_t kMostEntries = limits::kRecordBytes / sizeof(TableEntry);
constexpr std::size_t kBuckets = 2 * kMostEntries; // at most half full: probing ends soon

std::uint64_t routeBytesOf(std::size_t routes) {
    return routes == 0 ? 0 : 8 * (1 + routes);
}

} // namespace

RecordBuilder::RecordBuilder() : buckets_(kBuckets) {
    table_.reserve(kMostEntries);
    routeWords_.reserve(limits::kRecordBytes / 8);
    routeStarts_.reserve(kMostEntries);
}

std::uint64_t RecordBuilder::bytesAlone(const Entry& entry, std::uint64_t payloadBytes) {
    return sizeof(RecordHeader) + align8(payloadBytes) + sizeof(TableEntry) +
           routeBytesOf(entry.routes.size());
}

void RecordBuilder::open(Slab& slab, LogIndex index, std::uint32_t term, std::int64_t wallMs) {
    MILLRACE_CHECK(!isOpen());
    slab_ = &slab;
    begin_ = slab.used;
    header_ = RecordHeader{};
    header_.index = index;
    header_.term = term;
    header_.wallMs = wallMs;
    table_.clear();
    routeWords_.clear();
    routeStarts_.clear();
    ++life_;
    references_ = 0;
    referencedBytes_ = 0;
    somebodyWaits_ = false;
}

std::uint64_t RecordBuilder::bytesWith(std::uint64_t payloadBytes, std::size_t newRoutes) const {
    return sizeof(RecordHeader) + align8(header_.payloadBytes + payloadBytes) +
           (table_.size() + 1) * sizeof(TableEntry) + routeWords_.size() * 8 +
           routeBytesOf(newRoutes);
}

bool RecordBuilder::isList(std::uint16_t ordinal, std::span<const QueueId> routes) const {
    const std::uint64_t* words = routeWords_.data() + routeStarts_[ordinal - 1];
    return words[0] == routes.size() && std::equal(routes.begin(), routes.end(), words + 1);
}

// The bucket of this list: it holds its ordinal, or is free for it.
RecordBuilder::Bucket& RecordBuilder::bucketOf(std::span<const QueueId> routes) {
    std::uint64_t hash = routes.size();
    for (const QueueId queue : routes) {
        hash = (hash ^ queue) * 0x9E3779B97F4A7C15ULL;
        hash ^= hash >> 29;
    }
    for (std::uint64_t at = hash;; ++at) {
        Bucket& bucket = buckets_[at % kBuckets];
        if (bucket.life != life_ || isList(bucket.ordinal, routes)) {
            return bucket;
        }
    }
}

std::optional<std::uint32_t> RecordBuilder::tryAdd(const Entry& entry, std::uint64_t payloadBytes) {
    const auto slot = static_cast<std::uint32_t>(table_.size());
    std::uint16_t ordinal = 0;
    Bucket* bucket = nullptr;
    if (!entry.routes.empty()) {
        if (slot != 0 && table_.back().routeList != 0 &&
            isList(table_.back().routeList, entry.routes)) {
            ordinal = table_.back().routeList; // a run of publishes to the same queues
        } else {
            bucket = &bucketOf(entry.routes);
            ordinal = bucket->life == life_ ? bucket->ordinal : std::uint16_t{0};
        }
    }
    const bool newList = !entry.routes.empty() && ordinal == 0;
    const std::uint64_t bytes = bytesWith(payloadBytes, newList ? entry.routes.size() : 0);
    const bool alone = slot == 0; // the slab was chosen for it
    if (begin_ + bytes > slab_->capacity ||
        (!alone && (bytes > limits::kRecordBytes || slot == kMostEntries))) {
        MILLRACE_CHECK(!alone);
        return std::nullopt;
    }
    if (newList) {
        routeStarts_.push_back(static_cast<std::uint32_t>(routeWords_.size()));
        routeWords_.push_back(entry.routes.size());
        routeWords_.insert(routeWords_.end(), entry.routes.begin(), entry.routes.end());
        ordinal = static_cast<std::uint16_t>(routeStarts_.size());
        *bucket = {life_, ordinal};
    }
    TableEntry row;
    row.references = entry.references;
    row.routeList = ordinal;
    row.kind = entry.kind;
    copyPayload(entry, row);
    table_.push_back(row);
    references_ += entry.references;
    referencedBytes_ += entry.references != 0 ? payloadBytes : 0;
    somebodyWaits_ |= entry.waiting == Waiting::somebody;
    return slot;
}

void RecordBuilder::copyPayload(const Entry& entry, TableEntry& row) {
    base::Byte* to = slab_->data.get() + begin_ + sizeof(RecordHeader) + header_.payloadBytes;
    for (const Bytes& part : entry.parts) {
        if (!part.empty()) {
            std::memcpy(to, part.data(), part.size());
            row.crc = base::crc32c(part, row.crc);
            to += part.size();
            header_.payloadBytes += static_cast<std::uint32_t>(part.size());
        }
    }
    row.end = header_.payloadBytes;
}

RecentRecord RecordBuilder::close() {
    MILLRACE_CHECK(isOpen() && !table_.empty());
    header_.entries = entries();
    header_.routeBytes = static_cast<std::uint32_t>(routeWords_.size() * 8);
    base::Byte* record = slab_->data.get() + begin_;
    const std::uint64_t payloadEnd = sizeof(RecordHeader) + header_.payloadBytes;
    const std::uint64_t tableAt = tableOffset(header_);
    std::memset(record + payloadEnd, 0, tableAt - payloadEnd);
    std::memcpy(record + tableAt, table_.data(), table_.size() * sizeof(TableEntry));
    if (!routeWords_.empty()) {
        std::memcpy(record + tableAt + table_.size() * sizeof(TableEntry), routeWords_.data(),
                    header_.routeBytes);
    }
    header_.tableCrc = base::crc32c({record + tableAt, tableBytes(header_)});
    std::memcpy(record, &header_, sizeof header_);
    RecentRecord closed;
    closed.slab = slab_;
    closed.begin = begin_;
    closed.bytes = static_cast<std::uint32_t>(recordBytes(header_));
    closed.payloadBytes = header_.payloadBytes;
    closed.entries = header_.entries;
    slab_->used = begin_ + closed.bytes;
    slab_ = nullptr;
    return closed;
}

bool RecordBuilder::read(std::uint32_t slot, Stored& out) const {
    if (!isOpen() || slot >= table_.size()) {
        return false;
    }
    const std::uint32_t begin = slot == 0 ? 0 : table_[slot - 1].end;
    out.kind = table_[slot].kind;
    out.payload = {slab_->data.get() + begin_ + sizeof(RecordHeader) + begin,
                   table_[slot].end - begin};
    return true;
}

} // namespace millrace::log
