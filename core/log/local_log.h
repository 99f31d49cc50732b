// SPDX-License-Identifier: Apache-2.0
// The log of one node: segments in a folder, one writer thread, one reader thread, one that makes
// room.
//
// Durable: a record is reported synced after the fdatasync that covers it, never before. Recovered:
// everything synced, nothing that was cut off. Bounded: unsynced bytes (limits::kUnreleasedBytes,
// then accepting() is false), recent memory (Options::memoryBytes). A failed write or sync of a
// prepared segment is final: the log stops, nothing behind it is ever confirmed. A scratch log
// never calls advanced(): its horizons are all at the last closed record. Lives on: the loop, every
// verb. Options::wake is called from other threads.
#pragma once

#include "base/clock.h"
#include "base/file.h"
#include "base/limits.h"
#include "log/admission.h"
#include "log/commit_log.h"
#include "log/group_commit.h"
#include "log/recent_records.h"
#include "log/reclaim.h"
#include "log/record_builder.h"
#include "log/record_reader.h"
#include "log/recovery.h"
#include "log/segment_directory.h"
#include "log/segment_keeper.h"
#include "log/spare_shelf.h"

#include <functional>
#include <memory>
#include <string>

namespace millrace::log {

enum class Kind {
    durable, // synced, replayed at open
    scratch, // ids carry base::kScratchBit; records go to disk only when pushed out of memory,
             // unsynced; emptied at open
};

struct Options {
    std::string folder;
    Kind kind = Kind::durable;
    std::size_t memoryBytes = 64 * 1024 * 1024;    // recent records kept in memory
    std::uint64_t segmentBytes = 16 * 1024 * 1024; // a multiple of 4096, below 4 GiB
    std::uint64_t reserveSegments =
        2; // ready segments that publishes must leave for settles, deletes, checkpoints
    std::uint64_t diskFreeLimit = 50'000'000; // below this much free space accepting() is false
    std::size_t openSegments = limits::kOpenSegments; // files that stay open for reading
    std::function<void()> wake; // from any thread: the loop shall call harvest() soon
};

struct Statistics {
    std::uint64_t segments = 0, spareSegments = 0, logBytes = 0, liveReferences = 0,
                  reclaimedSegments = 0;
    std::uint64_t syncs = 0, bytesWritten = 0, memoryBytes = 0, unsyncedBytes = 0,
                  damagedEntries = 0;
};

class LocalLog final : public CommitLog {
  public:
    // Opens or creates; finds the end, reports (diagnose) what was torn or damaged. Replay follows
    // before the first append().
    static base::Result<std::unique_ptr<LocalLog>> open(base::FileSystem& files,
                                                        const base::Clock& clock, Options options);
    ~LocalLog()
        override; // without stop() before: as a crash, but what the writer has begun is finished

    // Shows every entry at or above `from`. Entries with references count as held once per
    // Entry::references until released; what lies below `from` and is still held is told by hold().
    // Call once, before the first append().
    base::Status replay(LogIndex from, const ReplayVisitor& visitor);
    // Recovery: a checkpoint says that these entries have holders. May be called before or after
    // replay(), for ids below `from`.
    void hold(const MessageId& first, std::uint32_t slots, std::uint32_t count);

    void start(CommitLogListener& listener); // threads begin; records get a new term

    base::Result<MessageId> append(const Entry& entry) override;
    void submit() override;
    bool read(const MessageId& id, Stored& out) override;
    void fetch(std::uint64_t token, std::vector<MessageId> ids) override;
    void release(const MessageId& first, std::uint32_t slots, std::uint32_t count) override;
    void covered(LogIndex below) override;

    // On the loop: reports horizons, fetches, withdrawal; runs reclaim for at most
    // limits::kSliceTime.
    void harvest();
    void tick(); // a few times a second: spares, marks, reclaim
    Horizons horizons() const { return horizons_; }
    // Whether publishes are welcome. False: unsynced bytes at their bound, or disk space short, or
    // the log has stopped.
    bool accepting() const { return admission_.accepting(); }
    enum class Trouble { none, slow, diskFull, stopped };
    Trouble trouble() const;
    // Appended and not yet on disk; of a scratch log: on its way out of memory.
    std::uint64_t unsyncedBytes() const { return queuedBytes_ - writer_.syncedBytes(); }
    Statistics statistics() const;
    // Writes and syncs what is appended, and joins the threads. Orderly stop.
    base::Status stop();

  private:
    LocalLog(base::FileSystem& files, const base::Clock& clock, Options options);
    bool durable() const { return options_.kind == Kind::durable; }

    base::Status openDurable();
    base::Status openScratch();
    base::Error refusal() const;
    bool hasRoomFor(std::uint64_t bytes) const;
    void openRecord(const Entry& entry, std::uint64_t payloadBytes);
    void closeRecord();
    void queue(LogIndex index, RecentRecord& record, const SegmentDirectory::Contents& contents);
    void queueFooter(Segment& sealed);
    void noteEmpty(const std::shared_ptr<Segment>& segment);
    void endTurn();
    void pushOut();
    void sealQuietScratch();
    void dropUnheld();
    void report();
    void answerFetches();
    void retireEmpty();
    void writeMark();
    void considerSpace();
    Reclaim::Standing standing() const;
    void reclaim();
    base::Status drainAll();
    void stopThreads();

    base::FileSystem& files_;
    const base::Clock& clock_;
    const Options options_;
    CommitLogListener* listener_ = nullptr;

    RecordBuilder builder_;
    RecentRecords recent_;
    SegmentDirectory directory_;
    Admission admission_;
    SpareShelf shelf_;
    SegmentKeeper keeper_;
    GroupCommit writer_;
    RecordReader reader_;
    Reclaim reclaim_;

    Recovered recovered_; // until start()
    std::uint32_t term_ = 0;
    std::int64_t wallMs_ = 0;
    LogIndex nextIndex_ = 1;
    LogIndex covered_ = 1;
    Horizons horizons_;
    bool started_ = false;
    bool withdrawalTold_ = false;

    std::vector<Piece> closed_; // since the last submit()
    bool somebodyWaits_ = false;
    std::uint64_t queuedBytes_ = 0;
    static constexpr LogIndex kUntilSubmit = ~LogIndex{0};
    std::vector<LogIndex> unheld_; // scratch: in memory, without holders, to be dropped
    LogIndex pushedTo_ = 0; // scratch: records up to here are dropped, or on their way to disk
    std::vector<std::shared_ptr<Segment>> empty_;   // no holders any more, not yet allowed to go
    std::vector<std::shared_ptr<Segment>> leaving_; // out of the directory, still being read
    std::uint64_t retired_ = 0;
    int ticksSinceTurn_ = 0;
    std::chrono::nanoseconds lastPush_{0};
    std::uint64_t damagedEntries_ = 0;

    std::chrono::nanoseconds lastAppend_{0};
    LogIndex markedTo_ = 0; // the newest mark's own index
    std::uint64_t bytesAtTick_ = 0;
};

} // namespace millrace::log
