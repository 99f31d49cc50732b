// SPDX-License-Identifier: Apache-2.0
#include "log/spare_shelf.h"

namespace millrace::log {

void SpareShelf::put(Spare spare) {
    const std::lock_guard lock(mutex_);
    spares_.push_back(std::move(spare));
    ready_.store(spares_.size(), std::memory_order_release);
    offered_.fetch_add(1, std::memory_order_acq_rel);
    changed_.notify_one();
}

std::optional<Spare> SpareShelf::take() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return closed_ || !spares_.empty(); });
    if (spares_.empty()) {
        return std::nullopt;
    }
    Spare spare = std::move(spares_.front());
    spares_.pop_front();
    ready_.store(spares_.size(), std::memory_order_release);
    return spare;
}

std::optional<Spare> SpareShelf::takeLast() {
    const std::lock_guard lock(mutex_);
    if (spares_.empty()) {
        return std::nullopt;
    }
    Spare spare = std::move(spares_.back());
    spares_.pop_back();
    ready_.store(spares_.size(), std::memory_order_release);
    offered_.fetch_sub(1, std::memory_order_acq_rel);
    return spare;
}

void SpareShelf::close() {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    changed_.notify_all();
}

} // namespace millrace::log
