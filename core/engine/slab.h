// SPDX-License-Identifier: Apache-2.0
// Objects of one type at stable addresses, each named by a 32-bit number that is used again after
// removal. Not synchronised.
#pragma once

#include "base/check.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace millrace::engine {

template <typename T> class Slab {
  public:
    // A value-initialised object.
    std::uint32_t add() {
        if (!free_.empty()) {
            const std::uint32_t number = free_.back();
            free_.pop_back();
            return number;
        }
        if (used_ == chunks_.size() * kChunk) {
            MILLRACE_CHECK(used_ < kMost);
            chunks_.push_back(std::make_unique<T[]>(kChunk));
        }
        return static_cast<std::uint32_t>(used_++);
    }
    void remove(std::uint32_t number) {
        (*this)[number] = T{};
        free_.push_back(number);
    }
    T& operator[](std::uint32_t number) const { return chunks_[number / kChunk][number % kChunk]; }
    // Free ones too, which are as new.
    template <typename Visit> void each(const Visit& visit) const {
        for (std::size_t i = 0; i < used_; ++i) {
            visit((*this)[static_cast<std::uint32_t>(i)]);
        }
    }
    std::size_t size() const { return used_ - free_.size(); }

  private:
    static constexpr std::size_t kChunk = 64;           // a small vhost pays for one
    static constexpr std::size_t kMost = 0xFFFFFF00ULL; // HashIndex keeps a few numbers for itself

    std::vector<std::unique_ptr<T[]>> chunks_;
    std::vector<std::uint32_t> free_;
    std::size_t used_ = 0;
};

} // namespace millrace::engine
