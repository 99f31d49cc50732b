// SPDX-License-Identifier: Apache-2.0
// The seam between the engine and whatever keeps entries durable and in order: one file log, a scratch log, a replicated log.
//
// Promise. Entries are kept in the order of append(). An entry's id is final when append() returns. Horizons only rise, and a record
// is released by a horizon only with everything before it. What was synced survives a power cut; what was withdrawn never comes back.
// Lives on: the engine's loop. Implementations have threads of their own and report through harvest(), which the loop calls.
#pragma once

#include "base/bytes.h"
#include "base/ids.h"
#include "base/result.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

namespace millrace::log {

using base::Bytes;
using base::LogIndex;
using base::MessageId;
using base::QueueId;

// The engine's business (engine/entry.h); the log stores it. 0 is the log's own (marks, padding).
using EntryKind = std::uint8_t;

enum class Waiting : std::uint8_t {
    somebody, // a confirm or a reply waits for the sync: written as soon as the writer is idle
    nobody,   // settles, marks: go with the next group, limits::kLazySync later at the latest
};

struct Entry {
    EntryKind kind = 0;
    Waiting waiting = Waiting::somebody;
    // Decided route list of a message (queue ids, ascending); empty for commands. Equal lists in one record are stored once.
    std::span<const QueueId> routes;
    // How many holders keep the entry on disk. 0: needed only until a checkpoint covers it.
    std::uint32_t references = 0;
    // The payload is the parts one after the other. Copied before append() returns.
    std::span<const Bytes> parts;
};

// Everything at or below. written <= appended, synced <= written, committed is what a majority has (synced on a single node).
struct Horizons {
    LogIndex appended = 0;
    LogIndex written = 0;
    LogIndex synced = 0;
    LogIndex committed = 0;
};

// A stored entry as it is read back. `payload` is valid while `owner` lives; owner is null when the bytes are in recent memory, then
// they are valid until the loop's next call of append(), submit() or harvest().
struct Stored {
    MessageId id;
    EntryKind kind = 0;
    Bytes payload;
    std::shared_ptr<const void> owner;
    bool damaged = false; // its checksum did not match: payload is empty, the neighbours are unharmed
};

// Who appended learns here, always from within harvest() and on the loop.
class CommitLogListener {
  public:
    virtual ~CommitLogListener() = default;
    virtual void advanced(const Horizons& horizons) = 0;
    // Records from here on are gone (a leader lost its office, or the log has failed): the engine is stale and must be rebuilt.
    virtual void withdrawn(LogIndex from, const base::Error& why) = 0;
    // Answer to fetch(), in the order of its ids.
    virtual void fetched(std::uint64_t token, std::vector<Stored> entries) = 0;
    // Reclaim asks whether a referenced entry is still wanted by any of its holders. Called in slices.
    virtual bool needed(const MessageId& id, EntryKind kind, std::span<const QueueId> routes) = 0;
};

class CommitLog {
  public:
    virtual ~CommitLog() = default;

    // Adds to the open record and returns the entry's id. Refused (ErrorCode::full, ::stopped) only where accepting() says so already.
    virtual base::Result<MessageId> append(const Entry& entry) = 0;
    // End of a turn: closes the open record and hands it to the writer. Without a new entry it does nothing.
    virtual void submit() = 0;
    // The entry, if it is in memory. Otherwise false: fetch() it.
    virtual bool read(const MessageId& id, Stored& out) = 0;
    // Reads from disk on another thread, and answers listener.fetched(token, ...). Several may be under way.
    virtual void fetch(std::uint64_t token, std::vector<MessageId> ids) = 0;
    // `count` holders of each of the `slots` entries from `first` on have let go. A segment without holders is recycled.
    virtual void release(const MessageId& first, std::uint32_t slots, std::uint32_t count) = 0;
    // A checkpoint covers everything below: replay will never need it.
    virtual void covered(LogIndex below) = 0;
};

// What replay shows, in order. `routes` and `payload` are views valid during the call.
struct Replayed {
    MessageId id;
    EntryKind kind = 0;
    std::span<const QueueId> routes;
    Bytes payload;
    std::int64_t wallMs = 0; // log time of its record
    bool damaged = false;    // confirmed once, unreadable now: reported, isolated
};
using ReplayVisitor = std::function<void(const Replayed&)>;

} // namespace millrace::log
