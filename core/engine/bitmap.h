// SPDX-License-Identifier: Apache-2.0
// A bit per position, allocated as far as a bit was ever set; everything beyond is 0. Counts its
// bytes into its user's sum.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>

namespace millrace::engine {

class Bitmap {
  public:
    bool test(std::uint32_t at) const {
        return at / 64 < words_ && (data_[at / 64] >> (at % 64) & 1) != 0;
    }
    // `bytes` is increased by what is allocated.
    void set(std::uint32_t at, std::size_t& bytes) {
        if (at / 64 >= words_) [[unlikely]] {
            grow(at / 64 + 1, bytes);
        }
        data_[at / 64] |= std::uint64_t{1} << (at % 64);
    }
    void clear(std::uint32_t at) {
        if (at / 64 < words_) {
            data_[at / 64] &= ~(std::uint64_t{1} << (at % 64));
        }
    }
    std::uint64_t word(std::uint32_t index) const { return index < words_ ? data_[index] : 0; }
    // All bits 0; the memory stays.
    void zero() { std::fill_n(data_.get(), words_, 0); }
    void free(std::size_t& bytes) {
        bytes -= memoryBytes();
        data_.reset();
        words_ = 0;
    }
    std::size_t memoryBytes() const { return words_ * sizeof(std::uint64_t); }

    // The first position at or behind `from` whose bit is set (clear), at most `end`.
    std::uint32_t nextSet(std::uint32_t from, std::uint32_t end) const {
        return next(from, end, 0);
    }
    std::uint32_t nextClear(std::uint32_t from, std::uint32_t end) const {
        return next(from, end, ~std::uint64_t{0});
    }

  private:
    std::uint32_t next(std::uint32_t from, std::uint32_t end, std::uint64_t flip) const {
        while (from < end) {
            const std::uint64_t rest = (word(from / 64) ^ flip) >> (from % 64);
            if (rest != 0) {
                return std::min(end, from + static_cast<std::uint32_t>(std::countr_zero(rest)));
            }
            from = (from / 64 + 1) * 64;
        }
        return end;
    }
    void grow(std::uint32_t atLeast, std::size_t& bytes) {
        const std::uint32_t words = std::max({atLeast, words_ * 2, std::uint32_t{2}});
        auto data = std::make_unique<std::uint64_t[]>(words); // zeroed
        std::copy_n(data_.get(), words_, data.get());
        bytes += (words - words_) * sizeof(std::uint64_t);
        data_ = std::move(data);
        words_ = words;
    }

    std::unique_ptr<std::uint64_t[]> data_;
    std::uint32_t words_ = 0;
};

} // namespace millrace::engine
