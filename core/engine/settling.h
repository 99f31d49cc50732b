// SPDX-License-Identifier: Apache-2.0
// The end of a delivery: the message is done with, or goes back to its place.
//
// A quorum queue's message that comes back more often than its delivery limit is dropped (dead
// letters come later). Lives on: the engine's loop.
#pragma once

#include "engine/channel_state.h"
#include "engine/queue.h"

#include <chrono>

namespace millrace::engine {

class Settling final {
  public:
    explicit Settling(Engine& engine) : engine_(engine) {}

    // One message of a queue is done with, whatever state it was in.
    void done(Queue& queue, const base::MessageId& id);
    // It was out for delivery and comes back.
    void giveBack(Queue& queue, const base::MessageId& id);
    // A run of deliveries that the ledger has just let go. Credit is looked at by the caller: see
    // credited().
    void settle(ChannelState& channel, const Unacked& unacked, bool requeue);
    // The consumer, or the whole channel, may take more now.
    void credited(ChannelState& channel, Consumer* consumer, bool wasAtLimit);

    // Channels whose oldest delivery waits for its ack too long cannot go on. Looked at every few
    // seconds.
    void expire();

  private:
    Engine& engine_;
    std::chrono::nanoseconds expiredAt_{0};
};

} // namespace millrace::engine
