// SPDX-License-Identifier: Apache-2.0
// The event loop above its back ends: registrations by descriptor and generation, timers, wake-ups
// by eventfd, turns.
#include "net/event_loop.h"

#include "base/check.h"
#include "base/limits.h"
#include "net/epoll_backend.h"
#include "net/poll_backend.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

namespace millrace::net {

class EventLoop::WakeWatcher final : public Watcher {
  public:
    explicit WakeWatcher(EventLoop& loop) : loop_(loop) {}
    void ready(const Ready&) override {
        std::uint64_t count = 0;
        (void)!::read(loop_.wakeDescriptor_.descriptor(), &count, sizeof count);
        // Cleared before the hook: a wake during the hook makes another turn.
        loop_.woken_.store(false, std::memory_order_seq_cst);
        if (loop_.wakeHook_) {
            loop_.wakeHook_();
        }
    }

  private:
    EventLoop& loop_;
};

base::Result<std::unique_ptr<EventLoop>> EventLoop::create(Backend backend,
                                                           const base::Clock& clock) {
    std::unique_ptr<Poller> poller;
    if (backend == Backend::poll) {
        poller = std::make_unique<PollBackend>();
    } else {
        auto made = EpollBackend::create();
        if (!made) {
            return made.error();
        }
        poller = std::move(*made);
    }
    Socket wake(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
    if (!wake) {
        return systemError("cannot create the event loop's wake-up descriptor");
    }
    std::unique_ptr<EventLoop> loop(new EventLoop(std::move(poller), std::move(wake), clock));
    if (auto watched =
            loop->watch(loop->wakeDescriptor_.descriptor(), Interest::read, *loop->wakeWatcher_);
        !watched) {
        return watched.error();
    }
    return loop;
}

EventLoop::EventLoop(std::unique_ptr<Poller> poller, Socket wakeDescriptor,
                     const base::Clock& clock)
    : poller_(std::move(poller)), clock_(clock), wakeDescriptor_(std::move(wakeDescriptor)),
      wakeWatcher_(std::make_unique<WakeWatcher>(*this)), turnStart_(clock.now()) {}

EventLoop::~EventLoop() = default;

base::Status EventLoop::watch(int descriptor, Interest interest, Watcher& watcher) {
    const auto index = static_cast<std::size_t>(descriptor);
    if (index >= registrations_.size()) {
        registrations_.resize(index + 1);
    }
    MILLRACE_CHECK(registrations_[index].watcher == nullptr);
    const std::uint32_t generation = ++lastGeneration_;
    if (auto added = poller_->add(descriptor, generation, interest); !added) {
        return added;
    }
    registrations_[index] = {&watcher, generation};
    return {};
}

void EventLoop::change(int descriptor, Interest interest) {
    const Registration& registration = registrations_.at(static_cast<std::size_t>(descriptor));
    MILLRACE_CHECK(registration.watcher != nullptr);
    poller_->change(descriptor, registration.generation, interest);
}

void EventLoop::forget(int descriptor) {
    Registration& registration = registrations_.at(static_cast<std::size_t>(descriptor));
    MILLRACE_CHECK(registration.watcher != nullptr);
    poller_->remove(descriptor);
    registration = {};
}

EventLoop::TimerId EventLoop::after(std::chrono::nanoseconds delay, std::function<void()> action) {
    const TimerId timer{clock_.now() + delay, ++lastTimer_};
    timers_.emplace(timer, std::move(action));
    return timer;
}

void EventLoop::cancel(TimerId& timer) {
    timers_.erase(timer);
    timer = {};
}

void EventLoop::wake() {
    if (woken_.exchange(true, std::memory_order_seq_cst)) {
        return;
    }
    const std::uint64_t one = 1;
    // Can only fail when the counter is full, and then the loop wakes anyway.
    (void)!::write(wakeDescriptor_.descriptor(), &one, sizeof one);
}

void EventLoop::stop() {
    stopping_.store(true);
    wake();
}

bool EventLoop::turnIsOver() const {
    return turnBytes_ >= limits::kTurnBytes || clock_.now() - turnStart_ >= limits::kTurnTime;
}

int EventLoop::waitTime(std::chrono::milliseconds atMost) const {
    if (workLeft_) {
        return 0;
    }
    if (timers_.empty()) {
        return atMost.count() < 0 ? -1 : static_cast<int>(atMost.count());
    }
    // Rounded up: a timer that is due in 0.3 ms must not be polled for.
    const auto untilDue =
        std::chrono::ceil<std::chrono::milliseconds>(timers_.begin()->first.due - clock_.now());
    const auto bounded = std::clamp(untilDue, std::chrono::milliseconds{0},
                                    std::chrono::milliseconds{std::chrono::hours{1}});
    return static_cast<int>(atMost.count() < 0 ? bounded.count()
                                               : std::min(atMost, bounded).count());
}

void EventLoop::turn(std::chrono::milliseconds atMost) {
    poller_->wait(waitTime(atMost), ready_);
    turnStart_ = clock_.now();
    turnBytes_ = 0;
    for (const Ready& ready : ready_) {
        if (turnIsOver()) {
            endTurn();
        }
        serve(ready);
    }
    fireTimers();
    endTurn();
}

void EventLoop::serve(const Ready& ready) {
    const Registration registration = registrations_[static_cast<std::size_t>(ready.descriptor)];
    // Removed by somebody served before it, and perhaps its number is taken again.
    if (registration.watcher == nullptr || registration.generation != ready.generation) {
        return;
    }
    registration.watcher->ready(ready);
}

void EventLoop::fireTimers() {
    // Timers set by actions wait for the next turn, else an action that sets a timer of 0 would
    // never let go.
    const std::uint64_t newest = lastTimer_;
    const std::chrono::nanoseconds now = clock_.now();
    while (!timers_.empty() && timers_.begin()->first.due <= now &&
           timers_.begin()->first.number <= newest) {
        auto due = timers_.extract(timers_.begin());
        due.mapped()();
    }
}

void EventLoop::endTurn() {
    workLeft_ = turnEndHook_ && turnEndHook_();
    const std::chrono::nanoseconds now = clock_.now();
    longestTurn_ = std::max(longestTurn_, now - turnStart_);
    turnStart_ = now;
    turnBytes_ = 0;
}

void EventLoop::run() {
    while (!stopping_.load()) {
        turn(std::chrono::milliseconds{-1});
    }
}

} // namespace millrace::net
