// SPDX-License-Identifier: Apache-2.0
// Whom next: takes ready messages of the queues on its work list to those who can take them.
//
// Ordered: a queue is FIFO; nothing overtakes a message that is not released or not in memory yet,
// and only that queue waits for it. Durable: nothing is delivered above the committed horizon or
// above the delivered mark that is logged. Bounded: works in slices; read-ahead of all queues
// together follows BrokerOptions::readAheadBytes. Lives on: the engine's loop.
#pragma once

#include "engine/channel_state.h"
#include "engine/queue.h"

#include <chrono>
#include <cstdint>
#include <unordered_map>
#include <vector>

namespace millrace::engine {

class Dispatch final {
  public:
    explicit Dispatch(Engine& engine) : engine_(engine) {}

    // --- what can set a queue going
    void published(Queue& queue) { // something new at its end
        if (queue.serving && !queue.inWork && !queue.onHorizon && queue.serving->hasTaker()) {
            push(queue);
        }
    }
    void wake(Queue& queue); // anything else
    void wakeConsumer(Consumer& consumer);
    void wakeChannel(ChannelState& channel); // room in the outbox or under its shared limit

    void run(std::chrono::nanoseconds deadline);
    bool hasWork() const { return first_ != nullptr; }
    // One basic.get, answered at once if the message can be had at once.
    void serveNow(Queue& queue) { deliverNext(queue); }
    void advanced();
    // Marks that the log refused for lack of room are asked for again; no horizon tells of room.
    void retryRefused();
    // A few times a second: who waited since all together had too much unacked goes on when that
    // is over; it may have acked nothing itself.
    void lookAtUnacked();
    void fetched(std::uint64_t token, std::vector<log::Stored> entries);

    // The queue's messages can be had up to here, so its mark covers the next publishes, too.
    void markAhead(Queue& queue, log::Waiting waiting, std::uint64_t nextOrdinal);

    // --- bodies in pieces
    void pump(ChannelState& channel);

    void forget(ChannelState& channel);
    void removeConsumer(Consumer& consumer);
    void removeGet(ChannelState& channel);
    void emptied(Queue& queue); // gets that were coming find nothing
    // The queue has no consumer and no get any more, or is deleted.
    void stopServing(Queue& queue);
    std::size_t memoryBytes() const { return aheadBytes_; }

  private:
    // A batch of a queue, or a piece for a channel; null both: nobody waits any more.
    struct Fetch {
        Queue* queue = nullptr;
        ChannelState* channel = nullptr;
    };
    struct Taker {
        ChannelState* channel = nullptr;
        Consumer* consumer = nullptr; // null: a get
        bool noAck = false;
    };

    void push(Queue& queue);
    void serve(Queue& queue);
    bool deliverNext(Queue& queue); // false: nothing more can be done for this queue now
    Taker takerOf(Queue& queue);
    bool markCovers(Queue& queue, std::uint64_t ordinal);
    void waitForHorizon(Queue& queue);
    bool obtain(Queue& queue, const base::MessageId& id, log::Stored& out);
    void fetchBatch(Queue& queue, const base::MessageId& id);
    void trimAhead();
    void handOver(Queue& queue, const Ready& ready, const log::Stored& stored, const Taker& taker);
    std::uint64_t account(Queue& queue, const base::MessageId& id, const Taker& taker);
    void startSending(ChannelState& channel, const base::MessageId& message, const LargeBody& body);
    bool pieceOf(Sending& sending, ChannelState& channel, log::Stored& out);
    void finishSending(ChannelState& channel);
    void drop(Queue& queue, const base::MessageId& id, const char* why);

    Engine& engine_;
    Queue* first_ = nullptr;
    Queue* last_ = nullptr;
    std::vector<Queue*> onHorizon_;
    bool markRefused_ = false;
    std::vector<Queue*> withAhead_;
    std::unordered_map<std::uint64_t, Fetch> fetches_;
    std::uint64_t lastToken_ = 0;
    std::size_t aheadBytes_ = 0;
    std::uint32_t nowSeconds_ = 0;
};

} // namespace millrace::engine
