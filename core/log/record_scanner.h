// SPDX-License-Identifier: Apache-2.0
// Walks over the records of one segment file in their order and steps over what is damaged: the
// next header is looked for at every multiple of 8. Bytes that cannot be read count as zeros, so
// one bad sector costs one record. Not synchronised.
#pragma once

#include "base/file.h"
#include "log/record_view.h"

#include <memory>
#include <optional>

namespace millrace::log {

// Fills `out`; what cannot be read becomes zeros, page by page.
void readOrZero(base::File& file, std::uint64_t offset, std::span<base::Byte> out);

class RecordScanner {
  public:
    // `window`: bytes read at once.
    RecordScanner(base::File& file, std::uint64_t salt, std::uint64_t begin, std::uint64_t end,
                  std::size_t window = 1024 * 1024);

    struct Found {
        std::uint64_t offset = 0;
        RecordHeader header;
        bool stepped = false; // something before it is not a record
    };
    // The next record whose index is above that of the one before.
    std::optional<Found> next();
    // The record found last; valid until next().
    RecordView view();
    base::Bytes bytes();

  private:
    // The bytes [offset, offset + length), read as needed; length is cut at the end.
    base::Bytes at(std::uint64_t offset, std::size_t length);

    base::File& file_;
    std::uint64_t salt_;
    std::uint64_t position_;
    std::uint64_t end_;
    std::size_t window_;
    base::LogIndex lastIndex_ = 0;
    Found found_;
    std::unique_ptr<base::Byte[]> buffer_;
    std::size_t capacity_ = 0;
    std::uint64_t bufferedFrom_ = 0;
    std::size_t buffered_ = 0;
};

} // namespace millrace::log
