// SPDX-License-Identifier: Apache-2.0
// The log of one node: segments in a folder, one writer thread, one reader thread.
//
// Durable: a record is reported synced after the fdatasync that covers it, never before. Recovered: everything synced, nothing that
// was cut off. Bounded: unsynced bytes (limits::kUnreleasedBytes, then accepting() is false), recent memory (Options::memoryBytes).
// A failed write or sync of a prepared segment is final: the log stops, nothing behind it is ever confirmed.
#pragma once

#include "base/clock.h"
#include "base/file.h"
#include "log/commit_log.h"

#include <functional>
#include <memory>
#include <string>

namespace millrace::log {

enum class Kind {
    durable, // synced, replayed at open
    scratch, // ids carry base::kScratchBit; records go to disk only when pushed out of memory, unsynced; emptied at open
};

struct Options {
    std::string folder;
    Kind kind = Kind::durable;
    std::size_t memoryBytes = 64 * 1024 * 1024; // recent records and read-back records kept in memory
    std::uint64_t segmentBytes = 16 * 1024 * 1024;
    std::uint64_t reserveSegments = 2;          // ready segments that publishes must leave for settles, deletes, checkpoints
    std::uint64_t diskFreeLimit = 50'000'000;   // below this much free space accepting() is false
    std::function<void()> wake;                 // from any thread: the loop shall call harvest() soon
};

struct Statistics {
    std::uint64_t segments = 0, spareSegments = 0, logBytes = 0, liveReferences = 0, reclaimedSegments = 0;
    std::uint64_t syncs = 0, bytesWritten = 0, memoryBytes = 0, unsyncedBytes = 0, damagedEntries = 0;
};

class LocalLog : public CommitLog {
  public:
    // Opens or creates; finds the end, reports (diagnose) what was torn or damaged. Replay follows before the first append().
    static base::Result<std::unique_ptr<LocalLog>> open(base::FileSystem& files, const base::Clock& clock, Options options);

    // Shows every entry at or above `from`. Entries with references count as held once per Entry::references until released; what
    // lies below `from` and is still held is told by hold(). Call once, before the first append().
    virtual base::Status replay(LogIndex from, const ReplayVisitor& visitor) = 0;
    // Recovery: a checkpoint says that these entries have holders. May be called before or after replay(), for ids below `from`.
    virtual void hold(const MessageId& first, std::uint32_t slots, std::uint32_t count) = 0;

    virtual void start(CommitLogListener& listener) = 0; // threads begin; records get a new term
    // On the loop: reports horizons, fetches, withdrawal; runs reclaim for at most limits::kSliceTime.
    virtual void harvest() = 0;
    virtual void tick() = 0; // a few times a second: spares, marks, reclaim
    virtual Horizons horizons() const = 0;
    // Whether publishes are welcome. False: unsynced bytes at their bound, or disk space short, or the log has stopped.
    virtual bool accepting() const = 0;
    enum class Trouble { none, slow, diskFull, stopped };
    virtual Trouble trouble() const = 0;
    virtual Statistics statistics() const = 0;
    // Writes and syncs what is appended, and joins the threads. Orderly stop.
    virtual base::Status stop() = 0;
};

} // namespace millrace::log
