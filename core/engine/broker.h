// SPDX-License-Identifier: Apache-2.0
// The engine: commands in, effects out. A state machine without threads, sockets, files or clocks of its own.
//
// Order: messages of one publisher to one queue keep their order; a queue is FIFO, returned messages go back to their place.
// Durable: everything that anyone outside can notice is released only when the log's horizon covers it (design: horizons). A command
// that changed something durable returns a Reply whose `visibleAt` must be synced before the peer may be told: use await().
// Lives on: the engine's loop.
#pragma once

#include "base/clock.h"
#include "catalog/spec.h"
#include "engine/client.h"
#include "log/checkpoint_store.h"
#include "log/commit_log.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace millrace::engine {

class Channel;    // engine/channel.h
class Connection; // engine/connection.h: owner of exclusive queues

template <typename T> struct Reply {
    T value{};
    base::LogIndex visibleAt = 0; // 0: at once
};
template <typename T> using Answer = base::Outcome<Reply<T>>;
struct Nothing {};

struct QueueDeclare {
    std::string_view vhost, name; // empty name: the server chooses (amq.gen-...)
    bool passive = false, durable = false, exclusive = false, autoDelete = false;
    base::Bytes arguments;
};
struct QueueDeclared {
    std::string name;
    std::uint32_t messages = 0, consumers = 0;
};
struct ExchangeDeclare {
    std::string_view vhost, name, type;
    bool passive = false, durable = false, autoDelete = false, internal = false;
    base::Bytes arguments;
};
struct Binding { // of a queue, or of an exchange, to a source exchange
    std::string_view vhost, source, destination, routingKey;
    bool toExchange = false;
    base::Bytes arguments;
};

} // namespace millrace::engine
