// SPDX-License-Identifier: Apache-2.0
// The segment files of the checkpoint: made full of zeros and synced before use, so that a sync of
// pages writes no metadata; recycled when no round needs them; one spare is kept, further free ones
// are removed. Bounded: take() makes a file only when none is free. Lives on: one thread at a time.
#pragma once

#include "base/file.h"
#include "log/checkpoint_format.h"

#include <memory>
#include <set>
#include <string>
#include <vector>

namespace millrace::log {

class PageSegments {
  public:
    PageSegments(base::FileSystem& files, std::string folder)
        : files_(files), folder_(std::move(folder)) {}

    static std::string nameOf(std::uint32_t number); // of its file

    // Reads names and headers. ErrorCode::unsupported for a segment of a newer version.
    base::Status open();
    bool empty() const { return all_.empty(); }
    std::size_t count() const { return all_.size(); }

    base::Result<std::unique_ptr<base::File>> openToRead(std::uint32_t number) const;
    // The pages of a segment in one read: small beside what a read of each would cost.
    base::Result<std::string> readAll(std::uint32_t number) const;

    // A segment nobody needs, open for writing. ErrorCode::full: no room for a new one now; try
    // again later.
    base::Result<std::unique_ptr<base::File>> take(std::uint32_t& number);
    // Only `needed` and `active` (0: none) hold something; the rest is free. Makes one spare if
    // there is none (a full disk is no failure here), removes what is more than that.
    base::Status keepOnly(const std::set<std::uint32_t>& needed, std::uint32_t active);

  private:
    std::string pathOf(std::uint32_t number) const;
    base::Result<std::uint32_t> make();
    base::Status fill(base::File& file, std::uint32_t number);

    base::FileSystem& files_;
    std::string folder_;
    std::set<std::uint32_t> all_;
    std::set<std::uint32_t> free_;
    std::set<std::uint32_t> broken_; // of a wrong size or without a header: never used again
};

} // namespace millrace::log
