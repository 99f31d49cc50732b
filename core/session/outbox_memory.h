// SPDX-License-Identifier: Apache-2.0
// The memory that all outboxes of one loop hold together, and spare chunks, so that a turn's output
// costs neither a page fault nor a trip to the allocator.
//
// It counts and does not refuse: a message must be whole. Above its bound isTight() makes every
// peer's share small (Link::bound()), so peers that do not read cost no more than a message each on
// top of it. Outlives its outboxes. Lives on: the loop.
#pragma once

#include "base/bytes.h"
#include "base/limits.h"

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

namespace millrace::session {

class OutboxMemory {
  public:
    using Chunk = std::unique_ptr<base::Byte[]>;

    explicit OutboxMemory(std::size_t bound = limits::kOutboxesBytes) : bound_(bound) {}

    Chunk take() {
        held_ += limits::kOutboxChunkBytes;
        if (spare_.empty()) {
            return Chunk(new base::Byte[limits::kOutboxChunkBytes]);
        }
        Chunk chunk = std::move(spare_.back());
        spare_.pop_back();
        return chunk;
    }
    void give(Chunk chunk) {
        held_ -= limits::kOutboxChunkBytes;
        if (spare_.size() < limits::kSpareChunks) {
            spare_.push_back(std::move(chunk));
        }
    }
    // What references keep from being freed.
    void keep(std::size_t bytes) { held_ += bytes; }
    void letGo(std::size_t bytes) { held_ -= bytes; }

    std::size_t held() const { return held_; }
    bool isTight() const { return held_ > bound_; }

  private:
    std::size_t bound_;
    std::size_t held_ = 0;
    std::vector<Chunk> spare_;
};

} // namespace millrace::session
