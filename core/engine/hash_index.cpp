// SPDX-License-Identifier: Apache-2.0
#include "engine/hash_index.h"

#include "base/check.h"

#include <algorithm>
#include <bit>

namespace millrace::engine {

void HashIndex::Table::insert(std::uint32_t hash, std::uint32_t mark) {
    std::size_t at = hash & (capacity - 1);
    while (slots[at].mark != kEmpty) {
        at = (at + 1) & (capacity - 1);
    }
    slots[at] = {hash, mark};
    ++used;
}

bool HashIndex::Table::erase(std::uint32_t hash, std::uint32_t mark) {
    if (capacity == 0) {
        return false;
    }
    std::size_t at = hash & (capacity - 1);
    while (slots[at].mark != kEmpty) {
        if (slots[at].mark == mark) {
            slots[at].mark = kGone;
            return true;
        }
        at = (at + 1) & (capacity - 1);
    }
    return false;
}

void HashIndex::insert(std::uint64_t hash, std::uint32_t item) {
    drain(kStep);
    if ((current_.used + 1) * 4 > current_.capacity * 3) {
        makeRoom();
    }
    current_.insert(fold(hash), item + 1);
    ++size_;
}

void HashIndex::erase(std::uint64_t hash, std::uint32_t item) {
    drain(kStep);
    const std::uint32_t folded = fold(hash);
    MILLRACE_CHECK(current_.erase(folded, item + 1) || draining_.erase(folded, item + 1));
    --size_;
}

// Twice the items, and never less than half of the old slots: then the old table is drained long
// before this one is full.
void HashIndex::makeRoom() {
    MILLRACE_CHECK(draining_.capacity == 0);
    const std::size_t capacity =
        std::max({kLeast, std::bit_ceil(size_ * 2 + 1), current_.capacity / 2});
    draining_ = std::move(current_);
    current_ = Table{};
    current_.slots.reset(static_cast<Slot*>(std::calloc(capacity, sizeof(Slot))));
    MILLRACE_CHECK(current_.slots != nullptr);
    current_.capacity = capacity;
    drained_ = 0;
    drain(kStep);
}

void HashIndex::drain(std::size_t slots) {
    for (; slots > 0 && drained_ < draining_.capacity; --slots, ++drained_) {
        Slot& slot = draining_.slots[drained_];
        if (slot.mark != kEmpty && slot.mark != kGone) {
            current_.insert(slot.hash, slot.mark);
            slot.mark = kGone; // not empty: what collided with it stays findable
        }
    }
    if (drained_ == draining_.capacity) {
        draining_ = Table{};
        drained_ = 0;
    }
}

} // namespace millrace::engine
