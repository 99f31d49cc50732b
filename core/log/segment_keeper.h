// SPDX-License-Identifier: Apache-2.0
// The thread behind the log that makes room: prepares spares (new ones pre-zeroed, old ones with a
// new salt), removes what is too much, watches the free space, and works on a compaction. Never on
// the commit path.
//
// A spare that cannot be prepared is an alarm that ends by itself, not a failure of the log: each
// look() tries again. Lives on: its own thread; every public verb may be called from the loop.
#pragma once

#include "log/spare_shelf.h"

#include <atomic>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace millrace::log {

class Compaction;

class SegmentKeeper {
  public:
    struct Terms {
        std::string folder;
        std::uint64_t segmentBytes = 0;
        SegmentClass segmentClass = SegmentClass::log;
        std::uint32_t term = 0;
        std::uint64_t nextSequence = 1;
        std::size_t reserve = 0;     // spares that are made even below the limit of
        std::uint64_t freeLimit = 0; // free space, which others shall find on the disk
        bool synchronous = true;     // false: scratch, neither zeroed nor synced
        std::function<bool()> busy;  // commits are under way: compaction gives way
    };
    SegmentKeeper(base::FileSystem& files, SpareShelf& shelf, std::function<void()> wake);
    ~SegmentKeeper();

    void start(Terms terms, const char* threadName);
    void stop();
    // How many ready spares there should be.
    void want(std::size_t spares);
    // The file is not used any more: it becomes a spare, if one is wanted and it has the length, or
    // goes.
    void retire(const std::string& path, std::uint64_t fileBytes);
    // Tries again what has failed, and looks at the free space.
    void look();
    // Works on it until it says that it waits for the loop.
    void work(std::shared_ptr<Compaction> compaction);

    bool blocked() const { return blocked_.load(std::memory_order_acquire); }
    std::uint64_t freeSpace() const { return freeSpace_.load(std::memory_order_acquire); }
    std::uint64_t recycled() const { return recycled_.load(std::memory_order_relaxed); }
    std::size_t ready() const { return shelf_.ready(); }

  private:
    struct Retired {
        std::string path;
        std::uint64_t fileBytes = 0;
    };
    struct Orders {
        std::vector<Retired> retired;
        std::size_t want = 0;
        bool look = false;
        std::shared_ptr<Compaction> compaction;
    };

    void run();
    void giveWay();
    void carryOut(Orders& orders);
    void settle(std::vector<Retired>& retired, std::size_t want);
    void prepareUpTo(std::size_t want);
    void removeDownTo(std::size_t want);
    base::Status prepareNew();
    base::Status recycle(const std::string& path);
    base::Status zero(base::File& file);
    base::Status finish(std::unique_ptr<base::File> file, const std::string& path);
    void measure();
    void block(const base::Error& why);
    bool stopping();

    base::FileSystem& files_;
    SpareShelf& shelf_;
    const std::function<void()> wake_;
    Terms terms_;
    std::thread thread_;

    std::mutex mutex_;
    std::condition_variable changed_;
    Orders orders_;
    bool ordered_ = false;
    bool stopping_ = false;

    std::atomic<bool> blocked_{false};
    std::atomic<std::uint64_t> freeSpace_{~std::uint64_t{0}};
    std::atomic<std::uint64_t> recycled_{0};
    std::uint64_t rawNames_ = 0; // the keeper thread's
};

} // namespace millrace::log
