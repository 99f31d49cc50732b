// SPDX-License-Identifier: Apache-2.0
// Random numbers that are equal on every machine for one seed, unlike the distributions of
// <random>. Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace millrace::support {

// splitmix64.
class Random {
  public:
    explicit Random(std::uint64_t seed) : state_(seed) {}

    std::uint64_t next() {
        std::uint64_t z = (state_ += 0x9E3779B97F4A7C15ULL);
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
        z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
        return z ^ (z >> 31);
    }
    // 0 <= result < bound; 0 for bound 0.
    std::uint64_t below(std::uint64_t bound) { return bound == 0 ? 0 : next() % bound; }
    std::uint64_t between(std::uint64_t least, std::uint64_t most) {
        return least + below(most - least + 1);
    }
    bool chance(unsigned percent) { return below(100) < percent; }
    std::string bytes(std::size_t count) {
        std::string out(count, '\0');
        for (char& c : out) {
            c = static_cast<char>(next());
        }
        return out;
    }

  private:
    std::uint64_t state_;
};

} // namespace millrace::support
