// SPDX-License-Identifier: Apache-2.0
// The server side of one AMQP 0-9-1 connection: bytes in, bytes out, no I/O (facts:
// RabbitMQ 4.0.5's codes, scopes and texts).
//
// How its owner (the server) drives it:
//  * feed() what was read. It takes whole frames (of a BODY frame also a part) and returns how many
//  bytes it took; the owner keeps
//    the rest and offers it again with more behind it. While wantsInput() is false it takes
//    nothing: stop reading the socket.
//  * `attention` is called when something happened outside feed(): a delivery, a confirm, a reply
//  that has become durable. It comes
//    from within engine calls: only note it. Then, outside of them: feed() again with the kept
//    input (also if there is none), flush.
//  * flush outbox(), then outboxDrained().
//  * tick() every 100 to 250 ms, then flush.
//  * finished(): close the socket as soon as the outbox is empty; mustDrop(): close it now. At end
//  of input destroy the connection:
//    that is the disconnect.
// Lives on: the engine's loop.
#pragma once

#include "base/refusal.h"
#include "session/amqp/channel.h"
#include "session/amqp/handshake.h"
#include "session/amqp/link.h"
#include "session/amqp/parked_input.h"
#include "session/heartbeat.h"

#include <array>
#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <unordered_map>

namespace millrace::session::amqp {

class Connection final {
  public:
    Connection(const Environment& environment, PeerInfo peer, std::function<void()> attention);
    ~Connection();
    Connection(const Connection&) = delete;
    Connection& operator=(const Connection&) = delete;

    std::size_t feed(Bytes input);
    // False: a reply waits for the disk, publishing is held, too many replies are unread, or the
    // end has come.
    bool wantsInput() const;

    Outbox& outbox() { return link_.outbox; }
    void outboxDrained();
    void tick();
    bool finished() const { return state_ == State::finished; }
    bool mustDrop() const { return dropped_; }
    // Finished because the peer asked for it: it closes the socket when it has read close-ok.
    bool peerLeaves() const { return peerLeaves_; }

    // Sends connection.close with the refusal's code (320) and text, class and method 0, and waits
    // for close-ok. A connection that is not open yet ends at once.
    void forceClose(const base::Refusal& why);
    // The environment's PublishGate has changed.
    void gateChanged();

    // For status and tests.
    bool isOpen() const { return state_ == State::talking && handshake_.isRunning(); }
    bool hasPublished() const { return link_.published; }
    bool hasUnacked() const;
    std::size_t channelCount() const { return channels_.size(); }
    const std::string& user() const { return link_.user; }
    const std::string& vhost() const { return link_.vhost; }

  private:
    enum class State {
        talking,
        closing, // we sent close: everything is ignored but the close handshake
        deaf, // the peer cannot or must not be understood: input is thrown away until the deadline
        finished,
    };
    // A BODY frame whose payload has been taken in part.
    struct OpenBody {
        std::uint16_t channel = 0;
        std::size_t left = 0; // of the payload
        bool active = false;
        std::uint8_t shownSize = 0;
        std::array<Byte, 16> shown{}; // for the error text, if it ends badly
    };
    struct ChannelZero; // its methods (connection_methods.cpp)
    struct Unopened;    // methods on a number that is not open

    std::size_t take(Bytes input);
    std::size_t takeOpening(Bytes input);
    std::size_t takeBodyStart(Bytes input, const wire::amqp::Frame& frame);
    std::size_t takeBodyRest(Bytes input);
    bool isHeld(const wire::amqp::Frame& frame, Bytes whole, bool& parked);
    void takeParked();
    void finishWaiting();

    void handle(const wire::amqp::Frame& frame);
    void handleOnZero(const wire::amqp::Frame& frame);
    void handleWhileClosing(const wire::amqp::Frame& frame);
    void handleUnopened(const wire::amqp::Frame& frame);
    void toChannel(Channel& channel, const wire::amqp::Frame& frame);

    Channel* find(std::uint16_t number);
    void openChannel(std::uint16_t number);
    void afterFrame(Channel* channel);
    void answerFault(Channel* channel);
    void fatal(const base::Refusal& refusal);
    void close(const Fault& fault);
    void leave();
    void finish();
    void fallSilent();
    void tellBlocked();
    std::chrono::nanoseconds now() const { return link_.environment.clock.now(); }

    Link link_;
    Handshake handshake_;
    Heartbeat heartbeat_;
    ParkedInput parked_;
    std::unordered_map<std::uint16_t, std::unique_ptr<Channel>> channels_;
    Channel* recent_ = nullptr; // of the frame before: most often of the next, too
    OpenBody body_;
    std::chrono::nanoseconds deadline_; // of the state; 0: none
    std::size_t leftover_ = 0;          // offered and not taken
    std::uint64_t received_ = 0;        // rises with every new byte
    State state_ = State::talking;
    bool held_ = false;   // the frame in front waits for the gate
    bool choked_ = false; // too many replies are unread
    bool dropped_ = false;
    bool peerLeaves_ = false;
};

} // namespace millrace::session::amqp
