// SPDX-License-Identifier: Apache-2.0
// The engine's entries in the log: kinds and bytes. An entry says everything that was decided, so
// that applying it looks at no clock, binding or random number.
//
//     message       12 bytes head, exchange, routing key, properties, body. The queues stand in the
//     entry's route list. largeMessage  12 bytes head, exchange, routing key, properties, body size
//     u64, pieces u32, each {record u64, slot u32} bodyPiece     bytes of a body; held by the large
//     message that names it, dropped by recovery if none does settle        blocks {queue, runs}:
//     these messages are done with in this queue txCommit      u32 n, settle blocks: the n messages
//     of kind `message | largeMessage` with kInTransaction before are in effect catalog       a
//     list of catalog::Change, in effect together deliveredMark queue, ordinal: what stands at or
//     below it may have been delivered before purge         queue, record, slot, runs: everything
//     up to this message is settled, but the runs
//
// Little-endian; numbers without a size are varints. Runs are {record - record before, slot, count
// - 1}, ascending.
#pragma once

#include "base/bytes.h"
#include "engine/client.h"
#include "engine/run.h"
#include "log/commit_log.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace millrace::engine {

enum class EntryKind : log::EntryKind {
    message = 1,
    largeMessage = 2,
    bodyPiece = 3,
    settle = 4,
    txCommit = 5,
    catalog = 6,
    deliveredMark = 7,
    purge = 8,
};
inline log::EntryKind raw(EntryKind kind) {
    return static_cast<log::EntryKind>(kind);
}

//      0        1        2        3        4        8                12
//      +--------+--------+--------+--------+--------+----------------+
//      |exchange| key    | flags  | 0      | holders| properties     |
//      | length | length |        |        | u32    | length u32     |
//      +--------+--------+--------+--------+--------+----------------+
struct MessageHead {
    static constexpr std::size_t kBytes = 12;
    static constexpr std::uint8_t kInTransaction = 1; // in effect with the txCommit behind it

    std::uint8_t exchangeLength = 0, keyLength = 0, flags = 0;
    std::uint32_t holders = 0; // queues that refer to it, those that are not logged included
    std::uint32_t propertiesLength = 0;

    void store(base::Byte* to) const;
    static MessageHead load(const base::Byte* from);
};

// A stored message or large message, as views into its payload.
struct MessageEntry {
    MessageHead head;
    std::string_view exchange, routingKey;
    base::Bytes properties;
    base::Bytes rest; // the body, or what readLarge() reads
};
std::optional<MessageEntry> readMessage(base::Bytes payload);

struct LargeBody {
    std::uint64_t size = 0;
    std::vector<base::MessageId> pieces;
};
void writeLarge(const LargeBody& body, std::string& out);
std::optional<LargeBody> readLarge(base::Bytes rest);

// Builds settle blocks. Runs of one queue must come together and ascending.
class SettleWriter {
  public:
    explicit SettleWriter(std::string& out) : out_(out) {}
    void queue(base::QueueId queue, std::uint32_t runs);
    void run(const Run& run);

  private:
    std::string& out_;
    base::LogIndex before_ = 0;
};

// Visits every run; false: the bytes are not well formed.
using SettleVisitor = std::function<void(base::QueueId queue, const Run& run)>;
bool readSettles(base::Bytes blocks, const SettleVisitor& visitor);

struct DeliveredMark {
    base::QueueId queue = 0;
    std::uint64_t ordinal = 0;
};
void writeMark(const DeliveredMark& mark, std::string& out);
std::optional<DeliveredMark> readMark(base::Bytes payload);

struct Purge {
    base::QueueId queue = 0;
    base::MessageId upTo;
    std::vector<Run> kept; // ascending
};
void writePurge(const Purge& purge, std::string& out);
std::optional<Purge> readPurge(base::Bytes payload);

} // namespace millrace::engine
