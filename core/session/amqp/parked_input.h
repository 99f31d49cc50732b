// SPDX-License-Identifier: Apache-2.0
// Publishes of a peer that are held while its acks are still wanted: a blocked connection with
// unacked deliveries is read on, so that what its acks free can end the trouble that blocks it.
//
// Ordered per channel: behind a parked publish everything of its channel but acks waits. Bounded:
// limits::kParkedPublishBytes.
#pragma once

#include "wire/amqp/frame.h"

#include <cstdint>
#include <string>
#include <vector>

namespace millrace::session::amqp {

class ParkedInput {
  public:
    enum class Fate {
        takeNow, // not concerned
        parked,  // taken here
        wait,    // stays in the input, with everything behind it
    };
    // While publishing is held. `whole` is the frame with its head and end.
    Fate judge(const wire::amqp::Frame& frame, base::Bytes whole, bool hasUnacked);

    bool empty() const { return bytes_.empty(); }
    // For working it off: takes the bytes out; what is left over afterwards comes back in front.
    std::string takeOut();
    void putBack(base::Bytes rest);
    void clear();

  private:
    Fate park(const wire::amqp::Frame& frame, base::Bytes whole);
    bool concerns(std::uint16_t channel) const;

    std::string bytes_;
    std::vector<std::uint16_t> channels_;
};

} // namespace millrace::session::amqp
