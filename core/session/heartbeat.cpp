// SPDX-License-Identifier: Apache-2.0
// Two independent checks: of what we wrote, every tick, and of what we read, once an interval.
#include "session/heartbeat.h"

#include "base/limits.h"

#include <algorithm>

namespace millrace::session {

namespace {
constexpr int kSilentIntervals = 2;
constexpr std::uint64_t kFrameBytes = 8; // our own heartbeat is no sign of other traffic
} // namespace

void Heartbeat::start(std::chrono::seconds interval, std::chrono::nanoseconds now) {
    interval_ = interval;
    // A write is noticed a tick late, and so is the end of the quiet after it.
    const std::chrono::nanoseconds tick = limits::kPeerTick * limits::kPeerTickShares;
    quiet_ = std::max<std::chrono::nanoseconds>(interval_ / 2 - tick, interval_ / 4);
    nextWrite_ = now + quiet_;
    nextReadCheck_ = now + interval_;
    silentIntervals_ = 0;
}

Heartbeat::Due Heartbeat::tick(std::chrono::nanoseconds now, std::uint64_t written,
                               std::uint64_t read, bool reading) {
    if (interval_.count() == 0) {
        return Due::nothing;
    }
    if (written != written_) {
        written_ = written;
        nextWrite_ = now + quiet_;
    } else if (now >= nextWrite_) {
        written_ = written + kFrameBytes;
        nextWrite_ = now + quiet_;
        return Due::send;
    }
    if (now >= nextReadCheck_) {
        nextReadCheck_ = now + interval_;
        silentIntervals_ = read != read_ || !reading ? 0 : silentIntervals_ + 1;
        read_ = read;
    }
    return silentIntervals_ >= kSilentIntervals ? Due::drop : Due::nothing;
}

} // namespace millrace::session
