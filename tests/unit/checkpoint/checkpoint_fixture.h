// SPDX-License-Identifier: Apache-2.0
// A checkpoint store on a disk in memory, and what it is expected to show, for the tests of this
// folder.
#pragma once

#include "log/checkpoint_store.h"
#include "support/faulty_files.h"
#include "support/wake_signal.h"

#include <map>
#include <string>

namespace millrace::checkpoint_tests {

using Pages = std::map<log::PageKey, std::string>;

inline constexpr base::LogIndex kFarLog = 1'000'000'000;

inline log::PageKey keyOf(std::uint64_t object) {
    return {1, object, {}};
}

class OpenStore {
  public:
    explicit OpenStore(support::FaultyFiles& files) : files_(files) { reopen(); }
    ~OpenStore() { close(); }

    // Without start(): what is there can be looked at first.
    void reopen() {
        close();
        auto opened = log::CheckpointStore::open(files_, "cp", signal_.callback());
        if (opened.ok()) {
            store_ = std::move(opened).value();
        } else {
            refusal_ = opened.error();
        }
    }
    void close() { store_.reset(); }
    bool isOpen() const { return store_ != nullptr; }
    const base::Error& refusal() const { return refusal_; }
    log::CheckpointStore& operator*() { return *store_; }
    log::CheckpointStore* operator->() { return store_.get(); }

    void put(std::uint64_t object, const std::string& bytes, base::LogIndex reflects = 1) {
        signal_.waitFor([&] { return store_->ready() || !store_->failure().ok(); });
        store_->put(keyOf(object), reflects, base::bytesOf(bytes));
    }
    // Each test counts its rounds by replayFrom, which must rise.
    bool finish(base::LogIndex replayFrom) {
        store_->finishRound(replayFrom);
        return waitFor(
                   [&] { return store_->finished() == replayFrom || !store_->failure().ok(); }) &&
               store_->failure().ok();
    }
    bool waitFor(const std::function<bool()>& done) { return signal_.waitFor(done); }
    Pages load(base::LogIndex synced = kFarLog) {
        Pages pages;
        loaded_ = store_->load(synced, [&](const log::CheckpointStore::Page& page) {
            pages[page.key] = std::string(base::textOf(page.bytes));
        });
        return pages;
    }
    const base::Status& loaded() const { return loaded_; }

  private:
    support::FaultyFiles& files_;
    support::WakeSignal signal_;
    std::unique_ptr<log::CheckpointStore> store_;
    base::Error refusal_;
    base::Status loaded_;
};

} // namespace millrace::checkpoint_tests
