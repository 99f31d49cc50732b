// SPDX-License-Identifier: Apache-2.0
// A routed message goes into the log and into its queues.
//
// Stored once, however many queues: in the durable log if it is persistent and a logged queue takes
// it, or if a quorum queue does; else in the scratch log. The entry names the logged queues and
// counts all of them. Lives on: the engine's loop.
#pragma once

#include "engine/entry.h"
#include "engine/queue.h"

#include <span>
#include <string_view>

namespace millrace::engine {

struct Engine;

struct Outgoing {
    std::string_view exchange, routingKey;
    base::Bytes properties;
    std::span<const base::Bytes> body;
    const LargeBody* large = nullptr; // instead of `body`
    bool persistent = false;
    bool inTransaction = false; // in effect with the commit entry that follows
};

class Placing final {
  public:
    explicit Placing(Engine& engine) : engine_(engine) {}

    static bool isDurable(bool persistent, std::span<Queue* const> queues);
    // `queues` must not be empty. The entry's kind is that of the id's log.
    base::Result<base::MessageId> append(const Outgoing& message, std::span<Queue* const> queues);
    void enter(const base::MessageId& id, std::span<Queue* const> queues, const LargeBody* large);

  private:
    void mark(std::span<Queue* const> queues);

    Engine& engine_;
};

} // namespace millrace::engine
