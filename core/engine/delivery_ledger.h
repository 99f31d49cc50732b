// SPDX-License-Identifier: Apache-2.0
// The unacknowledged deliveries of one channel: delivery tag -> queue, message, consumer, time;
// tags 1, 2, 3 ... in order.
//
// Bounded: up to 64 deliveries in a row of one consumer and of neighbouring slots are one entry of
// 40 bytes; entries that are done with go when they outnumber the others, so memory follows what is
// outstanding. No allocation per delivery. Lives on: the engine's loop. Knows queues and consumers
// by address only, never touches them.
#pragma once

#include "base/ids.h"
#include "engine/unacked_memory.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

namespace millrace::engine {

class Queue;
class Consumer;

// `count` neighbours: tags firstTag..., messages first, first + 1 slot ... `queue` is null if it
// was forgotten: nothing to do then.
struct Unacked {
    std::uint64_t firstTag = 0;
    std::uint32_t count = 0;
    base::MessageId first;
    Queue* queue = nullptr;
    Consumer* consumer = nullptr; // null: basic.get, or the consumer is gone
    std::uint32_t notedSeconds =
        0; // when the first of them was delivered, never later than it really was
    std::uint32_t owner = 0;

    base::MessageId at(std::uint32_t step) const { return {first.record, first.slot + step}; }
};

class DeliveryLedger {
  public:
    // `all`: what every ledger takes is counted there; null: nowhere.
    explicit DeliveryLedger(UnackedMemory* all = nullptr) : all_(all) {}
    ~DeliveryLedger();
    DeliveryLedger(const DeliveryLedger&) = delete;
    DeliveryLedger& operator=(const DeliveryLedger&) = delete;

    // Who receives: a consumer of a queue, or basic.get of a queue (consumer null). Small numbers,
    // used again after detach().
    using Owner = std::uint32_t;
    using Visitor = std::function<void(const Unacked&)>;

    Owner attach(Queue* queue, Consumer* consumer);
    // The consumer is gone: its outstanding deliveries stay and can be settled; the number is free
    // again when none is left.
    void detach(Owner owner);

    // A delivery that must be acknowledged, or (skip) one that need not. Returns its tag.
    std::uint64_t add(Owner owner, const base::MessageId& id, std::uint32_t nowSeconds);
    std::uint64_t skip() { return ++lastTag_; }

    // Settles one. None: the tag is unknown (never given, or settled before).
    std::optional<Unacked> settle(std::uint64_t tag);
    // Settles all that are out up to `tag` (0: all there are), in order of tags, in runs; `tag`
    // itself need not be out. The visitor must not call the ledger.
    void settleUpTo(std::uint64_t tag, const Visitor& visitor);
    // Everything outstanding, in order of tags; then it is empty. Owners stay attached.
    void takeAll(const Visitor& visitor);
    // The queue is deleted: its messages are no more; acks of their tags stay valid and do nothing.
    void forgetQueue(const Queue* queue);

    std::uint64_t outstanding() const { return outstanding_; }
    std::uint64_t outstandingOf(Owner owner) const { return owners_[owner].outstanding; }
    bool isOutstanding(std::uint64_t tag);
    std::uint64_t lastTag() const { return lastTag_; }
    // The oldest outstanding delivery (for consumer timeouts): only firstTag, queue, consumer,
    // notedSeconds, first; count 1.
    std::optional<Unacked> oldest() const;
    std::size_t memoryBytes() const;

  private:
    struct Entry { // 40 bytes
        std::uint64_t firstTag = 0;
        std::uint64_t mask = 0; // bit i: firstTag + i is outstanding, and is of slot + i
        base::LogIndex record = 0;
        std::uint32_t slot = 0;
        Owner owner = 0;
        std::uint32_t notedSeconds = 0;
    };
    struct OwnerState {
        Queue* queue = nullptr;
        Consumer* consumer = nullptr;
        std::uint64_t outstanding = 0;
        bool attached = false;
    };

    Entry* find(std::uint64_t tag);
    Unacked describe(const Entry& entry, unsigned bit, unsigned count) const;
    void visitRuns(const Entry& entry, std::uint64_t bits, const Visitor& visitor) const;
    void take(Entry& entry, std::uint64_t bits);
    void tidy();
    void freeIfIdle(Owner owner);
    void count();

    UnackedMemory* all_;
    std::size_t counted_ = 0;
    std::vector<Entry> entries_; // in order of tags; [0, head_) is dead
    std::size_t head_ = 0;
    std::size_t dead_ = 0; // entries from head_ on without a bit
    std::size_t hint_ = 0; // where the last one was found
    std::vector<OwnerState> owners_;
    std::vector<Owner> freeOwners_;
    std::uint64_t lastTag_ = 0;
    std::uint64_t outstanding_ = 0;
};

} // namespace millrace::engine
