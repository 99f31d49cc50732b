// SPDX-License-Identifier: Apache-2.0
// Messages whose body lies in the log in pieces: which pieces, and who still needs them.
//
// A piece is held by its message, the message by its queues and by deliveries that are being sent;
// with the last of them the pieces are let go. About 150 bytes a message, which is above 1 MiB on
// disk. Lives on: the engine's loop.
#pragma once

#include "engine/entry.h"
#include "engine/journal.h"

#include <functional>
#include <map>
#include <set>
#include <string>
#include <unordered_set>
#include <vector>

namespace millrace::engine {

class LargeBodies final {
  public:
    explicit LargeBodies(Journal& journal) : journal_(journal) {}

    // A piece without a message yet (it arrives, or replay has shown it).
    void addPiece(const base::MessageId& piece) { pieces_.insert(piece); }
    void dropPiece(const base::MessageId& piece); // it never gets a message

    // `holders`: queues that refer to it.
    void add(const base::MessageId& message, LargeBody body, std::uint32_t holders);
    bool empty() const { return messages_.empty(); }
    const LargeBody* find(const base::MessageId& message) const;
    // A queue is done with it. Nothing happens for messages that are not large.
    void settled(const base::MessageId& message);
    void use(const base::MessageId& message); // a delivery is being sent
    void unuse(const base::MessageId& message);

    bool neededPiece(const base::MessageId& piece) const { return pieces_.contains(piece); }
    std::size_t memoryBytes() const;

    // --- checkpoint: one page a message
    struct Page {
        base::MessageId message;
        bool drop = false;
        std::string bytes;
    };
    bool hasDirty() const { return !dirty_.empty(); }
    bool takeDirty(Page& page);

    // --- recovery
    base::Status load(const base::MessageId& message, base::Bytes bytes);
    void countHolders(const Run& run); // these stand in one more queue
    // Replay is over: messages without a holder go, and pieces that no message names. What lies
    // below the replay start was never held; the rest is let go.
    void finishRecovery(base::LogIndex replayFrom);
    void eachPiece(const std::function<void(const base::MessageId&)>& visitor) const;

  private:
    struct Message {
        LargeBody body;
        std::uint32_t holders = 0;
        std::uint32_t users = 0;
        bool hasPage = false;
    };
    void letGo(std::map<base::MessageId, Message>::iterator at);

    Journal& journal_;
    std::map<base::MessageId, Message> messages_;
    std::unordered_set<base::MessageId> pieces_;
    std::set<base::MessageId> dirty_; // changed since their page
};

} // namespace millrace::engine
