// SPDX-License-Identifier: Apache-2.0
// When publishes must wait: memory above its watermark, disk short, log behind or ended.
//
// Ends by itself when the cause has gone. Lives on: the loop.
#pragma once

#include "session/peer.h"

#include <cstdint>

namespace millrace::server {

// What is measured; see Alarms::look().
struct Pressure {
    std::uint64_t memoryBytes = 0;
    bool diskShort = false;
    bool logBehind = false; // unsynced bytes are at their bound: a slow disk
    bool logEnded = false;  // a write or a sync has failed: for good
};

class Alarms final {
  public:
    explicit Alarms(std::uint64_t memoryWatermark) : watermark_(memoryWatermark) {}

    // Returns whether the gate has changed: then every connection is told.
    bool look(const Pressure& pressure);
    const session::PublishGate& gate() const { return gate_; }
    bool memoryIsLow() const { return memoryLow_; }
    std::uint64_t memoryWatermark() const { return watermark_; }

  private:
    std::uint64_t watermark_;
    bool memoryLow_ = false;
    bool diskLow_ = false;
    bool ended_ = false;
    session::PublishGate gate_;
};

} // namespace millrace::server
