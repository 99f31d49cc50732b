// SPDX-License-Identifier: Apache-2.0
// Which published messages the broker has answered for: confirms arrive in any order, singly or
// "this one and all before".
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

namespace millrace::client {

// Messages `from` to `to` of the channel (numbered 1, 2, 3 ... as published) were taken, or refused
// (nack).
struct Confirm {
    std::uint64_t from = 0;
    std::uint64_t to = 0;
    bool accepted = true;
    friend bool operator==(const Confirm&, const Confirm&) = default;
};

class ConfirmAccount final {
  public:
    // Number of the message that is published now.
    std::uint64_t published();
    // False if the broker names a message that was not published or has been answered for.
    bool answered(std::uint64_t sequence, bool multiple, bool accepted);

    std::uint64_t last() const { return next_ - 1; }
    std::uint64_t outstanding() const { return outstanding_; }
    std::uint64_t refused() const { return refused_; }
    // What was answered since the last call, neighbours merged where they came together.
    std::vector<Confirm> take();

  private:
    void settle(std::uint64_t sequence, bool accepted);

    std::uint64_t next_ = 1;
    std::uint64_t first_ = 1; // of `open_`
    std::deque<bool> open_;   // by sequence from first_: still unanswered
    std::uint64_t outstanding_ = 0;
    std::uint64_t refused_ = 0;
    std::vector<Confirm> answers_;
};

} // namespace millrace::client
