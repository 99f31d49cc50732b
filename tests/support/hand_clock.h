// SPDX-License-Identifier: Apache-2.0
// A clock that stands still until the test moves it, or that each look moves on. Any thread may
// read it; it can also jump like a real wall clock.
#pragma once

#include "base/clock.h"

#include <atomic>

namespace millrace::support {

class HandClock final : public base::Clock {
  public:
    std::chrono::nanoseconds now() const override {
        return std::chrono::nanoseconds(now_.fetch_add(lookTakes_.load()));
    }
    std::chrono::milliseconds wallNow() const override {
        return std::chrono::milliseconds(wall_.load());
    }
    // Both clocks go on.
    void advance(std::chrono::nanoseconds by) {
        const auto after = now_.fetch_add(by.count()) + by.count();
        const auto before = after - by.count();
        wall_.fetch_add(after / kNanosecondsPerMillisecond - before / kNanosecondsPerMillisecond);
    }
    // As where everything between two looks takes long.
    void eachLookTakes(std::chrono::nanoseconds time) { lookTakes_.store(time.count()); }
    // The wall clock alone is set, back or forth.
    void jump(std::chrono::milliseconds by) { wall_.fetch_add(by.count()); }

  private:
    static constexpr std::int64_t kNanosecondsPerMillisecond = 1'000'000;
    mutable std::atomic<std::int64_t> now_{1'000'000'000};
    std::atomic<std::int64_t> lookTakes_{0};
    std::atomic<std::int64_t> wall_{1'700'000'000'000};
};

} // namespace millrace::support
