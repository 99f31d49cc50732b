// SPDX-License-Identifier: Apache-2.0
// Stop signals by signalfd. Lives on: the loop.
#include "server/signals.h"

#include <csignal>
#include <sys/signalfd.h>
#include <unistd.h>

namespace millrace::server {

namespace {

// What shells report for a program that a Ctrl+C ended.
constexpr int kInterrupted = 130;

sigset_t stopSignals() {
    sigset_t set;
    ::sigemptyset(&set);
    ::sigaddset(&set, SIGTERM);
    ::sigaddset(&set, SIGINT);
    return set;
}

} // namespace

void blockStopSignals() {
    const sigset_t set = stopSignals();
    ::pthread_sigmask(SIG_BLOCK, &set, nullptr);
    std::signal(SIGPIPE, SIG_IGN);
}

base::Result<std::unique_ptr<Signals>> Signals::open(net::EventLoop& loop,
                                                     std::function<void()> stop) {
    const sigset_t set = stopSignals();
    net::Socket descriptor(::signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC));
    if (!descriptor) {
        return net::systemError("cannot listen for signals");
    }
    std::unique_ptr<Signals> signals(new Signals(loop, std::move(descriptor), std::move(stop)));
    if (auto watched = loop.watch(signals->descriptor_.descriptor(), net::Interest::read, *signals);
        !watched) {
        return watched.error();
    }
    return signals;
}

Signals::Signals(net::EventLoop& loop, net::Socket descriptor, std::function<void()> stop)
    : loop_(loop), descriptor_(std::move(descriptor)), stop_(std::move(stop)) {}

Signals::~Signals() {
    loop_.forget(descriptor_.descriptor());
}

void Signals::ready(const net::Ready&) {
    signalfd_siginfo info{};
    while (::read(descriptor_.descriptor(), &info, sizeof info) == sizeof info) {
        if (asked_) {
            ::_exit(kInterrupted);
        }
        asked_ = true;
        stop_();
    }
}

} // namespace millrace::server
