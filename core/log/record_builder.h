// SPDX-License-Identifier: Apache-2.0
// The open record: payloads go straight into a slab (their only copy), the table is kept beside and
// laid behind them at close().
//
// No allocation per entry. Salt, knownDurable and the header's checksum are the writer's, because
// only it knows the file. Lives on: the log's loop.
#pragma once

#include "log/commit_log.h"
#include "log/format.h"
#include "log/recent_records.h"

#include <optional>
#include <vector>

namespace millrace::log {

class RecordBuilder {
  public:
    RecordBuilder();

    bool isOpen() const { return slab_ != nullptr; }
    LogIndex index() const { return header_.index; }
    // What a record of this entry alone takes on disk.
    static std::uint64_t bytesAlone(const Entry& entry, std::uint64_t payloadBytes);

    void open(Slab& slab, LogIndex index, std::uint32_t term, std::int64_t wallMs);
    // The entry's slot, or nothing if the record has no room for it.
    std::optional<std::uint32_t> tryAdd(const Entry& entry, std::uint64_t payloadBytes);
    RecentRecord close();
    // Holders that let go of entries of the open record.
    void release(std::uint64_t count) { references_ -= count < references_ ? count : references_; }

    // Of the open record, and of the last one until the next open().
    bool somebodyWaits() const { return somebodyWaits_; }
    std::uint64_t references() const { return references_; }
    std::uint64_t referencedBytes() const { return referencedBytes_; }
    std::int64_t wallMs() const { return header_.wallMs; }

    std::uint32_t entries() const { return static_cast<std::uint32_t>(table_.size()); }
    bool read(std::uint32_t slot, Stored& out) const;

  private:
    struct Bucket {
        std::uint32_t life = 0; // of the table of route lists: one a record
        std::uint16_t ordinal = 0;
    };
    std::uint64_t bytesWith(std::uint64_t payloadBytes, std::size_t newRoutes) const;
    Bucket& bucketOf(std::span<const QueueId> routes);
    bool isList(std::uint16_t ordinal, std::span<const QueueId> routes) const;
    void copyPayload(const Entry& entry, TableEntry& row);

    Slab* slab_ = nullptr;
    RecordHeader header_;
    std::uint32_t begin_ = 0;
    std::vector<TableEntry> table_;
    std::vector<std::uint64_t> routeWords_;
    std::vector<std::uint32_t> routeStarts_; // word of each list's count
    std::vector<Bucket> buckets_;
    std::uint32_t life_ = 0;
    std::uint64_t references_ = 0;
    std::uint64_t referencedBytes_ = 0;
    bool somebodyWaits_ = false;
};

} // namespace millrace::log
