// SPDX-License-Identifier: Apache-2.0
// The epoll back end of the event loop, level-triggered. Lives on: the loop's thread.
#include "net/epoll_backend.h"

#include "base/check.h"

#include <cerrno>

namespace millrace::net {

namespace {

std::uint32_t eventsFor(Interest interest) {
    std::uint32_t events = 0;
    if (wantsRead(interest)) {
        events |= EPOLLIN;
    }
    if (wantsWrite(interest)) {
        events |= EPOLLOUT;
    }
    return events;
}

epoll_event eventFor(int descriptor, std::uint32_t generation, Interest interest) {
    epoll_event event{};
    event.events = eventsFor(interest);
    event.data.u64 = (std::uint64_t{generation} << 32) | static_cast<std::uint32_t>(descriptor);
    return event;
}

} // namespace

base::Result<std::unique_ptr<Poller>> EpollBackend::create() {
    Socket epoll(::epoll_create1(EPOLL_CLOEXEC));
    if (!epoll) {
        return systemError("cannot create an epoll instance");
    }
    return std::unique_ptr<Poller>(new EpollBackend(std::move(epoll)));
}

base::Status EpollBackend::add(int descriptor, std::uint32_t generation, Interest interest) {
    epoll_event event = eventFor(descriptor, generation, interest);
    if (::epoll_ctl(epoll_.descriptor(), EPOLL_CTL_ADD, descriptor, &event) != 0) {
        return systemError("cannot watch a descriptor");
    }
    return {};
}

void EpollBackend::change(int descriptor, std::uint32_t generation, Interest interest) {
    epoll_event event = eventFor(descriptor, generation, interest);
    MILLRACE_CHECK(::epoll_ctl(epoll_.descriptor(), EPOLL_CTL_MOD, descriptor, &event) == 0);
}

void EpollBackend::remove(int descriptor) {
    MILLRACE_CHECK(::epoll_ctl(epoll_.descriptor(), EPOLL_CTL_DEL, descriptor, nullptr) == 0);
}

void EpollBackend::wait(int timeoutMs, std::vector<Ready>& ready) {
    ready.clear();
    const int count = ::epoll_wait(epoll_.descriptor(), events_.data(), kEventsPerWait, timeoutMs);
    MILLRACE_CHECK(count >= 0 || errno == EINTR);
    for (int i = 0; i < count; ++i) {
        const epoll_event& event = events_[static_cast<std::size_t>(i)];
        ready.push_back({static_cast<int>(event.data.u64 & 0xFFFFFFFFU),
                         static_cast<std::uint32_t>(event.data.u64 >> 32),
                         (event.events & EPOLLIN) != 0, (event.events & EPOLLOUT) != 0,
                         (event.events & (EPOLLERR | EPOLLHUP)) != 0});
    }
}

} // namespace millrace::net
