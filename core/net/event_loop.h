// SPDX-License-Identifier: Apache-2.0
// One thread's loop over descriptors, timers and wake-ups, cut into turns.
//
// A turn ends after limits::kTurnBytes of input or limits::kTurnTime, at the latest when every
// ready descriptor has been served once; then the hook of onTurnEnd() runs: hand-over to the log,
// flush. So nobody waits longer for a turn's effects than one turn. Bounded: a wait never outlasts
// the next timer. Lives on: one thread; only wake() and stop() may be called from others.
#pragma once

#include "base/clock.h"
#include "base/result.h"
#include "net/poller.h"
#include "net/socket.h"

#include <atomic>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <vector>

namespace millrace::net {

// Served when its descriptor is ready. May remove itself or others from within ready().
class Watcher {
  public:
    virtual ~Watcher() = default;
    virtual void ready(const Ready& what) = 0;
};

class EventLoop final {
  public:
    // Names a timer until it has fired or was cancelled; default: none.
    struct TimerId {
        std::chrono::nanoseconds due{};
        std::uint64_t number = 0;
        friend auto operator<=>(const TimerId&, const TimerId&) = default;
    };

    static base::Result<std::unique_ptr<EventLoop>> create(Backend backend,
                                                           const base::Clock& clock);
    ~EventLoop();
    EventLoop(const EventLoop&) = delete;
    EventLoop& operator=(const EventLoop&) = delete;

    // --- descriptors. The watcher must outlive its registration.
    base::Status watch(int descriptor, Interest interest, Watcher& watcher);
    void change(int descriptor, Interest interest);
    void forget(int descriptor);

    // --- timers. A timer fires once, in the turn after it is due.
    TimerId after(std::chrono::nanoseconds delay, std::function<void()> action);
    void cancel(TimerId& timer);

    // --- other threads
    void wake(); // onWake()'s hook runs soon; several wakes may become one
    void stop(); // run() returns after the turn that is under way

    // --- turns
    void onWake(std::function<void()> hook) { wakeHook_ = std::move(hook); }
    // Returns whether work is left that needs no event: then the next turn follows at once.
    void onTurnEnd(std::function<bool()> hook) { turnEndHook_ = std::move(hook); }
    // Watchers report the input that they have read.
    void spent(std::size_t bytes) { turnBytes_ += bytes; }
    bool turnIsOver() const;
    std::chrono::nanoseconds now() const { return clock_.now(); }
    std::chrono::nanoseconds turnStart() const { return turnStart_; }
    std::chrono::nanoseconds longestTurn() const { return longestTurn_; }

    // Waits at most `atMost` (negative: for ever) and serves what is ready.
    void turn(std::chrono::milliseconds atMost);
    void run();

  private:
    struct Registration {
        Watcher* watcher = nullptr;
        std::uint32_t generation = 0;
    };
    class WakeWatcher;

    EventLoop(std::unique_ptr<Poller> poller, Socket wakeDescriptor, const base::Clock& clock);
    int waitTime(std::chrono::milliseconds atMost) const;
    void serve(const Ready& ready);
    void fireTimers();
    void endTurn();

    std::unique_ptr<Poller> poller_;
    const base::Clock& clock_;
    std::vector<Registration> registrations_; // by descriptor
    std::uint32_t lastGeneration_ = 0;
    std::vector<Ready> ready_;
    // Ordered by due time; a map rather than a heap, because most timers are cancelled before they
    // fire.
    std::map<TimerId, std::function<void()>> timers_;
    std::uint64_t lastTimer_ = 0;

    Socket wakeDescriptor_;
    std::unique_ptr<WakeWatcher> wakeWatcher_;
    std::atomic<bool> woken_{false};
    std::atomic<bool> stopping_{false};
    std::function<void()> wakeHook_;
    std::function<bool()> turnEndHook_;

    std::chrono::nanoseconds turnStart_{};
    std::chrono::nanoseconds longestTurn_{};
    std::size_t turnBytes_ = 0;
    bool workLeft_ = false;
};

} // namespace millrace::net
