// SPDX-License-Identifier: Apache-2.0
// Queues that are being emptied: purges, and the contents of deleted queues. In effect with the
// command, worked off in slices.
//
// A purge of a logged queue is one entry (everything up to an ordinal, but what was out), so a
// crash in the middle of the work changes nothing. References are let go only once the entry that
// says so is committed. Lives on: the engine's loop.
#pragma once

#include "engine/queue.h"

#include <chrono>
#include <memory>
#include <vector>

namespace millrace::engine {

struct Engine;

class Clearing final {
  public:
    explicit Clearing(Engine& engine) : engine_(engine) {}

    // What a purge leaves: the durable messages that are out.
    static std::vector<Run> unacked(Queue& queue);
    // Everything ready goes; `record`: the entry that says so.
    void purge(Queue& queue, base::LogIndex record);
    // A deleted queue, out of every table already.
    void bury(std::unique_ptr<Queue> queue, base::LogIndex record);
    void run(std::chrono::nanoseconds deadline);
    bool hasWork() const;
    bool isPurging() const { return !purges_.empty(); }
    // Whether a deleted queue still refers to the entry.
    bool holds(const base::MessageId& id) const;

  private:
    struct Deleted {
        std::unique_ptr<Queue> queue;
        base::LogIndex record = 0;
    };
    std::uint64_t clear(Queue& queue, std::uint64_t most, base::LogIndex record);
    void finish(Queue& queue);
    bool isUnused(Queue& queue) const;

    Engine& engine_;
    std::vector<Queue*> purges_;
    std::vector<Deleted> deleted_;
    std::size_t nextDeleted_ = 0;
};

} // namespace millrace::engine
