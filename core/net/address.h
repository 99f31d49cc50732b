// SPDX-License-Identifier: Apache-2.0
// An IPv4 or IPv6 address with a port, as people write it: 127.0.0.1:5672, [::1]:5672. No names:
// nothing here asks a resolver.
#pragma once

#include "base/result.h"

#include <sys/socket.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace millrace::net {

class Address {
  public:
    Address() = default;
    Address(const sockaddr* raw, socklen_t length);
    // `host` is a numeric address without brackets.
    static base::Result<Address> parse(std::string_view host, std::uint16_t port);

    const sockaddr* raw() const { return reinterpret_cast<const sockaddr*>(&storage_); }
    socklen_t length() const { return length_; }
    bool isV6() const { return storage_.ss_family == AF_INET6; }
    // 127.0.0.0/8, ::1, and 127.0.0.0/8 mapped into IPv6.
    bool isLoopback() const;
    bool isAny() const;
    std::uint16_t port() const;
    std::string host() const;
    std::string text() const;

  private:
    sockaddr_storage storage_{};
    socklen_t length_ = 0;
};

} // namespace millrace::net
