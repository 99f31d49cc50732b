// SPDX-License-Identifier: Apache-2.0
// Bytes on their way to one peer: 64 KiB chunks for what is copied, references for large bodies,
// handed out for one gathering send.
//
// Ordered: bytes leave as they were appended. Bounded by its users (limits::kOutboxBytes,
// limits::kReplyBytes), not here; counted in OutboxMemory. An empty outbox holds no chunk. Lives
// on: the engine's loop.
#pragma once

#include "session/outbox_memory.h"

#include <cstddef>
#include <memory>
#include <vector>

namespace millrace::session {

using base::Byte;
using base::Bytes;

class Outbox {
  public:
    explicit Outbox(OutboxMemory& memory) : memory_(memory) {}
    ~Outbox() { clear(); }
    Outbox(const Outbox&) = delete;
    Outbox& operator=(const Outbox&) = delete;

    // Copies.
    void append(Bytes bytes);
    // Contiguous room for `size` bytes (at most limits::kOutboxChunkBytes) at the end; commit()
    // what was written there.
    Byte* reserve(std::size_t size);
    void commit(std::size_t size);
    // Sends `bytes` from where they lie; `owner` keeps them there.
    void refer(Bytes bytes, std::shared_ptr<const void> owner);

    std::size_t size() const { return size_; }
    bool empty() const { return size_ == 0; }
    // Bytes ever appended; only differences mean something.
    std::uint64_t appended() const { return appended_; }
    // The first spans to send, in order, as many as fit; returns how many.
    std::size_t gather(std::span<Bytes> out) const;
    // The first `count` bytes have been sent.
    void consumed(std::size_t count);
    void clear();

  private:
    struct Part {
        const Byte* data = nullptr;
        std::size_t size = 0;
        std::shared_ptr<const void> owner; // null: in a chunk
        std::size_t kept = 0;              // counted for what the owner keeps
        bool endsChunk = false;            // nothing behind it lies in the same chunk
    };
    static constexpr std::size_t kForgottenParts = 64; // sent ones before the vectors are moved up
    static constexpr std::size_t kKeptParts = 8;       // of an empty outbox
    void newChunk();

    OutboxMemory& memory_;
    std::vector<Part> parts_;
    std::size_t firstPart_ = 0;
    std::vector<OutboxMemory::Chunk> chunks_; // those that parts lie in, oldest first
    std::size_t firstChunk_ = 0;
    std::size_t tailUsed_ = 0;        // of the newest chunk
    const void* lastOwner_ = nullptr; // of the newest reference
    std::size_t size_ = 0;
    std::uint64_t appended_ = 0;
};

} // namespace millrace::session
