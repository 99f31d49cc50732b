// SPDX-License-Identifier: Apache-2.0
// Ready segments between the thread that prepares them and the writer that fills them: first
// prepared, first used. Any thread.
#pragma once

#include "log/segment.h"

#include <atomic>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>

namespace millrace::log {

class SpareShelf {
  public:
    void put(Spare spare);
    // Waits for one; nothing once closed.
    std::optional<Spare> take();
    // The one that would be used last, if any.
    std::optional<Spare> takeLast();
    void close();

    std::size_t ready() const { return ready_.load(std::memory_order_acquire); }
    // All that were ever put, less those of takeLast(): how many segments the log may have begun.
    std::uint64_t offered() const { return offered_.load(std::memory_order_acquire); }

  private:
    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<Spare> spares_;
    bool closed_ = false;
    std::atomic<std::size_t> ready_{0};
    std::atomic<std::uint64_t> offered_{0};
};

} // namespace millrace::log
