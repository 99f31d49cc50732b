// SPDX-License-Identifier: Apache-2.0
// Waits for what another thread reports through a wake callback, without sleeping. The deadline
// only ends a test that hangs.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>

namespace millrace::support {

class WakeSignal {
  public:
    // To be given to the component; must not outlive this object.
    std::function<void()> callback() {
        return [this] { ring(); };
    }
    void ring() {
        const std::lock_guard lock(mutex_);
        ++rings_;
        changed_.notify_all();
    }
    // True once `done` says so; it is asked now and after every ring, on the caller's thread and
    // without a lock held.
    bool waitFor(const std::function<bool()>& done) {
        const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30);
        std::uint64_t seen = 0;
        for (;;) {
            {
                const std::lock_guard lock(mutex_);
                seen = rings_;
            }
            if (done()) {
                return true;
            }
            std::unique_lock lock(mutex_);
            if (!changed_.wait_until(lock, deadline, [&] { return rings_ != seen; })) {
                return false;
            }
        }
    }

  private:
    std::mutex mutex_;
    std::condition_variable changed_;
    std::uint64_t rings_ = 0;
};

} // namespace millrace::support
