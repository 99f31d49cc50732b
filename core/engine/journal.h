// SPDX-License-Identifier: Apache-2.0
// The engine's pen: writes entries into the durable and the scratch log, gathers the settles of a
// turn, and lets go of what was settled.
//
// Durable: a reference on an entry of the durable log is released only once the entry that settled
// it is committed, so a segment is never recycled before the reason for it is safe. Settles of one
// turn share entries, which nobody waits for. Bounded: what is gathered follows what was settled
// within a turn and one sync. Lives on: the engine's loop.
#pragma once

#include "engine/entry.h"
#include "log/commit_log.h"

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace millrace::engine {

class Queue;

class Journal final {
  public:
    Journal(log::CommitLog& durable, log::CommitLog& scratch)
        : durable_(durable), scratch_(scratch) {}

    // --- writing. Fails only when the log takes nothing (full, stopped).
    base::Result<base::MessageId> append(EntryKind kind, log::Waiting waiting, base::Bytes payload);
    base::Result<base::MessageId> appendMessage(bool durable, const log::Entry& entry);
    // A change that is in effect already: kept and tried again in flush() where the log takes
    // nothing now.
    base::Result<base::MessageId> appendDecided(EntryKind kind, log::Waiting waiting,
                                                std::string payload);

    // --- settling. `run` is done with in `queue`; its references are let go when that is safe.
    void settled(const Queue& queue, const Run& run);
    // As above, but another entry (a purge, a drop of the queue) at `record` says so.
    void releaseAfter(base::LogIndex record, const Run& run);
    // What else goes with the settles gathered so far (pieces of a large message): let go once they
    // are committed.
    void releaseWithSettles(const Run& run) { withSettles_.push_back(run); }
    // Nothing in the durable log needs to say so (scratch, queues that are not logged, pieces that
    // no message names yet).
    void releaseNow(const Run& run);
    // The durable log has taken its tail back: nothing is let go any more.
    void withdrawn() { withdrawn_ = true; }
    // The end of a transaction: `messages` of them stand in the log, the first at record `from`,
    // and it settles `runs` (unsettled, of the durable log, of queues that are logged), whose
    // references it lets go. Returns its record, 0 if there is nothing durable to say. An error
    // changes nothing.
    struct QueueRun {
        base::QueueId queue = 0;
        Run run;
    };
    base::Result<base::LogIndex> appendCommit(std::uint32_t messages, base::LogIndex from,
                                              std::span<const QueueRun> runs);
    // While on: what settled() is told stands in a commit already.
    void setCommitted(bool on) { committed_ = on; }

    // --- end of a turn
    void flush(); // gathered settles become entries
    void submit();
    bool hasUnsubmitted() const { return unsubmitted_; }

    // --- reading
    bool read(const base::MessageId& id, log::Stored& out) { return logOf(id).read(id, out); }
    void fetch(std::uint64_t token, std::vector<base::MessageId> ids);

    // --- horizons
    void advanced(const log::Horizons& horizons);
    const log::Horizons& horizons() const { return horizons_; }
    bool isVisible(base::LogIndex record) const { return record <= horizons_.committed; }
    // Messages up to here may be delivered: the committed horizon, but not into a transaction whose
    // end is not committed.
    base::LogIndex deliverable() const {
        return chains_.empty() ? horizons_.committed
                               : std::min(horizons_.committed, chains_.front().from - 1);
    }
    // The index that the next entry will at least have.
    base::LogIndex openIndex() const { return openIndex_; }
    base::LogIndex lastClosed() const { return lastClosed_; }
    bool waitsForSettle(const base::MessageId& id) const; // settled, not let go yet
    void startAt(base::LogIndex last);                    // recovery: the log's last index

    std::uint64_t bytesAppended() const { return bytesAppended_; }
    std::uint64_t entriesAppended() const { return entriesAppended_; }
    std::size_t memoryBytes() const;
    log::CommitLog& durable() { return durable_; }

  private:
    struct Settled { // 32 bytes
        base::QueueId queue = 0;
        base::LogIndex record = 0;
        std::uint32_t slot = 0;
        std::uint32_t count = 0;
    };
    struct Due {
        base::LogIndex record = 0; // released once this is committed
        base::LogIndex first = 0;
        std::uint32_t slot = 0;
        std::uint32_t count = 0;
    };
    struct Chain {
        base::LogIndex from = 0, to = 0;
    };
    struct Kept {
        EntryKind kind;
        log::Waiting waiting;
        std::string payload;
    };

    log::CommitLog& logOf(const base::MessageId& id) {
        return id.isScratch() ? scratch_ : durable_;
    }
    void noteAppended(const base::MessageId& id, std::size_t bytes);
    // Writes blocks of gathered_[begin ...) up to the bound; returns the end of what it took.
    std::size_t writeBlocks(std::size_t begin, std::size_t bound, std::string& blocks) const;
    void dueFrom(std::size_t begin, std::size_t end, base::LogIndex record);
    void sortGathered();
    void flushKept();

    log::CommitLog& durable_;
    log::CommitLog& scratch_;
    log::Horizons horizons_;
    base::LogIndex openIndex_ = 1;
    base::LogIndex lastClosed_ = 0;
    base::LogIndex lastRecord_ = 0;
    bool unsubmitted_ = false;
    bool withdrawn_ = false;
    bool committed_ = false;
    std::vector<Settled> gathered_;
    std::vector<Due> due_; // in order of `record`; [0, dueHead_) is done
    std::size_t dueHead_ = 0;
    std::vector<Run> withSettles_;
    std::vector<Chain> chains_; // transactions over several records that are not committed
    std::vector<Kept> kept_;
    std::string payload_; // reused
    std::uint64_t bytesAppended_ = 0, entriesAppended_ = 0;
};

} // namespace millrace::engine
