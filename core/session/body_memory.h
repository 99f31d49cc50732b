// SPDX-License-Identifier: Apache-2.0
// The memory that all connections of a loop together may spend on bodies that are being put
// together. Announced sizes are counted, so a body that was let in has its memory to the end; one
// that was not goes to the log as it arrives. Lives on: the engine's loop.
#pragma once

#include "base/limits.h"

#include <cstddef>

namespace millrace::session {

class BodyMemory {
  public:
    explicit BodyMemory(std::size_t bound = limits::kAssemblyBytes) : bound_(bound) {}

    bool take(std::size_t bytes) {
        if (bytes > bound_ - used_) {
            return false;
        }
        used_ += bytes;
        return true;
    }
    void give(std::size_t bytes) { used_ -= bytes; }
    std::size_t used() const { return used_; }

  private:
    std::size_t bound_;
    std::size_t used_ = 0;
};

} // namespace millrace::session
