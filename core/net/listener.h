// SPDX-License-Identifier: Apache-2.0
// Accepts connections on one address and hands them over.
//
// Where nobody more is wanted, or at the bound of descriptors (or of kernel memory), it leaves the
// poller and comes back by timer: the clients wait in the backlog and nothing spins. Bounded:
// limits::kAcceptsPerTurn connections a turn. Lives on: the loop.
#pragma once

#include "net/event_loop.h"

namespace millrace::net {

class Listener final : public Watcher {
  public:
    // Takes a connected, non-blocking socket.
    using Accepted = std::function<void(Socket socket)>;
    // Whether another one is welcome.
    using Welcome = std::function<bool()>;

    static base::Result<std::unique_ptr<Listener>> open(
        EventLoop& loop, const Address& address, Accepted accepted,
        Welcome welcome = [] { return true; });
    ~Listener() override;
    Listener(const Listener&) = delete;
    Listener& operator=(const Listener&) = delete;

    const Address& address() const { return address_; } // with the port that the system chose
    bool resting() const { return resting_; }           // out of the poller for want of descriptors
    void ready(const Ready& what) override;

  private:
    Listener(EventLoop& loop, Socket socket, Accepted accepted, Welcome welcome);
    void rest(int reason);

    EventLoop& loop_;
    Socket socket_;
    Address address_;
    Accepted accepted_;
    Welcome welcome_;
    bool resting_ = false;
    bool restReported_ = false; // one line of diagnostics for a shortage, not one a timer
    EventLoop::TimerId restTimer_;
};

} // namespace millrace::net
