// SPDX-License-Identifier: Apache-2.0
// Whether publishes are welcome, and how many spare segments the next moments need. Pure arithmetic
// over what it is told.
//
// Publishes stop before the reserve: what is left then belongs to settles, deletes and checkpoints,
// which make room.
#pragma once

#include <chrono>
#include <cstdint>

namespace millrace::log {

class Admission {
  public:
    struct Bounds {
        std::uint64_t segmentBytes = 0;
        std::uint64_t reserveSegments = 0;
        std::uint64_t diskFreeLimit = 0;
    };
    struct Situation {
        std::uint64_t unsyncedBytes = 0;
        std::int64_t spares = 0; // ready and not yet promised to a record
        std::uint64_t room = 0;  // what is left of the segment being filled
        std::uint64_t freeSpace = 0;
        bool blocked = false; // a spare could not be prepared
        bool stopped = false;
    };
    explicit Admission(const Bounds& bounds) : bounds_(bounds) {}

    void update(const Situation& now);
    bool accepting() const { return accepting_; }
    bool slow() const { return slow_; }
    bool diskShort() const { return diskShort_; }

    // Spares there should be. `begun`: segments begun so far; `filling`: the active one is more
    // than half full and was written to since the last call. What was needed within the last 30 s
    // stays, but on a disk below its free limit, which gets back all but the reserve.
    std::uint64_t sparesWanted(std::chrono::nanoseconds now, std::uint64_t begun, bool filling);

  private:
    const Bounds bounds_;
    bool accepting_ = true;
    bool slow_ = false;
    bool diskShort_ = false;
    bool atReserve_ = false; // publishes wait for one more spare, if the disk has room for it
    std::uint64_t begunBefore_ = 0;
    std::uint64_t extra_ = 0;
    std::uint64_t most_ = ~std::uint64_t{0}; // spares that give the disk its free limit back
    std::chrono::nanoseconds extraSince_{0};
};

} // namespace millrace::log
