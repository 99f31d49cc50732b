// SPDX-License-Identifier: Apache-2.0
// Who waits for the horizon: replies, confirms and server-sent cancels, told when the log covers
// what they speak of.
//
// Order: confirms of a channel by number; a queue's cancels come after the replies that were
// awaited for the same index. A client that is resumed may call back into the engine and may close
// channels, also its own. Lives on: the engine's loop.
#pragma once

#include "base/ids.h"
#include "base/refusal.h"

#include <cstdint>
#include <string>
#include <vector>

namespace millrace::engine {

struct ChannelState;
class Journal;

class Waits final {
  public:
    explicit Waits(const Journal& journal) : journal_(journal) {}

    // False: visible already, nothing is noted.
    bool await(ChannelState& channel, base::LogIndex index, std::uint64_t ticket);
    void cancelled(ChannelState& channel, std::string tag, base::LogIndex index);
    // The channel cannot go on: told at the end of the turn.
    void fail(ChannelState& channel, base::Refusal why);
    // The channel's confirm ledger has something new.
    void hasConfirms(ChannelState& channel);
    void forget(ChannelState& channel);

    void endTurn();
    void advanced();

  private:
    struct Reply {
        ChannelState* channel;
        base::LogIndex index;
        std::uint64_t ticket;
    };
    struct Cancel {
        ChannelState* channel;
        base::LogIndex index;
        std::string tag;
    };
    struct Failure {
        ChannelState* channel;
        base::Refusal why;
    };

    void resume();
    void cancel();
    void confirm(ChannelState& channel);

    const Journal& journal_;
    std::vector<Reply> replies_, resuming_;
    std::vector<Cancel> cancels_;
    std::vector<Failure> failures_, failing_;
    std::vector<ChannelState*> fresh_;   // published with confirms in this turn
    std::vector<ChannelState*> waiting_; // wait for a sync
};

} // namespace millrace::engine
