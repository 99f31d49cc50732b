// SPDX-License-Identifier: Apache-2.0
// Writes pages of the queues beside the log, all the time and in slices, so that the log's start
// can be forgotten and replay is short.
//
// Sound: a round that begins at index X takes every change below X, puts a page only when what it
// reflects is committed, and finishes with replay start X (or lower, where the catalog store is
// behind). Bounded: encodes at most a slice and kPagesAhead bytes before they are put. Lives on:
// the engine's loop, between turns.
#pragma once

#include "engine/queue.h"
#include "log/checkpoint_store.h"

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace millrace::engine {

struct Engine;

enum class PageKind : std::uint32_t {
    queueHead = 1,   // object: queue id. u64 ordinals, u64 delivered mark
    queueChunk = 2,  // object: queue id, part: the chunk's key
    largeMessage = 3 // part: the message's id
};

class Checkpointer final {
  public:
    explicit Checkpointer(Engine& engine) : engine_(engine) {}

    void attach(log::CheckpointStore& store) { store_ = &store; }
    // Something in its index changed.
    void changed(Queue& queue) {
        if (!queue.inCheckpoint && queue.logged) {
            queue.inCheckpoint = true;
            changed_.push_back(&queue);
        }
    }
    // A page that recovery found to be of nothing that exists.
    void dropOrphan(const log::PageKey& key) { orphans_.push_back(key); }
    // A deleted queue may be freed.
    bool isDoneWith(Queue& queue);

    // At the end of a turn only: a page must not know of a change whose record is still open, or it
    // would be put before that record is committed.
    void run(std::chrono::nanoseconds deadline);
    // The disk is short: what was freed can go only below a checkpoint, so they come sooner.
    void hurry(bool on) { hurry_ = on; }
    bool hasWork() const;
    // Asks for the last round, which run() drives; true once it is safe.
    bool finalRound();
    std::size_t memoryBytes() const { return waitingBytes_ + changed_.capacity() * sizeof(Queue*); }

  private:
    struct Page {
        log::PageKey key;
        base::LogIndex reflects = 0;
        bool drop = false;
        std::string bytes;
    };
    enum class State { idle, taking, putting };

    bool due() const;
    bool gainsSpace() const;
    void begin();
    void take(std::chrono::nanoseconds deadline);
    bool takeQueue(Queue& queue, std::chrono::nanoseconds deadline);
    void takeRemoved(Queue& queue);
    void takeLarge();
    void wait(const log::PageKey& key, std::string bytes, bool drop);
    void put();
    void finish();
    void writeExactMarks();

    Engine& engine_;
    log::CheckpointStore* store_ = nullptr;
    State state_ = State::idle;
    std::vector<Queue*> changed_; // since they were last taken
    std::vector<Queue*> round_;   // to be taken in this round
    std::vector<log::PageKey> orphans_;
    std::vector<Page> waiting_; // for the sync; [0, put_) are put
    std::size_t put_ = 0;
    std::size_t waitingBytes_ = 0;
    base::LogIndex from_ = 0;  // X of this round
    base::LogIndex asked_ = 1; // replay start of the last round that was finished
    base::LogIndex covered_ = 0;
    std::uint64_t bytesAtRound_ = 0, entriesAtRound_ = 0;
    std::chrono::nanoseconds timeAtRound_{0};
    bool hurry_ = false;
    bool final_ = false;
};

} // namespace millrace::engine
