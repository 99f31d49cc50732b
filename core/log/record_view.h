// SPDX-License-Identifier: Apache-2.0
// A record's bytes as they lie in memory or in a file: verified, then looked at without copying.
// Views live as long as the bytes, which must start at a multiple of 8.
#pragma once

#include "base/ids.h"
#include "log/format.h"

#include <optional>
#include <span>
#include <vector>

namespace millrace::log {

// Sets the checksum; everything else is filled in.
void sealHeader(RecordHeader& header);

// The header at the start of `bytes` if it is one of this life of the file and its record can end
// at or before `room` bytes.
std::optional<RecordHeader> parseHeader(base::Bytes bytes, std::uint64_t salt, std::uint64_t room);

class RecordView {
  public:
    RecordView() = default;
    // `bytes`: the whole record. tableIntact() must be true before anything behind it is asked.
    RecordView(const RecordHeader& header, base::Bytes bytes);

    const RecordHeader& header() const { return header_; }
    bool tableIntact() const { return tableIntact_; }

    std::uint32_t entries() const { return header_.entries; }
    const TableEntry& entry(std::uint32_t position) const { return table_[position]; }
    base::Bytes payload(std::uint32_t position) const;
    bool payloadIntact(std::uint32_t position) const;
    // Slot number of an entry, and where a slot stands, if it is still there.
    std::uint32_t slot(std::uint32_t position) const {
        return slots_.empty() ? position : slots_[position];
    }
    std::optional<std::uint32_t> find(std::uint32_t slot) const;
    std::span<const base::QueueId> routes(std::uint32_t position) const;
    // Table and every payload.
    bool intact() const;

  private:
    bool checkTable(base::Bytes table);

    RecordHeader header_;
    base::Bytes payload_;
    std::span<const TableEntry> table_;
    std::span<const std::uint32_t> slots_;
    std::span<const std::uint64_t> routeWords_;
    mutable std::vector<std::uint32_t> routeStarts_; // word of each list, found on first use
    bool tableIntact_ = false;
};

} // namespace millrace::log
