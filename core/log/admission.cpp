// SPDX-License-Identifier: Apache-2.0
#include "log/admission.h"

#include "base/limits.h"

#include <algorithm>

namespace millrace::log {

namespace {

constexpr std::uint64_t kExtraMost = 12;       // spares beyond the reserve, when segments go fast
constexpr std::uint64_t kExtraFor = 2;         // times the segments of the last moment
constexpr std::chrono::seconds kKeepExtra{30}; // then a drained log is small again
constexpr std::uint64_t kTight =
    limits::kUnreleasedBytes; // what may be appended before the next look at the disk

} // namespace

void Admission::update(const Situation& now) {
    const std::size_t bound = limits::kUnreleasedBytes;
    slow_ = now.unsyncedBytes > (slow_ ? bound / 2 : bound);
    const bool tight = now.freeSpace < bounds_.diskFreeLimit +
                                           bounds_.reserveSegments * bounds_.segmentBytes + kTight;
    const auto reserve = static_cast<std::int64_t>(bounds_.reserveSegments);
    const std::uint64_t turn =
        std::min<std::uint64_t>(limits::kTurnBytes, bounds_.segmentBytes / 2);
    const bool inReserve = now.spares < reserve || (now.spares == reserve && now.room < turn);
    atReserve_ = tight && inReserve;
    diskShort_ = now.blocked || now.freeSpace < bounds_.diskFreeLimit || atReserve_;
    most_ = ~std::uint64_t{0};
    if (now.freeSpace < bounds_.diskFreeLimit) {
        const std::uint64_t lacking = bounds_.diskFreeLimit - now.freeSpace;
        const auto tooMany =
            static_cast<std::int64_t>((lacking + bounds_.segmentBytes - 1) / bounds_.segmentBytes);
        most_ = static_cast<std::uint64_t>(std::max<std::int64_t>(now.spares - tooMany, 0));
    }
    accepting_ = !now.stopped && !slow_ && !diskShort_;
}

std::uint64_t Admission::sparesWanted(std::chrono::nanoseconds now, std::uint64_t begun,
                                      bool filling) {
    const std::uint64_t recent = begun - begunBefore_;
    begunBefore_ = begun;
    // One begun says nothing yet of a rate.
    const std::uint64_t extra = std::min(kExtraMost, (recent > 1 ? recent * kExtraFor : 0) +
                                                         (filling || atReserve_ ? 1 : 0));
    if (extra >= extra_ || now - extraSince_ >= kKeepExtra) {
        extra_ = extra;
        extraSince_ = now;
    }
    return std::max(bounds_.reserveSegments, std::min(bounds_.reserveSegments + extra_, most_));
}

} // namespace millrace::log
