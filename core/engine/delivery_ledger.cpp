// SPDX-License-Identifier: Apache-2.0
// Tags to deliveries: entries sorted by tag, found by a guess or a binary search.
#include "engine/delivery_ledger.h"

#include "base/check.h"
#include "base/limits.h"

#include <algorithm>
#include <bit>

namespace millrace::engine {

namespace {

constexpr std::uint64_t kEntryTags = 64;
constexpr std::size_t kTidyLeast = 64;     // dead entries that are worth moving the others
constexpr std::size_t kKeptEntries = 1024; // 40 KiB stay for the next burst

std::uint64_t bitsUpTo(std::uint64_t offset) { // 0 ... offset
    return offset >= kEntryTags - 1 ? ~std::uint64_t{0} : (std::uint64_t{2} << offset) - 1;
}

} // namespace

DeliveryLedger::~DeliveryLedger() {
    if (all_) {
        all_->changed(counted_, 0);
    }
}

// After whatever may have changed the room of the entries.
void DeliveryLedger::count() {
    const std::size_t now = entries_.capacity() * sizeof(Entry);
    if (all_) {
        all_->changed(counted_, now);
    }
    counted_ = now;
}

DeliveryLedger::Owner DeliveryLedger::attach(Queue* queue, Consumer* consumer) {
    Owner owner = 0;
    if (freeOwners_.empty()) {
        owner = static_cast<Owner>(owners_.size());
        owners_.emplace_back();
    } else {
        owner = freeOwners_.back();
        freeOwners_.pop_back();
    }
    owners_[owner] = {queue, consumer, 0, true};
    return owner;
}

void DeliveryLedger::detach(Owner owner) {
    MILLRACE_CHECK(owners_[owner].attached);
    owners_[owner].attached = false;
    owners_[owner].consumer = nullptr;
    freeIfIdle(owner);
}

void DeliveryLedger::freeIfIdle(Owner owner) {
    if (!owners_[owner].attached && owners_[owner].outstanding == 0) {
        freeOwners_.push_back(owner);
    }
}

std::uint64_t DeliveryLedger::add(Owner owner, const base::MessageId& id,
                                  std::uint32_t nowSeconds) {
    const std::uint64_t tag = ++lastTag_;
    ++owners_[owner].outstanding;
    ++outstanding_;
    if (entries_.size() > head_) {
        Entry& last = entries_.back();
        const std::uint64_t offset = tag - last.firstTag;
        if (offset < kEntryTags && last.owner == owner && last.record == id.record &&
            last.slot + offset == id.slot &&
            nowSeconds - last.notedSeconds < limits::kDeliveryNotedSeconds) {
            dead_ -= last.mask == 0 ? 1 : 0;
            last.mask |= std::uint64_t{1} << offset;
            return tag;
        }
    }
    const std::size_t room = entries_.capacity();
    entries_.push_back({tag, 1, id.record, id.slot, owner, nowSeconds});
    if (entries_.capacity() != room) {
        count();
    }
    return tag;
}

DeliveryLedger::Entry* DeliveryLedger::find(std::uint64_t tag) {
    const auto covers = [&](std::size_t at) {
        return at >= head_ && at < entries_.size() && entries_[at].firstTag <= tag &&
               (at + 1 == entries_.size() || tag < entries_[at + 1].firstTag);
    };
    if (!covers(hint_)) {
        if (covers(hint_ + 1)) {
            ++hint_;
        } else {
            const auto from = entries_.begin() + static_cast<std::ptrdiff_t>(head_);
            const auto above = std::upper_bound(
                from, entries_.end(), tag,
                [](std::uint64_t wanted, const Entry& entry) { return wanted < entry.firstTag; });
            if (above == from) {
                return nullptr;
            }
            hint_ = static_cast<std::size_t>(above - entries_.begin()) - 1;
        }
    }
    Entry& entry = entries_[hint_];
    const std::uint64_t offset = tag - entry.firstTag;
    return offset < kEntryTags && (entry.mask >> offset & 1) != 0 ? &entry : nullptr;
}

Unacked DeliveryLedger::describe(const Entry& entry, unsigned bit, unsigned count) const {
    const OwnerState& owner = owners_[entry.owner];
    return {entry.firstTag + bit, count,          {entry.record, entry.slot + bit},
            owner.queue,          owner.consumer, entry.notedSeconds,
            entry.owner};
}

void DeliveryLedger::visitRuns(const Entry& entry, std::uint64_t bits,
                               const Visitor& visitor) const {
    while (bits != 0) {
        const auto from = static_cast<unsigned>(std::countr_zero(bits));
        const auto count = static_cast<unsigned>(std::countr_one(bits >> from));
        visitor(describe(entry, from, count));
        bits &= ~(bitsUpTo(count - 1) << from);
    }
}

// Takes these outstanding bits away; head_ and the sums follow, entries stay where they are.
void DeliveryLedger::take(Entry& entry, std::uint64_t bits) {
    entry.mask &= ~bits;
    const auto count = static_cast<std::uint64_t>(std::popcount(bits));
    outstanding_ -= count;
    owners_[entry.owner].outstanding -= count;
    dead_ += entry.mask == 0 ? 1 : 0;
    freeIfIdle(entry.owner);
}

std::optional<Unacked> DeliveryLedger::settle(std::uint64_t tag) {
    Entry* const entry = find(tag);
    if (entry == nullptr) {
        return std::nullopt;
    }
    const auto bit = static_cast<unsigned>(tag - entry->firstTag);
    const Unacked unacked = describe(*entry, bit, 1);
    take(*entry, std::uint64_t{1} << bit);
    if (entry->mask == 0) {
        tidy();
    }
    return unacked;
}

void DeliveryLedger::settleUpTo(std::uint64_t tag, const Visitor& visitor) {
    const std::uint64_t last = tag != 0 ? tag : lastTag_;
    for (std::size_t at = head_; at < entries_.size() && entries_[at].firstTag <= last; ++at) {
        Entry& entry = entries_[at];
        const std::uint64_t bits = entry.mask & bitsUpTo(last - entry.firstTag);
        if (bits != 0) {
            visitRuns(entry, bits, visitor);
            take(entry, bits);
        }
    }
    tidy();
}

void DeliveryLedger::takeAll(const Visitor& visitor) {
    settleUpTo(0, visitor);
    entries_ = {};
    head_ = dead_ = hint_ = 0;
    count();
}

void DeliveryLedger::forgetQueue(const Queue* queue) {
    for (OwnerState& owner : owners_) {
        if (owner.queue == queue) {
            owner.queue = nullptr;
            owner.consumer = nullptr;
        }
    }
}

bool DeliveryLedger::isOutstanding(std::uint64_t tag) {
    return find(tag) != nullptr;
}

std::optional<Unacked> DeliveryLedger::oldest() const {
    for (std::size_t at = head_; at < entries_.size(); ++at) {
        if (entries_[at].mask != 0) {
            return describe(entries_[at],
                            static_cast<unsigned>(std::countr_zero(entries_[at].mask)), 1);
        }
    }
    return std::nullopt;
}

std::size_t DeliveryLedger::memoryBytes() const {
    return entries_.capacity() * sizeof(Entry) + owners_.capacity() * sizeof(OwnerState) +
           freeOwners_.capacity() * sizeof(Owner);
}

// Dead entries at the front are stepped over; when the dead outnumber the living, the living move
// together.
void DeliveryLedger::tidy() {
    while (head_ < entries_.size() && entries_[head_].mask == 0) {
        ++head_;
        --dead_;
    }
    if (head_ == entries_.size()) {
        entries_.clear();
        head_ = dead_ = hint_ = 0;
        if (entries_.capacity() > kKeptEntries || (all_ && all_->isTight())) {
            entries_.shrink_to_fit();
            count();
        }
        return;
    }
    const std::size_t living = entries_.size() - head_ - dead_;
    const std::size_t unused = head_ + dead_;
    if (unused < kTidyLeast || unused < living) {
        return;
    }
    const auto kept =
        std::remove_if(entries_.begin() + static_cast<std::ptrdiff_t>(head_), entries_.end(),
                       [](const Entry& entry) { return entry.mask == 0; });
    entries_.erase(kept, entries_.end());
    entries_.erase(entries_.begin(), entries_.begin() + static_cast<std::ptrdiff_t>(head_));
    head_ = dead_ = hint_ = 0;
    if (entries_.capacity() > 4 * entries_.size() + kKeptEntries) {
        entries_.shrink_to_fit();
        count();
    }
}

} // namespace millrace::engine
