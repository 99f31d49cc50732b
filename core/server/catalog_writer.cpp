// SPDX-License-Identifier: Apache-2.0
// The background thread that applies catalog batches to SQLite.
#include "server/catalog_writer.h"

#include "base/diagnostics.h"
#include "base/limits.h"

#include <pthread.h>

namespace millrace::server {

CatalogWriter::CatalogWriter(catalog::Store store, std::function<void()> wake)
    : store_(std::move(store)), wake_(std::move(wake)), thread_([this] { run(); }) {
    ::pthread_setname_np(thread_.native_handle(), "catalog");
}

CatalogWriter::~CatalogWriter() {
    stop();
}

void CatalogWriter::put(engine::CatalogBatch batch) {
    const std::lock_guard<std::mutex> lock(mutex_);
    waiting_.push_back(std::move(batch));
    changed_.notify_all();
}

std::optional<base::LogIndex> CatalogWriter::takeStored() {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (stored_ == reported_) {
        return std::nullopt;
    }
    reported_ = stored_;
    return stored_;
}

bool CatalogWriter::idle() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return waiting_.empty();
}

void CatalogWriter::stop() {
    {
        const std::lock_guard<std::mutex> lock(mutex_);
        stopping_ = true;
        changed_.notify_all();
    }
    if (thread_.joinable()) {
        thread_.join();
    }
}

void CatalogWriter::run() {
    std::unique_lock<std::mutex> lock(mutex_);
    while (true) {
        changed_.wait(lock, [this] { return stopping_ || !waiting_.empty(); });
        if (waiting_.empty() || (stopping_ && failing_)) {
            return;
        }
        storeFirst(lock);
    }
}

void CatalogWriter::storeFirst(std::unique_lock<std::mutex>& lock) {
    const engine::CatalogBatch& batch = waiting_.front(); // a deque: put() does not move it
    lock.unlock();
    const base::Status applied = store_.apply(batch.changes, batch.upTo);
    lock.lock();
    if (applied.ok()) {
        stored_ = batch.upTo;
        waiting_.pop_front();
        failing_ = false;
        wake_();
        return;
    }
    if (!failing_) {
        base::diagnose(base::Severity::error,
                       "the catalog cannot be written, will try again: " + applied.error().text);
    }
    failing_ = true;
    changed_.wait_for(lock, limits::kCatalogRetry, [this] { return stopping_; });
}

} // namespace millrace::server
