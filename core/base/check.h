// SPDX-License-Identifier: Apache-2.0
// MILLRACE_CHECK: a broken invariant ends the program, in release too. Only for errors of the programmer, never for input.
#pragma once

#include <cstdio>
#include <cstdlib>

#define MILLRACE_CHECK(condition)                                                                  \
    do {                                                                                           \
        if (!(condition)) [[unlikely]] {                                                           \
            std::fprintf(stderr, "millrace: invariant broken: %s at %s:%d\n", #condition,         \
                         __FILE__, __LINE__);                                                      \
            std::abort();                                                                          \
        }                                                                                          \
    } while (false)
