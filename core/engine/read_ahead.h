// SPDX-License-Identifier: Apache-2.0
// Messages of one queue that were fetched from disk before their turn.
//
// Bounded: one batch at a time, whose size follows the bytes of the batch before
// (limits::kQueueReadAheadBytes, at most limits::kReadAheadMessages). Lives on: the engine's loop.
#pragma once

#include "log/commit_log.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace millrace::engine {

class ReadAhead final {
  public:
    ~ReadAhead() { clear(); }

    // Takes the message out; none: it is not here.
    std::optional<log::Stored> take(const base::MessageId& id);
    // The answer to a fetch. What was not taken of the batch before stays.
    // `sum` follows the bytes of all queues; it outlives this object.
    void add(std::vector<log::Stored> batch, std::size_t& sum);
    void clear();

    std::size_t batch() const { return batch_; } // how many to fetch next
    std::size_t bytes() const { return bytes_; }
    bool empty() const { return left_ == 0; }
    bool holds(const base::MessageId& id) const;

    std::uint64_t fetching = 0; // token of the fetch under way; 0: none

  private:
    std::vector<log::Stored> stored_; // by id; taken ones have kind 0
    std::size_t at_ = 0;
    std::size_t left_ = 0;
    std::size_t bytes_ = 0;
    std::size_t* sum_ = nullptr;
    std::size_t batch_ = 8;
};

} // namespace millrace::engine
