// SPDX-License-Identifier: Apache-2.0
#include "engine/read_ahead.h"

#include "base/limits.h"

#include <algorithm>

namespace millrace::engine {

namespace {

bool before(const log::Stored& stored, const base::MessageId& id) {
    return stored.id < id;
}

} // namespace

std::optional<log::Stored> ReadAhead::take(const base::MessageId& id) {
    if (left_ == 0) {
        return std::nullopt;
    }
    auto found = stored_.begin() + static_cast<std::ptrdiff_t>(at_);
    if (found == stored_.end() || found->id != id) {
        found = std::lower_bound(stored_.begin(), stored_.end(), id, before);
    }
    if (found == stored_.end() || found->id != id || found->kind == 0) {
        return std::nullopt;
    }
    std::optional<log::Stored> out(std::move(*found));
    *found = log::Stored{};
    found->id = id; // keeps the order; kind 0 says that it is taken
    at_ = static_cast<std::size_t>(found - stored_.begin()) + 1;
    bytes_ -= out->payload.size();
    *sum_ -= out->payload.size();
    if (--left_ == 0) {
        stored_.clear();
        at_ = 0;
    }
    return out;
}

bool ReadAhead::holds(const base::MessageId& id) const {
    const auto found = std::lower_bound(stored_.begin(), stored_.end(), id, before);
    return found != stored_.end() && found->id == id && found->kind != 0;
}

void ReadAhead::add(std::vector<log::Stored> batch, std::size_t& sum) {
    sum_ = &sum;
    sum -= bytes_;
    std::size_t fetched = 0;
    for (log::Stored& stored : batch) {
        fetched += stored.payload.size();
        stored.kind = stored.kind == 0 ? log::EntryKind{255} : stored.kind; // damaged: not taken
    }
    const std::size_t mean =
        std::max<std::size_t>(1, fetched / std::max<std::size_t>(1, batch.size()));
    batch_ = std::clamp<std::size_t>(limits::kQueueReadAheadBytes / mean, 1,
                                     std::min(limits::kReadAheadMessages, 4 * batch_));
    std::erase_if(stored_, [](const log::Stored& stored) { return stored.kind == 0; });
    stored_.insert(stored_.end(), std::make_move_iterator(batch.begin()),
                   std::make_move_iterator(batch.end()));
    std::sort(stored_.begin(), stored_.end(),
              [](const log::Stored& a, const log::Stored& b) { return a.id < b.id; });
    stored_.erase(
        std::unique(stored_.begin(), stored_.end(),
                    [](const log::Stored& a, const log::Stored& b) { return a.id == b.id; }),
        stored_.end());
    at_ = 0;
    left_ = stored_.size();
    bytes_ = 0;
    for (const log::Stored& stored : stored_) {
        bytes_ += stored.payload.size();
    }
    sum += bytes_;
}

void ReadAhead::clear() {
    if (sum_) {
        *sum_ -= bytes_;
    }
    stored_.clear();
    stored_.shrink_to_fit();
    at_ = left_ = bytes_ = 0;
}

} // namespace millrace::engine
