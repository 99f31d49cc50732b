// SPDX-License-Identifier: Apache-2.0
// A hash table from 64-bit hashes to item numbers (see Slab); the items themselves hold the keys. 8
// bytes a slot, no node per item.
//
// Bounded: no insert or erase moves more than kStep slots, so that a table of ten million names
// never stops the loop to grow. Not synchronised.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>

namespace millrace::engine {

class HashIndex {
  public:
    static constexpr std::uint32_t kNone = 0xFFFFFFFF;

    // An item that was inserted with this hash and for which equal(item) holds; kNone if there is
    // none.
    template <typename Equal> std::uint32_t find(std::uint64_t hash, const Equal& equal) const {
        const std::uint32_t folded = fold(hash);
        const std::uint32_t item = current_.find(folded, equal);
        return item != kNone || draining_.capacity == 0 ? item : draining_.find(folded, equal);
    }
    // The item must not be in yet.
    void insert(std::uint64_t hash, std::uint32_t item);
    // The item must be in, with this hash.
    void erase(std::uint64_t hash, std::uint32_t item);
    std::size_t size() const { return size_; }

  private:
    struct Slot {
        std::uint32_t hash;
        std::uint32_t mark; // kEmpty, kGone, or the item + 1
    };
    static constexpr std::uint32_t kEmpty =
        0; // fresh memory from calloc is empty without being touched
    static constexpr std::uint32_t kGone = 0xFFFFFFFF;
    static constexpr std::size_t kStep = 16;
    static constexpr std::size_t kLeast = 16;

    struct Free {
        void operator()(Slot* slots) const { std::free(slots); }
    };
    struct Table {
        std::unique_ptr<Slot[], Free> slots;
        std::size_t capacity = 0; // a power of two, or 0
        std::size_t used = 0;     // items and gone ones

        template <typename Equal> std::uint32_t find(std::uint32_t hash, const Equal& equal) const {
            if (capacity == 0) {
                return kNone;
            }
            for (std::size_t at = hash & (capacity - 1);; at = (at + 1) & (capacity - 1)) {
                const Slot& slot = slots[at];
                if (slot.mark == kEmpty) {
                    return kNone;
                }
                if (slot.hash == hash && slot.mark != kGone && equal(slot.mark - 1)) {
                    return slot.mark - 1;
                }
            }
        }
        void insert(std::uint32_t hash, std::uint32_t mark);
        bool erase(std::uint32_t hash, std::uint32_t mark);
    };

    static std::uint32_t fold(std::uint64_t hash) {
        return static_cast<std::uint32_t>((hash * 0x9E3779B97F4A7C15ULL) >> 32);
    }
    void makeRoom();
    void drain(std::size_t slots);

    Table current_;
    Table draining_; // the table before, whose slots below drained_ have been moved
    std::size_t drained_ = 0;
    std::size_t size_ = 0;
};

} // namespace millrace::engine
