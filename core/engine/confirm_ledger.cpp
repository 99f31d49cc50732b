// SPDX-License-Identifier: Apache-2.0
// Publishes waiting for their log index, as runs.
#include "engine/confirm_ledger.h"

#include "base/check.h"

#include <algorithm>

namespace millrace::engine {

namespace {

constexpr std::size_t kTidyLeast = 64;     // released entries that are worth moving the others
constexpr std::size_t kKeptEntries = 2048; // 32 KiB stay for the next burst

} // namespace

std::uint64_t ConfirmLedger::note(base::LogIndex index, bool accepted) {
    MILLRACE_CHECK(index < base::kScratchBit);
    ++last_;
    if (head_ < entries_.size()) {
        // It cannot be told before its predecessor, so it may as well wait for that one's index.
        index = std::max(index, ConfirmLedger::index(entries_.back()));
    }
    const std::uint64_t indexAndVerdict = index << 1 | (accepted ? 1u : 0u);
    if (head_ == entries_.size() || entries_.back().indexAndVerdict != indexAndVerdict) {
        entries_.push_back({last_, indexAndVerdict});
    }
    return last_;
}

void ConfirmLedger::tidy() {
    if (head_ == entries_.size()) {
        entries_.clear();
        head_ = 0;
        if (entries_.capacity() > kKeptEntries) {
            entries_.shrink_to_fit();
        }
    } else if (head_ >= kTidyLeast && head_ * 2 > entries_.size()) {
        entries_.erase(entries_.begin(), entries_.begin() + static_cast<std::ptrdiff_t>(head_));
        head_ = 0;
    }
}

} // namespace millrace::engine
