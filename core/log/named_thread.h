// SPDX-License-Identifier: Apache-2.0
// A std::thread with a name that shows in top -H and in debuggers. The owner joins it.
#pragma once

#include <pthread.h>

#include <thread>
#include <utility>

namespace millrace::log {

// `name`: at most 15 characters, else the system keeps the old one.
template <typename Work> std::thread namedThread(const char* name, Work work) {
    return std::thread([name, work = std::move(work)]() mutable {
#if defined(__APPLE__)
        pthread_setname_np(name);
#else
        pthread_setname_np(pthread_self(), name);
#endif
        work();
    });
}

} // namespace millrace::log
