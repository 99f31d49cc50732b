// SPDX-License-Identifier: Apache-2.0
#include "server/process_figures.h"

#include <filesystem>
#include <fstream>
#include <poll.h>
#include <string>
#include <unistd.h>

namespace millrace::server_tests {

namespace {

std::string pathOf(pid_t pid, const char* file) {
    return "/proc/" + std::to_string(pid) + "/" + file;
}

// The number behind `name:` in /proc/pid/status.
std::uint64_t statusNumber(pid_t pid, const std::string& name) {
    std::ifstream file(pathOf(pid, "status"));
    for (std::string word; file >> word;) {
        std::uint64_t value = 0;
        if (word == name && file >> value) {
            return value;
        }
    }
    return 0;
}

} // namespace

std::uint64_t residentBytes(pid_t pid) {
    return statusNumber(pid, "VmRSS:") * 1024;
}

std::uint64_t peakResidentBytes(pid_t pid) {
    return statusNumber(pid, "VmHWM:") * 1024;
}

void forgetPeak(pid_t pid) {
    std::ofstream(pathOf(pid, "clear_refs")) << "5\n";
}

std::uint64_t openDescriptors(pid_t pid) {
    std::error_code failed;
    std::uint64_t count = 0;
    for (const auto& entry : std::filesystem::directory_iterator(pathOf(pid, "fd"), failed)) {
        (void)entry;
        ++count;
    }
    return count;
}

std::uint64_t threads(pid_t pid) {
    return statusNumber(pid, "Threads:");
}

std::uint64_t cpuMilliseconds(pid_t pid) {
    std::ifstream file(pathOf(pid, "stat"));
    std::string text;
    std::getline(file, text);
    text.erase(0, text.rfind(')') + 2); // the name may hold anything
    std::uint64_t ticks = 0;
    for (int field = 3; field <= 15; ++field) { // 14 and 15 are user and system time
        const std::string word = text.substr(0, text.find(' '));
        ticks += field >= 14 ? std::stoull(word) : 0;
        text.erase(0, word.size() + 1);
    }
    return ticks * 1000 / static_cast<std::uint64_t>(::sysconf(_SC_CLK_TCK));
}

bool awaitQuiet(pid_t pid, std::chrono::seconds longest) {
    constexpr int kSpanMs = 250;
    constexpr std::uint64_t kIdleMs = 20; // of CPU in that span; its clock ticks each 10 ms
    const auto deadline = std::chrono::steady_clock::now() + longest;
    while (std::chrono::steady_clock::now() < deadline) {
        const std::uint64_t before = cpuMilliseconds(pid);
        ::poll(nullptr, 0, kSpanMs);
        if (cpuMilliseconds(pid) - before <= kIdleMs) {
            return true;
        }
    }
    return false;
}

} // namespace millrace::server_tests
