// SPDX-License-Identifier: Apache-2.0
// How the descriptors of a server are shared out: connections must not take those that the log
// needs to write, to read a backlog and to make room. Any thread.
#pragma once

#include "base/limits.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace millrace::server {

struct DescriptorShares {
    std::size_t connections = 0;
    std::size_t openSegments = 0; // of each log, for reading
};

inline DescriptorShares descriptorSharesOf(std::uint64_t limit) {
    using limits::kFixedDescriptors;
    const std::uint64_t most = kFixedDescriptors + 2 * limits::kOpenSegments;
    const std::uint64_t own = std::clamp<std::uint64_t>(limit / 8, kFixedDescriptors + 16, most);
    const std::uint64_t connections = limit > 2 * own ? limit - own : limit / 2;
    return {static_cast<std::size_t>(connections),
            static_cast<std::size_t>((own - kFixedDescriptors) / 2)};
}

} // namespace millrace::server
