// SPDX-License-Identifier: Apache-2.0
// A log::CheckpointStore in memory, with its promise: load() shows exactly what the last finished
// round had put and not dropped. Rounds finish when the test says so. Lives on: the test's thread.
#pragma once

#include "log/checkpoint_store.h"

#include <map>
#include <string>

namespace millrace::support {

class MemoryPages final : public log::CheckpointStore {
  public:
    base::Status load(base::LogIndex synced,
                      const std::function<void(const Page&)>& visitor) override {
        for (const auto& [key, content] : finished_) {
            if (content.reflects > synced) {
                return base::Error{base::ErrorCode::damaged, "a page is ahead of the log"};
            }
            visitor({key, content.reflects, base::bytesOf(content.bytes)});
        }
        return {};
    }
    base::LogIndex replayFrom() const override { return finishedFrom_; }
    void start() override {}
    bool ready() const override { return open; }
    void put(const log::PageKey& key, base::LogIndex reflects, base::Bytes bytes) override {
        current_[key] = {reflects, std::string(base::textOf(bytes))};
        ++puts;
    }
    void drop(const log::PageKey& key) override { current_.erase(key); }
    void finishRound(base::LogIndex replayFrom) override {
        asked_ = current_;
        askedFrom_ = replayFrom;
        ++rounds;
        if (!slow) {
            finish();
        }
    }
    base::LogIndex finished() const override { return finishedFrom_; }
    base::LogIndex logNeededFrom() const override { return before_; }
    base::Status failure() const override { return {}; }
    base::Status stop() override { return {}; }

    // --- the test's hand
    void finish() {
        before_ = finishedFrom_;
        finished_ = asked_;
        finishedFrom_ = askedFrom_;
    }
    // What was put since the last finished round is forgotten.
    void restart() { current_ = asked_ = finished_; }
    std::size_t pages() const { return finished_.size(); }

    bool open = true;
    bool slow = false;
    std::size_t puts = 0, rounds = 0;

  private:
    struct Content {
        base::LogIndex reflects = 0;
        std::string bytes;
    };
    using Pages = std::map<log::PageKey, Content>;

    Pages current_, asked_, finished_;
    base::LogIndex askedFrom_ = 1, finishedFrom_ = 1, before_ = 1;
};

} // namespace millrace::support
