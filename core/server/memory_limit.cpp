// SPDX-License-Identifier: Apache-2.0
// Memory limits out of /proc and /sys/fs/cgroup.
#include "server/memory_limit.h"

#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <string_view>

namespace millrace::server {

namespace {

constexpr std::uint64_t kUnlimited = std::numeric_limits<std::uint64_t>::max();

std::uint64_t numberIn(const std::string& path) {
    std::ifstream file(path);
    std::uint64_t value = 0;
    return file >> value ? value : kUnlimited; // "max" is no number
}

std::uint64_t hostMemory(const std::string& root) {
    std::ifstream file(root + "proc/meminfo");
    for (std::string word; file >> word;) {
        std::uint64_t kibibytes = 0;
        if (word == "MemTotal:" && file >> kibibytes) {
            return kibibytes * 1024;
        }
    }
    return kUnlimited;
}

// The limit may stand on any level between the process's group and the root.
std::uint64_t leastUpwards(const std::string& mount, std::string group, const char* file) {
    std::uint64_t least = kUnlimited;
    while (true) {
        least = std::min(least, numberIn(mount + group + "/" + file));
        const std::size_t slash = group.rfind('/');
        if (slash == std::string::npos) {
            return least;
        }
        group.resize(slash);
    }
}

} // namespace

std::uint64_t availableMemory(const std::string& root) {
    std::uint64_t least = hostMemory(root);
    std::ifstream groups(root + "proc/self/cgroup");
    for (std::string line; std::getline(groups, line);) {
        const std::size_t first = line.find(':');
        const std::size_t second = line.find(':', first + 1);
        if (first == std::string::npos || second == std::string::npos) {
            continue;
        }
        const std::string controllers = "," + line.substr(first + 1, second - first - 1) + ",";
        std::string group = line.substr(second + 1);
        group.erase(group.find_last_not_of('/') + 1);
        if (controllers == ",,") {
            least = std::min(least, leastUpwards(root + "sys/fs/cgroup", group, "memory.max"));
        } else if (controllers.find(",memory,") != std::string::npos) {
            least = std::min(
                least, leastUpwards(root + "sys/fs/cgroup/memory", group, "memory.limit_in_bytes"));
        }
    }
    return least;
}

std::uint64_t residentMemory() {
    std::ifstream file("/proc/self/statm");
    std::uint64_t total = 0;
    std::uint64_t resident = 0;
    if (!(file >> total >> resident)) {
        return 0;
    }
    return resident * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

} // namespace millrace::server
