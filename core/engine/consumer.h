// SPDX-License-Identifier: Apache-2.0
// One consumer: a channel's standing wish for the messages of a queue. Owned by its channel; its
// queue knows it by address and keeps those that can take a message in a ring of their priority.
// Lives on: the engine's loop.
#pragma once

#include "engine/delivery_ledger.h"

#include <cstdint>
#include <string>

namespace millrace::engine {

struct ChannelState;
class Queue;

class Consumer final {
  public:
    Consumer(ChannelState& at, Queue& of, std::string name)
        : channel(at), queue(of), tag(std::move(name)) {}
    Consumer(const Consumer&) = delete;
    Consumer& operator=(const Consumer&) = delete;

    ChannelState& channel;
    Queue& queue;
    std::string tag;
    DeliveryLedger::Owner owner = 0;
    std::uint32_t prefetch = 0; // 0: no limit of its own
    std::int32_t priority = 0;  // x-priority
    bool noAck = false;
    bool exclusive = false;

    // Its place in the ring; null: it cannot take anything now (credit, outbox) and is looked at
    // again when that changes.
    Consumer* next = nullptr;
    Consumer* previous = nullptr;
    bool isReady() const { return next != nullptr; }
};

} // namespace millrace::engine
