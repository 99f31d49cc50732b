// SPDX-License-Identifier: Apache-2.0
// Keeps the log's files in proportion to what is still needed: chooses which segments to rewrite,
// one compaction at a time, and asks the log's listener in slices.
//
// Only sealed segments below the checkpoint are rewritten, and an entry is left out only when what
// made it dead is synced. While there is traffic a log may be 1 GiB above 1.5 times what lives in
// it; a quiet one, or one without space, a few MiB. Lives on: the log's loop.
#pragma once

#include "log/compaction.h"
#include "log/segment_directory.h"
#include "log/segment_keeper.h"

#include <chrono>
#include <memory>
#include <string>
#include <vector>

namespace millrace::log {

class Reclaim {
  public:
    struct Standing {
        LogIndex covered = 0; // segments that end below may be rewritten
        LogIndex synced = 0;
        LogIndex appended = 0;
        std::chrono::nanoseconds now{0};
        std::int64_t wallMs = 0;
        std::uint64_t queuedBytes = 0; // all that was ever handed to the writer
        bool spaceShort = false;
    };
    Reclaim(SegmentDirectory& directory, SegmentKeeper& keeper, std::string folder,
            bool synchronous)
        : directory_(directory), keeper_(keeper), folder_(std::move(folder)),
          synchronous_(synchronous) {}

    // Goes on with a compaction under way for at most limits::kSliceTime. True: call again soon.
    // Segments that a new one has replaced are added to `replaced`.
    bool turn(const Standing& standing, CommitLogListener& listener,
              std::vector<std::shared_ptr<Segment>>& replaced);
    // Begins a compaction if the files are out of proportion; a few times a second.
    void consider(const Standing& standing);
    // The end of a turn: what was decided before is appended.
    void submitted(LogIndex appended);
    bool busy() const { return compaction_ != nullptr; }

  private:
    struct Choice {
        std::size_t first = 0;
        std::size_t count = 0;
        double score = 0;
    };
    bool outOfProportion(const Standing& standing);
    bool eligible(const Segment& segment, const Standing& standing) const;
    Choice best(const Standing& standing) const;
    Choice groupAt(std::size_t first, const Standing& standing) const;
    bool ask(CommitLogListener& listener);
    void exchange(std::vector<std::shared_ptr<Segment>>& replaced);
    void end();

    static constexpr LogIndex kUntilSubmit = ~LogIndex{0};

    SegmentDirectory& directory_;
    SegmentKeeper& keeper_;
    const std::string folder_;
    const bool synchronous_;
    std::shared_ptr<Compaction> compaction_;
    LogIndex decided_ = 0; // the answers are safe when this is synced
    std::chrono::nanoseconds notBefore_{0};
    std::uint64_t bytesBefore_ = 0;
    std::chrono::nanoseconds busySince_{0}; // when much was last written
};

} // namespace millrace::log
