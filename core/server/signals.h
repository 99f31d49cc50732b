// SPDX-License-Identifier: Apache-2.0
// SIGTERM and SIGINT as events of the loop. The first asks for an orderly stop, a second one ends
// the process at once.
#pragma once

#include "net/event_loop.h"

#include <functional>

namespace millrace::server {

// Blocks the signals in this thread and those that it starts from now on, and ignores SIGPIPE: call
// before any thread exists.
void blockStopSignals();

class Signals final : public net::Watcher {
  public:
    static base::Result<std::unique_ptr<Signals>> open(net::EventLoop& loop,
                                                       std::function<void()> stop);
    ~Signals() override;
    Signals(const Signals&) = delete;
    Signals& operator=(const Signals&) = delete;
    void ready(const net::Ready& what) override;

  private:
    Signals(net::EventLoop& loop, net::Socket descriptor, std::function<void()> stop);

    net::EventLoop& loop_;
    net::Socket descriptor_;
    std::function<void()> stop_;
    bool asked_ = false;
};

} // namespace millrace::server
