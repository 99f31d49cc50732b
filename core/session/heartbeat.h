// SPDX-License-Identifier: Apache-2.0
// When to say that we live, and when to believe that the peer does not: a frame once nothing was
// written for half an interval, rather early than late (Java's client gives up after one interval),
// the end after two whole intervals in a row in which nothing was read (RabbitMQ's rule). Any byte
// counts.
#pragma once

#include <chrono>
#include <cstdint>

namespace millrace::session {

class Heartbeat {
  public:
    enum class Due { nothing, send, drop };

    // `interval` 0 switches it off.
    void start(std::chrono::seconds interval, std::chrono::nanoseconds now);
    // `written` and `read` are counts of bytes that only rise. While `reading` is false the peer
    // cannot be blamed for silence.
    Due tick(std::chrono::nanoseconds now, std::uint64_t written, std::uint64_t read, bool reading);

  private:
    std::chrono::nanoseconds interval_{0};
    std::chrono::nanoseconds quiet_{0}; // for so long nothing is written, before a frame
    std::chrono::nanoseconds nextWrite_{0};
    std::chrono::nanoseconds nextReadCheck_{0};
    std::uint64_t written_ = 0;
    std::uint64_t read_ = 0;
    int silentIntervals_ = 0;
};

} // namespace millrace::session
