// SPDX-License-Identifier: Apache-2.0
// Two independent checks: of what we wrote, twice an interval, and of what we read, once an
// interval.
#include "session/heartbeat.h"

namespace millrace::session {

namespace {
constexpr int kSilentIntervals = 2;
constexpr std::uint64_t kFrameBytes = 8; // our own heartbeat is no sign of other traffic
} // namespace

void Heartbeat::start(std::chrono::seconds interval, std::chrono::nanoseconds now) {
    interval_ = interval;
    nextWriteCheck_ = now + interval_ / 2;
    nextReadCheck_ = now + interval_;
    silentIntervals_ = 0;
}

Heartbeat::Due Heartbeat::tick(std::chrono::nanoseconds now, std::uint64_t written,
                               std::uint64_t read, bool reading) {
    if (interval_.count() == 0) {
        return Due::nothing;
    }
    if (now >= nextWriteCheck_) {
        nextWriteCheck_ = now + interval_ / 2;
        const bool silent = written == written_;
        written_ = silent ? written + kFrameBytes : written;
        if (silent) {
            return Due::send;
        }
    }
    if (now >= nextReadCheck_) {
        nextReadCheck_ = now + interval_;
        silentIntervals_ = read != read_ || !reading ? 0 : silentIntervals_ + 1;
        read_ = read;
    }
    return silentIntervals_ >= kSilentIntervals ? Due::drop : Due::nothing;
}

} // namespace millrace::session
