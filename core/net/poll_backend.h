// SPDX-License-Identifier: Apache-2.0
// The poller by poll(2), which every system has: its cost follows the registered descriptors, so it
// is meant for tens of them.
#pragma once

#include "net/poller.h"

#include <poll.h>

namespace millrace::net {

class PollBackend final : public Poller {
  public:
    base::Status add(int descriptor, std::uint32_t generation, Interest interest) override;
    void change(int descriptor, std::uint32_t generation, Interest interest) override;
    void remove(int descriptor) override;
    void wait(int timeoutMs, std::vector<Ready>& ready) override;

  private:
    std::size_t placeOf(int descriptor) const;

    // Parallel: the kernel wants pollfd side by side.
    std::vector<pollfd> polled_;
    std::vector<std::uint32_t> generations_;
    std::vector<std::int32_t> places_; // by descriptor; -1 = not watched
};

} // namespace millrace::net
