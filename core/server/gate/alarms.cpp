// SPDX-License-Identifier: Apache-2.0
// The rules of the publish gate, with RabbitMQ's texts for connection.blocked.
#include "server/gate/alarms.h"

#include "base/diagnostics.h"

namespace millrace::server {

namespace {

// Memory must fall this far below the watermark (in twentieths) before the alarm ends, so that it
// does not flap.
constexpr std::uint64_t kHysteresisTwentieths = 19;

std::string reasonFor(bool memory, bool disk, bool ended) {
    if (ended) {
        return "the message log has failed, see the server's log";
    }
    if (memory && disk) {
        return "low on memory & disk";
    }
    if (memory) {
        return "low on memory";
    }
    return disk ? "low on disk" : "";
}

void report(bool now, std::string_view what) {
    base::diagnose(base::Severity::warning,
                   now ? std::string(what) + ": publishers are held until it is over"
                       : std::string(what) + ": over");
}

} // namespace

bool Alarms::look(const Pressure& pressure) {
    const std::uint64_t bound = memoryLow_ ? watermark_ / 20 * kHysteresisTwentieths : watermark_;
    const bool memory = pressure.memoryBytes >= bound;
    if (memory != memoryLow_) {
        report(memory, "memory alarm");
    }
    if (pressure.diskShort != diskLow_) {
        report(pressure.diskShort, "disk alarm");
    }
    if (pressure.logEnded && !ended_) {
        base::diagnose(
            base::Severity::error,
            "THE MESSAGE LOG HAS FAILED: no publish is taken and nothing is confirmed any "
            "more. Mend the disk, then restart the server; what was confirmed is safe");
    }
    memoryLow_ = memory;
    diskLow_ = pressure.diskShort;
    ended_ = ended_ || pressure.logEnded;
    session::PublishGate gate;
    gate.open = !memoryLow_ && !diskLow_ && !ended_ && !pressure.logBehind;
    gate.reason = reasonFor(memoryLow_, diskLow_, ended_);
    if (gate.open == gate_.open && gate.reason == gate_.reason) {
        return false;
    }
    gate_ = std::move(gate);
    return true;
}

} // namespace millrace::server
