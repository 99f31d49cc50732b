// SPDX-License-Identifier: Apache-2.0
// The memory that the unacknowledged deliveries of all channels take together.
//
// It counts and does not refuse: above its bound isTight() makes a consumer that has
// limits::kTightUnacked deliveries to acknowledge wait until it has acknowledged some. Outlives the
// ledgers. Lives on: the engine's loop.
#pragma once

#include <cstddef>

namespace millrace::engine {

class UnackedMemory {
  public:
    explicit UnackedMemory(std::size_t bound) : bound_(bound) {}

    void changed(std::size_t before, std::size_t now) {
        held_ += now - before;
        wasTight_ = wasTight_ || isTight();
    }
    std::size_t held() const { return held_; }
    bool isTight() const { return held_ > bound_; }
    // True once each time it has been tight and is not any more, however short that was.
    bool takeEnd() {
        const bool ended = wasTight_ && !isTight();
        wasTight_ = wasTight_ && !ended;
        return ended;
    }

  private:
    std::size_t bound_;
    std::size_t held_ = 0;
    bool wasTight_ = false;
};

} // namespace millrace::engine
