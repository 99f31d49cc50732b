// SPDX-License-Identifier: Apache-2.0
#include "engine/random_name.h"

#include <cstdint>
#include <random>

namespace millrace::engine {

std::string randomName() {
    static constexpr char kDigits[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    static std::random_device device; // the operating system's: names must not be guessed
    std::string name;
    std::uint32_t bits = 0;
    for (int left = 0; name.size() < 22; left -= 6) {
        if (left < 6) {
            bits = device();
            left = 30;
        }
        name.push_back(kDigits[bits & 63]);
        bits >>= 6;
    }
    return name;
}

} // namespace millrace::engine
