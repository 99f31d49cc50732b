// SPDX-License-Identifier: Apache-2.0
// Time as a seam: tests move it by hand. Peers' timeouts use the monotonic clock, deadlines of messages the wall clock.
#pragma once

#include <chrono>

namespace millrace::base {

class Clock {
  public:
    virtual ~Clock() = default;
    // Monotonic; only differences mean something.
    virtual std::chrono::nanoseconds now() const = 0;
    // Milliseconds since 1970-01-01 UTC; may jump.
    virtual std::chrono::milliseconds wallNow() const = 0;
};

class SystemClock final : public Clock {
  public:
    std::chrono::nanoseconds now() const override {
        return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch());
    }
    std::chrono::milliseconds wallNow() const override {
        return std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::system_clock::now().time_since_epoch());
    }
};

} // namespace millrace::base
