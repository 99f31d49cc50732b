// SPDX-License-Identifier: Apache-2.0
// Start-up: catalog, pages, then every log entry from the replay start, in order. The same after a
// clean stop and after a crash.
//
// Exact: ids at or above the replay start come from the log alone, those below from pages alone
// (message_index.h says why this is sound). Applying an entry looks at no clock, binding or random
// number. Lives on: the engine's loop, before any peer.
#pragma once

#include "base/result.h"
#include "engine/entry.h"
#include "engine/queue.h"
#include "log/checkpoint_store.h"

#include <functional>
#include <vector>

namespace millrace::engine {

struct Engine;

class Recovery final {
  public:
    Recovery(Engine& engine, base::LogIndex replayFrom) : engine_(engine), from_(replayFrom) {}

    void page(const log::CheckpointStore::Page& page);
    void replay(const log::Replayed& entry);
    using Hold = std::function<void(const base::MessageId&, std::uint32_t, std::uint32_t)>;
    base::Status finish(const Hold& hold);

  private:
    // A message of a transaction whose end was not seen yet; or a damaged one, which may be.
    struct Kept {
        base::MessageId id;
        std::vector<base::QueueId> routes;
        bool damaged = false;
    };

    void message(const log::Replayed& entry);
    void enter(const base::MessageId& id, std::span<const base::QueueId> routes);
    void settles(base::Bytes blocks, base::LogIndex record);
    void settle(Queue& queue, const Run& run, base::LogIndex record);
    void keep(const log::Replayed& entry);
    void dropKept(std::size_t count); // the first of them: their commit was refused or never came
    void commit(const log::Replayed& entry);
    void catalog(const log::Replayed& entry);
    void mark(const log::Replayed& entry);
    void purge(const log::Replayed& entry);
    void letGo(const Queue& dropped);
    // References of entries below the replay start were never counted.
    void release(const Run& run, std::uint32_t count = 1);
    void damaged(const log::Replayed& entry, const char* what);
    void finishQueue(Queue& queue, const Hold& hold);

    Engine& engine_;
    const base::LogIndex from_;
    base::LogIndex last_ = 0;
    std::vector<Kept> kept_;
    std::uint64_t damagedPages_ = 0;
};

} // namespace millrace::engine
