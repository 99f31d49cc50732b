// SPDX-License-Identifier: Apache-2.0
// Owners of descriptors and the few socket calls that Millrace makes. Every socket is non-blocking,
// close-on-exec, without Nagle's delay.
#pragma once

#include "base/result.h"
#include "net/address.h"

#include <string>
#include <string_view>
#include <utility>

namespace millrace::net {

// errno's words behind `what`.
base::Error systemError(std::string_view what);

// Owns a descriptor, socket or not; closes it once.
class Socket final {
  public:
    Socket() = default;
    explicit Socket(int descriptor) : descriptor_(descriptor) {}
    Socket(Socket&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
    Socket& operator=(Socket&& other) noexcept;
    Socket(const Socket&) = delete;
    Socket& operator=(const Socket&) = delete;
    ~Socket() { close(); }

    explicit operator bool() const { return descriptor_ >= 0; }
    int descriptor() const { return descriptor_; }
    void close();

    Address localAddress() const;
    Address peerAddress() const;

  private:
    int descriptor_ = -1;
};

// A non-blocking listening socket. Port 0 lets the system choose; localAddress() tells.
base::Result<Socket> listenOn(const Address& address);
// Starts connecting; writable when it is done, connectResult() tells how it went.
base::Result<Socket> connectTo(const Address& address);
base::Status connectResult(const Socket& socket);
void setNoDelay(const Socket& socket);

// Raises the soft limit of descriptors to the hard one; returns what then holds.
std::uint64_t raiseDescriptorLimit();

} // namespace millrace::net
