// SPDX-License-Identifier: Apache-2.0
// One seed a test, from MILLRACE_SEED or fixed, told with the command that repeats the failure.
#pragma once

#include "support/random.h"

#include <QTest>

#include <cerrno>

#include <cstdint>
#include <cstdio>
#include <cstdlib>

namespace millrace::support {

inline std::uint64_t seedOr(std::uint64_t fixed) {
    const char* text = std::getenv("MILLRACE_SEED");
    return text ? std::strtoull(text, nullptr, 0) : fixed;
}

// Lives for one test function, or one of its rounds, and says at its end how to repeat it, if it
// failed.
class Seed {
  public:
    explicit Seed(std::uint64_t fixed) : value_(seedOr(fixed)) {}
    Seed(const Seed&) = delete;
    Seed& operator=(const Seed&) = delete;
    ~Seed() {
        if (!QTest::currentTestFailed()) {
            return;
        }
        const char* function = QTest::currentTestFunction();
        std::fprintf(stderr, "replay: MILLRACE_SEED=%llu %s %s\n",
                     static_cast<unsigned long long>(value_), program_invocation_name,
                     function ? function : "");
    }
    std::uint64_t value() const { return value_; }

  private:
    std::uint64_t value_;
};

} // namespace millrace::support
