// SPDX-License-Identifier: Apache-2.0
// The seam through which the engine speaks to one channel of one peer. Everything said here has
// been released by its horizon: what a client hears is on disk if its durability says so. Lives on:
// the engine's loop. Calls come from within calls of Broker and Channel. Only resumed() may call
// back into the engine or destroy the channel; the others only note and write.
#pragma once

#include "base/bytes.h"
#include "base/ids.h"
#include "base/refusal.h"

#include <cstdint>
#include <memory>
#include <string_view>

namespace millrace::engine {

// A message as stored: views into the log's memory. `body` may be only the first part of bodySize
// bytes, or empty; the rest follows by piece(), with nothing else of this channel between.
struct MessageView {
    std::string_view exchange;
    std::string_view routingKey;
    base::Bytes properties; // flags and list as on the wire (AMQP 0-9-1 content header without
                            // class, weight and size)
    base::Bytes body;
    std::uint64_t bodySize = 0;
    std::shared_ptr<const void> owner; // null: valid only during the call
};

struct Delivery {
    std::string_view consumerTag; // empty: answer to basic.get
    std::uint64_t deliveryTag = 0;
    bool redelivered = false;
    std::uint32_t remaining = 0; // basic.get: ready messages left
    std::int64_t deliveryCount =
        -1; // >= 0: add header x-delivery-count (quorum queues, from the second delivery)
    MessageView message;
};

struct Returned {
    base::ReplyCode code = base::ReplyCode::noRoute;
    MessageView message;
};

enum class Appetite { more, full }; // full: nothing until Channel::writable()

class Client {
  public:
    virtual ~Client() = default;
    virtual Appetite deliver(const Delivery& delivery) = 0;
    // Next piece of the body of the delivery before. `last` ends it.
    virtual Appetite piece(base::Bytes bytes, bool last) = 0;
    // Publishes from `from` to `to` (sequence numbers of the channel, from 1) are confirmed, or
    // refused (nack).
    virtual void confirmed(std::uint64_t from, std::uint64_t to, bool accepted) = 0;
    // A mandatory message of a transaction that no queue takes. Outside transactions publish() says
    // so itself.
    virtual void returned(const Returned& returned) = 0;
    // Server-sent cancel: the consumer's queue is gone. Empty tag: the basic.get that was coming
    // finds nothing (get-empty).
    virtual void cancelled(std::string_view consumerTag) = 0;
    // What was awaited (Broker::await) has happened; `refused` is set where it ended badly. Ticket
    // 0 with `refused`: this channel cannot go on (e.g. the rest of a body cannot be read) and is
    // to be closed with it.
    virtual void resumed(std::uint64_t ticket, const base::Refusal* refused) = 0;
};

} // namespace millrace::engine
