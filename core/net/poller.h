// SPDX-License-Identifier: Apache-2.0
// What the event loop asks of the operating system: which descriptors are ready. Chosen at run
// time: epoll (Linux) or poll (everywhere).
//
// Level-triggered: a descriptor is reported again for as long as it stays ready. Lives on: the
// loop's thread.
#pragma once

#include "base/result.h"

#include <cstdint>
#include <memory>
#include <vector>

namespace millrace::net {

enum class Interest : std::uint8_t { none = 0, read = 1, write = 2, both = 3 };

constexpr bool wantsRead(Interest interest) {
    return (static_cast<int>(interest) & 1) != 0;
}
constexpr bool wantsWrite(Interest interest) {
    return (static_cast<int>(interest) & 2) != 0;
}
constexpr Interest interestIn(bool read, bool write) {
    return static_cast<Interest>((read ? 1 : 0) | (write ? 2 : 0));
}

// `generation` is what add() was given: it tells a descriptor from a later one of the same number.
struct Ready {
    int descriptor = -1;
    std::uint32_t generation = 0;
    bool readable = false;
    bool writable = false;
    bool broken = false; // error or hang-up; reported whatever the interest is
};

class Poller {
  public:
    virtual ~Poller() = default;
    virtual base::Status add(int descriptor, std::uint32_t generation, Interest interest) = 0;
    virtual void change(int descriptor, std::uint32_t generation, Interest interest) = 0;
    virtual void remove(int descriptor) = 0;
    // Replaces the contents of `ready`. timeoutMs < 0 waits for ever. A signal ends the wait early,
    // with nothing ready.
    virtual void wait(int timeoutMs, std::vector<Ready>& ready) = 0;
};

enum class Backend : std::uint8_t { epoll, poll };

} // namespace millrace::net
