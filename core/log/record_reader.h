// SPDX-License-Identifier: Apache-2.0
// The reader thread: brings entries from disk, so that no loop ever reads a file.
//
// A fetch's ids are read in log order, each record once, checked by their checksums; a damaged or
// vanished entry is reported as such and its neighbours are unharmed. Waits where no descriptor is
// to be had. At most `openSegments` files stay open. Lives on: its own thread; fetch, forget and
// take on the log's loop.
#pragma once

#include "base/file.h"
#include "log/commit_log.h"
#include "log/record_view.h"
#include "log/segment.h"

#include <condition_variable>
#include <functional>
#include <list>
#include <mutex>
#include <thread>
#include <vector>

namespace millrace::log {

class RecordReader {
  public:
    // One entry to be brought. Without a segment it is answered as it is (already in memory, or
    // gone).
    struct Wanted {
        Stored entry;
        std::shared_ptr<Segment> segment;
        std::uint64_t offset = 0; // a record at or before the wanted one; 0: not known
        std::uint64_t dataEnd = 0;
    };
    struct Job {
        std::uint64_t token = 0;
        std::vector<Wanted> wanted;
    };

    RecordReader(base::FileSystem& files, std::size_t openSegments, std::function<void()> wake);
    ~RecordReader();

    void start(const char* threadName);
    void stop();
    void fetch(Job job);
    // The file is about to go: close it.
    void forget(const std::string& path);
    // Finished jobs, in the order of their fetch().
    void take(std::vector<Job>& done);

  private:
    struct Open {
        std::string path;
        std::unique_ptr<base::File> file;
        std::vector<Spot> spots;
        bool spotsLoaded = false;
        std::uint64_t readSinceForget = 0;
    };
    struct Window { // the bytes read last
        std::string path;
        std::uint64_t offset = 0;
        std::size_t length = 0;
        std::shared_ptr<base::Byte[]> bytes;
        LogIndex nextIndex = 0; // the record behind the one found last, and where it begins
        std::uint64_t nextOffset = 0;
    };
    struct Found {
        RecordHeader header;
        std::uint64_t offset = 0;
    };

    void run();
    void carryOut(Job& job);
    void record(std::span<Wanted*> group);
    void answer(std::span<Wanted*> group, const RecordView& view,
                const std::shared_ptr<const void>& owner);
    Open* open(const Segment& segment);
    base::Result<std::unique_ptr<base::File>> openFile(const std::string& path);
    bool awaitDescriptor(const std::string& path);
    void loadSpots(Open& opened, const Segment& segment, std::uint64_t dataEnd);
    std::uint64_t whereToBegin(Open& opened, const Wanted& wanted);
    std::optional<Found> locate(Open& opened, const Wanted& wanted);
    // Moves the window if it must. `length` is cut at `end`.
    base::Bytes at(Open& opened, std::uint64_t offset, std::size_t length, std::uint64_t end);
    void noteProgress(Open& opened, const Found& found);

    base::FileSystem& files_;
    const std::size_t openSegments_;
    const std::function<void()> wake_;
    std::thread thread_;
    std::mutex mutex_;
    std::condition_variable changed_;
    std::vector<Job> jobs_;
    std::vector<Job> done_;
    std::vector<std::string> forgotten_;
    bool stopping_ = false;

    // --- the reader thread's
    std::list<Open> open_; // most recently used first
    Window window_;
    bool shortageReported_ = false;
};

} // namespace millrace::log
