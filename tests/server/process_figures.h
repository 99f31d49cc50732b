// SPDX-License-Identifier: Apache-2.0
// What the kernel says of a child: memory and descriptors, out of /proc. Zero where it does not
// say.
#pragma once

#include <chrono>
#include <cstdint>
#include <sys/types.h>

namespace millrace::server_tests {

inline constexpr std::uint64_t kMiB = 1024 * 1024;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kMemoryIsMeasurable = false; // a sanitizer's own memory hides the broker's
#else
inline constexpr bool kMemoryIsMeasurable = true;
#endif

std::uint64_t residentBytes(pid_t pid);
// The most that was ever resident, since the start or the last forgetPeak().
std::uint64_t peakResidentBytes(pid_t pid);
void forgetPeak(pid_t pid);
std::uint64_t openDescriptors(pid_t pid);
std::uint64_t threads(pid_t pid);
// CPU time used so far, in milliseconds.
std::uint64_t cpuMilliseconds(pid_t pid);
// Waits until it does next to nothing: what clients asked for is done. False: not in this time.
bool awaitQuiet(pid_t pid, std::chrono::seconds longest);

} // namespace millrace::server_tests
