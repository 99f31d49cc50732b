// SPDX-License-Identifier: Apache-2.0
// The publishes of one channel in confirm mode that have not been confirmed: numbered 1, 2, 3 ...,
// each waiting for a log index.
//
// Order: released strictly by number; one that waits for nothing waits for those before it (AMQP
// leaves the order to the server). Bounded: neighbours that wait for one index with one verdict are
// one entry of 16 bytes. No allocation per publish. Lives on: the engine's loop.
#pragma once

#include "base/ids.h"

#include <cstdint>
#include <vector>

namespace millrace::engine {

class ConfirmLedger {
  public:
    // A publish whose verdict may be told when `index` is committed (0: at once). Returns its
    // number.
    std::uint64_t note(base::LogIndex index, bool accepted = true);

    // Tells visitor(from, to, accepted) of every publish that `committed` covers, in order,
    // neighbours with one verdict in one call. The visitor must not call the ledger.
    template <typename Visitor> void release(base::LogIndex committed, const Visitor& visitor) {
        while (head_ < entries_.size() && index(entries_[head_]) <= committed) {
            const std::uint64_t from = entries_[head_].first;
            const bool verdict = accepted(entries_[head_]);
            do {
                ++head_;
            } while (head_ < entries_.size() && index(entries_[head_]) <= committed &&
                     accepted(entries_[head_]) == verdict);
            visitor(from, endOf(head_ - 1), verdict);
        }
        tidy();
    }

    std::uint64_t last() const { return last_; } // the newest number; 0: none yet
    std::uint64_t waiting() const {
        return head_ < entries_.size() ? last_ + 1 - entries_[head_].first : 0;
    }
    // What the oldest waits for; 0: at once, or nothing is waiting.
    base::LogIndex nextIndex() const {
        return head_ < entries_.size() ? index(entries_[head_]) : 0;
    }
    std::size_t memoryBytes() const { return entries_.capacity() * sizeof(Entry); }

  private:
    struct Entry {
        std::uint64_t first = 0; // number of its first publish; the next entry's, or last_, ends it
        std::uint64_t indexAndVerdict = 0;
    };
    static base::LogIndex index(const Entry& entry) { return entry.indexAndVerdict >> 1; }
    static bool accepted(const Entry& entry) { return (entry.indexAndVerdict & 1) != 0; }
    std::uint64_t endOf(std::size_t at) const {
        return at + 1 < entries_.size() ? entries_[at + 1].first - 1 : last_;
    }
    void tidy();

    std::vector<Entry> entries_; // [0, head_) is released
    std::size_t head_ = 0;
    std::uint64_t last_ = 0;
};

} // namespace millrace::engine
