// SPDX-License-Identifier: Apache-2.0
// The poller by epoll(7): its cost follows the ready descriptors, not the registered ones.
#pragma once

#include "net/poller.h"
#include "net/socket.h"

#include <sys/epoll.h>

#include <array>

namespace millrace::net {

class EpollBackend final : public Poller {
  public:
    static base::Result<std::unique_ptr<Poller>> create();

    base::Status add(int descriptor, std::uint32_t generation, Interest interest) override;
    void change(int descriptor, std::uint32_t generation, Interest interest) override;
    void remove(int descriptor) override;
    void wait(int timeoutMs, std::vector<Ready>& ready) override;

  private:
    explicit EpollBackend(Socket epoll) : epoll_(std::move(epoll)) {}

    // One batch; the kernel rotates its ready list, so nobody starves when more are ready.
    static constexpr int kEventsPerWait = 256;
    Socket epoll_;
    std::array<epoll_event, kEventsPerWait> events_{};
};

} // namespace millrace::net
