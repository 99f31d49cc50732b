// SPDX-License-Identifier: Apache-2.0
// Whom a queue serves: its consumers by priority, in rings of those who can take a message, and
// outstanding basic.gets.
//
// Fair: within a priority round robin; a lower priority gets something only while no higher one can
// take. Exists only while a queue has consumers or gets. Lives on: the engine's loop.
#pragma once

#include "engine/consumer.h"
#include "engine/read_ahead.h"

#include <vector>

namespace millrace::engine {

class Serving final {
  public:
    struct Get {
        ChannelState* channel = nullptr;
        bool noAck = false;
    };

    bool empty() const { return consumers_.empty() && gets.empty(); }
    bool hasTaker() const { return ready_ != 0 || !gets.empty(); }
    const std::vector<Consumer*>& consumers() const { return consumers_; }
    bool hasExclusive() const { return consumers_.size() == 1 && consumers_[0]->exclusive; }

    void add(Consumer& consumer);    // not ready yet
    void remove(Consumer& consumer); // in whatever state
    void wake(Consumer& consumer);   // it can take now; goes to the end of its ring
    void rest(Consumer& consumer);   // it cannot
    // The next in turn of the highest priority that has somebody ready; null: nobody.
    Consumer* next() const;
    void rotate(Consumer& served); // it was served and can take more

    std::vector<Get> gets; // in order of asking
    ReadAhead ahead;

  private:
    struct Level {
        std::int32_t priority = 0;
        std::uint32_t consumers = 0;
        Consumer* first = nullptr; // of the ring of ready ones
    };
    Level& levelOf(const Consumer& consumer);

    std::vector<Consumer*> consumers_; // in order of arrival
    std::vector<Level> levels_;        // highest first
    std::uint32_t ready_ = 0;
};

} // namespace millrace::engine
