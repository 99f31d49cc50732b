// SPDX-License-Identifier: Apache-2.0
// Both back ends of the event loop as rows of a data-driven test: what holds for one must hold for
// the other.
#pragma once

#include "base/clock.h"
#include "net/event_loop.h"
#include "net/socket.h"

#include <QTest>

#include <functional>
#include <memory>
#include <sys/socket.h>
#include <utility>

namespace millrace::test {

inline void addBackends() {
    QTest::addColumn<int>("backend");
    QTest::newRow("epoll") << static_cast<int>(net::Backend::epoll);
    QTest::newRow("poll") << static_cast<int>(net::Backend::poll);
}

inline std::unique_ptr<net::EventLoop> makeLoop() {
    static const base::SystemClock clock;
    QFETCH(int, backend);
    auto loop = net::EventLoop::create(static_cast<net::Backend>(backend), clock);
    return loop ? std::move(*loop) : nullptr;
}

inline std::pair<net::Socket, net::Socket> socketPair() {
    int ends[2] = {-1, -1};
    ::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends);
    return {net::Socket(ends[0]), net::Socket(ends[1])};
}

// Turns until `done`, at most 10 s.
inline bool turnUntil(net::EventLoop& loop, const std::function<bool()>& done) {
    const auto end = loop.now() + std::chrono::seconds{10};
    while (!done() && loop.now() < end) {
        loop.turn(std::chrono::milliseconds{100});
    }
    return done();
}

} // namespace millrace::test
