// SPDX-License-Identifier: Apache-2.0
// Takes some entries of a record into a smaller one with the same index and the same slot numbers.
// Payloads and their checksums are taken as they are, so damage stays visible and is not made anew.
// Not synchronised.
#pragma once

#include "log/record_view.h"

#include <string>
#include <vector>

namespace millrace::log {

class SparseRecord {
  public:
    // Begins a record that stands for `from`, in a file with this salt.
    void begin(const RecordHeader& from, std::uint64_t salt);
    void add(const RecordView& from, std::uint32_t position);
    bool empty() const { return table_.empty(); }
    std::uint64_t references() const { return references_; }
    std::uint64_t referencedBytes() const { return header_.payloadBytes; }
    // Appends its bytes, a multiple of 8.
    void write(std::string& out);

  private:
    RecordHeader header_;
    std::string payload_;
    std::vector<TableEntry> table_;
    std::vector<std::uint32_t> slots_;
    std::vector<std::uint64_t> routeWords_;
    std::vector<std::uint16_t>
        ordinals_; // of a route list here, by its ordinal there; 0: not taken yet
    std::uint16_t lists_ = 0;
    std::uint64_t references_ = 0;
};

} // namespace millrace::log
