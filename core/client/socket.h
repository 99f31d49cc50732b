// SPDX-License-Identifier: Apache-2.0
// A TCP socket for a client that waits with deadlines. Never blocks but in waitFor() and connect(),
// and there no longer than told.
#pragma once

#include "base/bytes.h"
#include "base/result.h"

#include <chrono>
#include <cstdint>
#include <string>

namespace millrace::client {

using Clock = std::chrono::steady_clock;

class Socket final {
  public:
    // Takes a connected descriptor over.
    explicit Socket(int descriptor);
    Socket(Socket&& other) noexcept;
    Socket& operator=(Socket&&) = delete;
    ~Socket();

    // Tries every address of `host` until the deadline (resolving the name itself cannot be
    // bounded).
    static base::Result<Socket> connect(const std::string& host, std::uint16_t port,
                                        Clock::time_point deadline);

    // What the kernel took; 0 when it takes nothing now.
    base::Result<std::size_t> send(base::Bytes bytes);
    // What was there; 0 when there is nothing now. ErrorCode::stopped when the peer has closed its
    // side.
    base::Result<std::size_t> receive(std::span<base::Byte> into);
    // Until there is something to receive, or (if asked for) room to send, or the deadline.
    void waitFor(bool room, Clock::time_point deadline) const;

    int descriptor() const { return descriptor_; }

  private:
    int descriptor_;
};

} // namespace millrace::client
