// SPDX-License-Identifier: Apache-2.0
// How much memory this process may use and how much it uses: the cgroup's limit (v2 or v1) counts,
// not the host's memory, because that is where a container is killed. Any thread.
#pragma once

#include <cstdint>
#include <string>

namespace millrace::server {

// The least of the host's memory and the limits of this process's cgroup and its parents. `root` is
// "/" but for tests.
std::uint64_t availableMemory(const std::string& root = "/");

// Resident bytes of this process; 0 where the system does not say.
std::uint64_t residentMemory();

} // namespace millrace::server
