// SPDX-License-Identifier: Apache-2.0
// Rewrites neighbouring segments into one file that holds only the entries somebody still needs,
// with the same ids.
//
// It goes back and forth between two threads; each phase has one owner, and the phase is handed
// over only when its work is complete: the keeper reads, the loop asks, the keeper writes, the loop
// waits until the answers are safe, the keeper names the new file, the loop exchanges the segments.
// A failure leaves the old segments as they are.
#pragma once

#include "base/file.h"
#include "log/commit_log.h"
#include "log/record_scanner.h"
#include "log/segment.h"
#include "log/sparse_record.h"

#include <atomic>
#include <memory>
#include <string>
#include <vector>

namespace millrace::log {

class Compaction {
  public:
    enum class Phase {
        reading,  // keeper
        asking,   // loop
        writing,  // keeper
        settling, // loop: until what made entries dead is synced
        naming,   // keeper
        done,     // loop
        failed,   // loop
    };
    Compaction(std::string folder, std::vector<std::shared_ptr<Segment>> victims, bool synchronous);

    Phase phase() const { return phase_.load(std::memory_order_acquire); }
    const std::vector<std::shared_ptr<Segment>>& victims() const { return victims_; }

    // --- the loop's
    // Asks about at most `most` entries. True once all are answered.
    bool ask(CommitLogListener& listener, std::size_t most);
    void write() { phase_.store(Phase::writing, std::memory_order_release); }
    void name() { phase_.store(Phase::naming, std::memory_order_release); }
    // Nothing was needed: no file, no naming.
    bool keepsNothing() const { return kept_ == 0; }
    // The new segment, once done; null if nothing was needed. Its holders are for the loop to
    // count.
    std::shared_ptr<Segment> result() const { return keepsNothing() ? nullptr : result_; }
    const base::Error& error() const { return error_; }

    // --- the keeper's
    // About a mebibyte of work. False: the loop goes on.
    bool step(base::FileSystem& files);

  private:
    struct Candidate {
        MessageId id;
        EntryKind kind = 0;
        bool needed = false;
        std::uint32_t routesBegin = 0;
        std::uint32_t routesCount = 0;
    };

    // The next record of the victims, in order; nothing once `budget` bytes are used up (then it
    // goes on there) or at the end.
    std::optional<RecordScanner::Found> next(base::FileSystem& files, std::uint64_t& budget);
    base::Status openVictim(base::FileSystem& files);
    bool atEnd() const { return victim_ == victims_.size() && !scanner_; }
    void read(base::FileSystem& files);
    void list(const RecordView& view);
    base::Status beginWriting(base::FileSystem& files);
    base::Status copy(base::FileSystem& files);
    void copyRecord(const RecordView& view);
    base::Status flush();
    base::Status finish();
    base::Status giveName(base::FileSystem& files);
    void handOver(Phase next) { phase_.store(next, std::memory_order_release); }
    std::string temporaryPath() const;

    const std::string folder_;
    const std::vector<std::shared_ptr<Segment>> victims_;
    const bool synchronous_;
    std::atomic<Phase> phase_{Phase::reading};
    base::Error error_;

    std::size_t victim_ = 0; // the next one to be opened
    std::unique_ptr<base::File> source_;
    std::unique_ptr<RecordScanner> scanner_;
    base::Status trouble_; // of opening a victim
    std::vector<Candidate> candidates_;
    std::vector<QueueId> routes_;
    std::size_t asked_ = 0;
    std::size_t kept_ = 0;

    std::unique_ptr<base::File> file_;
    std::size_t candidate_ = 0; // the next one to be copied
    SparseRecord record_;
    std::string buffer_;
    std::uint64_t flushed_ = 0; // where the buffer goes
    std::uint64_t unsynced_ = 0;
    std::shared_ptr<Segment> result_;
};

} // namespace millrace::log
