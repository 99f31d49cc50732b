// SPDX-License-Identifier: Apache-2.0
// The writer thread: takes everything submitted whenever it is idle, writes it, syncs once,
// reports. No timer; only pieces that nobody waits for may stay limits::kLazySync.
//
// Durable: synced() rises after the sync that covers the record. A segment is synced before
// anything is written to the next one, so a record in a later segment proves all earlier ones. A
// failed write or sync is final: failed(), and nothing is touched again. Lives on: submit, wait and
// stop on the log's loop; the rest on its own thread.
#pragma once

#include "base/result.h"
#include "log/commit_log.h"
#include "log/spare_shelf.h"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace millrace::log {

// A record on its way to its place in a segment, or, with a footer, the end of that segment.
struct Piece {
    Segment* segment = nullptr;
    base::Byte* data = nullptr;
    std::uint32_t bytes = 0;
    std::uint64_t offset = 0;
    LogIndex index = 0;
    std::unique_ptr<SegmentFooter> footer;
};

class GroupCommit {
  public:
    // `takeSegment` waits for the next segment's file; nothing when the log is stopping.
    GroupCommit(std::function<std::optional<Spare>()> takeSegment, bool synchronous,
                std::function<void()> wake);
    ~GroupCommit();

    void start(LogIndex end, const char* threadName);
    // Takes the pieces; their memory stays until written() covers it.
    void submit(std::vector<Piece>& pieces, Waiting waiting);
    // Waits until everything submitted is synced, or the writer has failed. False: not yet.
    bool drained(std::chrono::milliseconds within);
    // Ends the thread; what is not yet written stays unwritten. takeSegment must not wait any more.
    void stop();

    LogIndex written() const { return written_.load(std::memory_order_acquire); }
    LogIndex synced() const { return synced_.load(std::memory_order_acquire); }
    std::uint64_t syncedBytes() const { return syncedBytes_.load(std::memory_order_acquire); }
    std::uint64_t syncs() const { return syncs_.load(std::memory_order_relaxed); }
    // Segments that have got their file.
    std::uint64_t attached() const { return attached_.load(std::memory_order_acquire); }
    bool failed() const { return failed_.load(std::memory_order_acquire); }
    // Only once failed().
    const base::Error& error() const { return error_; }
    // Nothing is being written; only a hint for background work.
    bool idle() const { return idle_.load(std::memory_order_relaxed); }

  private:
    enum class State { busy, waiting, lazy };

    void run();
    bool takeWork(std::vector<Piece>& work);
    base::Status commitAll(std::vector<Piece>& work);
    base::Status commit(std::span<Piece> group);
    base::Status begin(Segment& segment);
    base::Status seal(Piece& piece);
    void gather(Piece& piece);
    base::Status flush(bool padded);
    base::Status syncCurrent();
    void forgetBehind();

    const std::function<std::optional<Spare>()> takeSegment_;
    const bool synchronous_;
    const std::function<void()> wake_;
    std::thread thread_;

    std::mutex mutex_;
    std::condition_variable changed_;
    std::condition_variable progress_;
    std::vector<Piece> pending_;
    bool somebody_ = false;
    bool stopping_ = false;
    State state_ = State::busy;
    std::chrono::steady_clock::time_point lazyUntil_;

    std::atomic<LogIndex> written_{0};
    std::atomic<LogIndex> synced_{0};
    std::atomic<std::uint64_t> syncedBytes_{0};
    std::atomic<std::uint64_t> syncs_{0};
    std::atomic<std::uint64_t> attached_{0};
    std::atomic<bool> failed_{false};
    std::atomic<bool> idle_{true};
    base::Error error_;

    // --- the writer thread's
    Segment* current_ = nullptr;
    bool dirty_ = false;
    std::vector<base::Bytes> parts_;
    std::uint64_t partsOffset_ = 0;
    std::uint64_t partsBytes_ = 0;
    std::uint64_t forgotten_ = 0;
    LogIndex lastIndex_ = 0;
    std::uint64_t bytes_ = 0;
};

} // namespace millrace::log
