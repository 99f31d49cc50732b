// SPDX-License-Identifier: Apache-2.0
// What a server is started with, as values: the configuration's result, and what tests set
// directly.
#pragma once

#include "base/diagnostics.h"
#include "net/address.h"
#include "net/poller.h"
#include "session/peer.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace millrace::server {

// One address to listen on. `required`: the server does not start without it (else: a machine
// without IPv6 goes without).
struct ListenAddress {
    net::Address address;
    bool required = true;
};

// A bound that is given as bytes, or as a share of the memory that this process may use.
struct Share {
    std::optional<std::uint64_t> absolute;
    double relative = 0;
};

struct Options {
    std::string dataDirectory;
    std::vector<ListenAddress> listeners; // empty: none
    std::string defaultUser = "guest";
    std::string defaultPassword = "guest";
    std::string defaultVhost = "/";
    session::SessionOptions session;
    base::Severity logLevel = base::Severity::info;
    Share memoryWatermark{std::nullopt, 0.6};
    Share diskFreeLimit{std::uint64_t{50'000'000}, 0};
    std::optional<std::uint64_t>
        totalMemory; // what this process may use; else asked of cgroup and host
    net::Backend backend = net::Backend::epoll;
};

} // namespace millrace::server
