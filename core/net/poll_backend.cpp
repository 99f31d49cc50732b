// SPDX-License-Identifier: Apache-2.0
// The poll(2) back end of the event loop. Lives on: the loop's thread.
#include "net/poll_backend.h"

#include "base/check.h"

#include <cerrno>

namespace millrace::net {

namespace {

short eventsFor(Interest interest) {
    int events = 0;
    if (wantsRead(interest)) {
        events |= POLLIN;
    }
    if (wantsWrite(interest)) {
        events |= POLLOUT;
    }
    return static_cast<short>(events);
}

} // namespace

std::size_t PollBackend::placeOf(int descriptor) const {
    const auto index = static_cast<std::size_t>(descriptor);
    MILLRACE_CHECK(descriptor >= 0 && index < places_.size() && places_[index] >= 0);
    return static_cast<std::size_t>(places_[index]);
}

base::Status PollBackend::add(int descriptor, std::uint32_t generation, Interest interest) {
    const auto index = static_cast<std::size_t>(descriptor);
    if (index >= places_.size()) {
        places_.resize(index + 1, -1);
    }
    MILLRACE_CHECK(places_[index] < 0);
    places_[index] = static_cast<std::int32_t>(polled_.size());
    polled_.push_back({descriptor, eventsFor(interest), 0});
    generations_.push_back(generation);
    return {};
}

void PollBackend::change(int descriptor, std::uint32_t generation, Interest interest) {
    const std::size_t place = placeOf(descriptor);
    polled_[place].events = eventsFor(interest);
    generations_[place] = generation;
}

void PollBackend::remove(int descriptor) {
    const std::size_t place = placeOf(descriptor);
    const std::size_t last = polled_.size() - 1;
    places_[static_cast<std::size_t>(polled_[last].fd)] = static_cast<std::int32_t>(place);
    polled_[place] = polled_[last];
    generations_[place] = generations_[last];
    polled_.pop_back();
    generations_.pop_back();
    places_[static_cast<std::size_t>(descriptor)] = -1;
}

void PollBackend::wait(int timeoutMs, std::vector<Ready>& ready) {
    ready.clear();
    int left = ::poll(polled_.data(), polled_.size(), timeoutMs);
    MILLRACE_CHECK(left >= 0 || errno == EINTR);
    for (std::size_t place = 0; place < polled_.size() && left > 0; ++place) {
        const short events = polled_[place].revents;
        if (events == 0) {
            continue;
        }
        --left;
        ready.push_back({polled_[place].fd, generations_[place], (events & POLLIN) != 0,
                         (events & POLLOUT) != 0, (events & (POLLERR | POLLHUP | POLLNVAL)) != 0});
    }
}

} // namespace millrace::net
