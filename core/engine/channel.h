// SPDX-License-Identifier: Apache-2.0
// One channel of one peer: publishes, confirms, consumers, unacked deliveries, transactions.
//
// Ordered: deliveries of a queue in queue order; delivery tags 1, 2, 3 ... Confirms only when every
// queue of the route is durable as promised. The destructor is the channel's close: what is unacked
// goes back to its place, an open transaction is rolled back. Lives on: the engine's loop.
#pragma once

#include "engine/broker.h"

#include <memory>
#include <span>
#include <string_view>

namespace millrace::engine {

struct ChannelState;      // engine/channel_state.h
struct MessageProperties; // engine/message_headers.h
struct Outgoing;          // engine/placing.h

enum class Settlement : std::uint8_t { ack, requeue, discard };

class Channel final {
  public:
    explicit Channel(std::unique_ptr<ChannelState> state); // see Broker::openChannel()
    ~Channel();
    Channel(const Channel&) = delete;
    Channel& operator=(const Channel&) = delete;

    // --- publish. `body` are the body's pieces as they lie in memory. A body above
    // limits::kWholeBodyBytes comes by beginBody(size), bodyPiece(bytes) ... (pieces of
    // limits::kBodyPieceBytes, the last one smaller), then publish() with largeBody = true and an
    // empty body. `properties` must be well formed.
    struct Publish {
        std::string_view exchange, routingKey;
        base::Bytes properties;
        std::span<const base::Bytes> body;
        std::uint64_t bodySize = 0;
        bool mandatory = false;
        bool largeBody = false;
    };
    enum class Routed : std::uint8_t {
        yes,
        unroutable, // with mandatory: the session sends basic.return itself, before the confirm; in
                    // a tx it comes at commit
    };
    base::Outcome<Routed> publish(const Publish& message);
    // Whether a queue would take it now; `body` is not looked at.
    bool isRoutable(const Publish& message);
    base::Status beginBody(std::uint64_t size);
    base::Status bodyPiece(base::Bytes bytes);
    void abandonBody();

    void selectConfirms(); // from now on publishes are numbered 1, 2, 3 ...
    bool confirming() const;

    // --- consume
    struct Consume {
        std::string_view queue, tag; // the session chooses a tag where the client did not
        bool noAck = false, exclusive = false;
        base::Bytes arguments;
    };
    // Deliveries begin at the earliest in endTurn(), so consume-ok goes first.
    base::Outcome<Nothing> consume(const Consume& consume);
    base::Outcome<bool>
    cancel(std::string_view tag); // false: there was none. Unacked deliveries stay.
    enum class Got : std::uint8_t {
        empty,
        coming, // client.deliver() with empty consumerTag within this call or later, or
                // client.cancelled("") = nothing after all
    };
    base::Outcome<Got> get(std::string_view queue, bool noAck);
    base::Outcome<Nothing> settle(std::uint64_t tag, bool multiple, Settlement how);
    void recover(); // all unacked go back to their queues
    bool hasUnacked() const;
    base::Outcome<Nothing> qos(std::uint32_t size, std::uint16_t count, bool global);
    void writable(); // the outbox has room again

    // --- tx: publishes and settles are kept until the commit
    base::Outcome<Nothing> txSelect();
    Answer<Nothing> txCommit();
    base::Outcome<Nothing> txRollback();
    bool transactional() const;

    ChannelState& state() { return *state_; }

  private:
    std::optional<base::Refusal> route(const Publish& message, MessageProperties& properties,
                                       std::string& rewritten);
    base::Outcome<Routed> keepForCommit(const Outgoing& outgoing, const Publish& publish);
    void confirmAt(base::LogIndex index);
    bool settleNow(std::uint64_t tag, bool multiple, bool requeue);
    void dropTransaction();

    std::unique_ptr<ChannelState> state_;
};

} // namespace millrace::engine
