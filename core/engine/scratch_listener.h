// SPDX-License-Identifier: Apache-2.0
// Whom the scratch log reports to. Fetches are all that it tells: what it appends is released at
// once. Lives on: the engine's loop.
#pragma once

#include "log/commit_log.h"

namespace millrace::engine {

struct Engine;

class ScratchListener final : public log::CommitLogListener {
  public:
    explicit ScratchListener(Engine& engine) : engine_(engine) {}
    void advanced(const log::Horizons&) override {}
    void withdrawn(base::LogIndex from, const base::Error& why) override;
    void fetched(std::uint64_t token, std::vector<log::Stored> entries) override;
    // Whole scratch segments go with their last holder; nothing is moved within that log.
    bool needed(const base::MessageId&, log::EntryKind, std::span<const base::QueueId>) override {
        return true;
    }

  private:
    Engine& engine_;
};

} // namespace millrace::engine
