// SPDX-License-Identifier: Apache-2.0
// What a connection and its channels share: the way out, what was agreed with the peer, and the one
// thing the input may wait for.
//
// While something is waited for, the connection takes no input at all: so replies come in the order
// of their commands, on every channel, without a queue of half-done commands. Lives on: the
// engine's loop.
#pragma once

#include "base/refusal.h"
#include "engine/connection.h"
#include "session/outbox.h"
#include "session/peer.h"
#include "wire/amqp/writer.h"

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace millrace::session::amqp {

// Class and method of close methods for errors that no method has caused.
inline constexpr wire::amqp::MethodId kNoMethod{0, 0};

// What the peer did wrong, to be answered with a close when the frame has been worked off.
struct Fault {
    base::Refusal refusal;
    wire::amqp::MethodId cause;
};

struct Waiting {
    enum class For { nothing, disk, message };
    For what = For::nothing;
    bool over = false; // it has happened: feed() goes on
    std::uint16_t channel = 0;
    std::uint64_t ticket = 0;   // of Broker::await()
    std::string reply;          // the frame that goes out then
    wire::amqp::MethodId cause; // the method that waits
    std::optional<base::Refusal> refused;
};

struct Link {
    Link(const Environment& around, PeerInfo who, std::function<void()> notice)
        : environment(around), peer(std::move(who)), attention(std::move(notice)),
          outbox(around.outboxes) {}

    const Environment& environment;
    const PeerInfo peer;
    const std::function<void()> attention;
    Outbox outbox;
    std::unique_ptr<engine::Connection> engine; // from connection.open to the end

    // Agreed.
    std::string user, vhost;
    std::uint16_t channelMax = 0;
    std::uint32_t frameMax = limits::kFrameMaxBeforeTune;
    wire::amqp::FrameReader frames{limits::kFrameMaxBeforeTune +
                                   static_cast<std::uint32_t>(wire::amqp::kFrameOverhead)};
    bool hearsConsumerCancel = false;
    bool hearsBlocked = false;
    bool hearsRefusedLogin = false;

    // --- what the peer has not read, and so the measure of what it may still be sent and ask for
    std::size_t heldBytes = 0;   // of frames behind half sent messages, all channels
    bool behind = false;         // the socket did not take everything when it was last offered
    std::uint64_t emptyAt = 0;   // appended() when the outbox was last empty,
    std::uint64_t delivered = 0; // and how much of what was appended since are deliveries
    std::size_t unread() const { return outbox.size() + heldBytes; }
    // Counts what is appended while it lives.
    class Delivering {
      public:
        explicit Delivering(Link& link) : link_(link), before_(link.outbox.appended()) {}
        ~Delivering() { link_.delivered += link_.outbox.appended() - before_; }
        Delivering(const Delivering&) = delete;
        Delivering& operator=(const Delivering&) = delete;

      private:
        Link& link_;
        std::uint64_t before_;
    };
    // At least what is unread of other frames than deliveries.
    std::size_t unreadReplies() const {
        const std::uint64_t since = outbox.appended() - emptyAt - delivered;
        return std::min<std::size_t>(since, outbox.size()) + heldBytes;
    }
    // A turn may fill `usual`, unless the outboxes of all peers together hold too much.
    std::size_t bound(std::size_t usual) const {
        if (!environment.outboxes.isTight()) {
            return usual;
        }
        return behind ? 0 : limits::kTightOutboxBytes;
    }
    bool hasRoomForDelivery() const { return outbox.size() <= bound(limits::kOutboxBytes); }
    // Not for a peer that is behind: its acks would be kept waiting by what it has not read.
    bool hasRoomForReplies() const {
        return unreadReplies() <=
               (environment.outboxes.isTight() ? limits::kTightOutboxBytes : limits::kReplyBytes);
    }

    bool published = false;
    bool toldBlocked = false;
    bool starving = false; // some channel was told that the outbox is full
    bool endsDue = false;  // some channel's end waited for a message that is whole now

    // Of the frame that is being worked off.
    wire::amqp::MethodId cause;
    Bytes ahead;                // the input behind it
    std::size_t aheadTaken = 0; // of which so much has been taken with it
    std::optional<Fault> fault;

    // Channels that the engine says cannot go on.
    struct Failure {
        std::uint16_t channel = 0;
        base::Refusal refusal;
    };
    std::vector<Failure> failures;

    Waiting waiting;
    std::uint64_t lastTicket = 0;

    void setFrameMax(std::uint32_t agreed) {
        // 0 where both want no limit: ours is then what a frame can announce at all without
        // exhausting us.
        frameMax = agreed == 0 ? limits::kUnlimitedFrame : agreed;
        // Some clients count a frame without its head and end: as RabbitMQ, let them.
        frames.setFrameMax(frameMax + static_cast<std::uint32_t>(wire::amqp::kFrameOverhead));
    }
    void refuse(base::Refusal refusal) { fault.emplace(Fault{std::move(refusal), cause}); }
    template <typename Method> void send(std::uint16_t channel, const Method& method) {
        wire::amqp::writeMethod(outbox, channel, method);
    }
};

} // namespace millrace::session::amqp
