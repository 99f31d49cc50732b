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
//  * tick() every 100 to 250 ms.
//  * finished(): close the socket as soon as the outbox is empty; mustDrop(): close it now. At end
//  of input destroy the connection:
//    that is the disconnect.
// Lives on: the engine's loop.
#pragma once

#include "base/refusal.h"
#include "session/outbox.h"
#include "session/peer.h"

#include <cstddef>
#include <functional>
#include <memory>
#include <string>

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

    Outbox& outbox();
    void outboxDrained();
    void tick();
    bool finished() const;
    bool mustDrop() const;

    // Sends connection.close with the refusal's code (320) and text, class and method 0, and waits
    // for close-ok.
    void forceClose(const base::Refusal& why);
    // The environment's PublishGate has changed.
    void gateChanged();

    // For status and tests.
    bool hasPublished() const;
    bool hasUnacked() const;
    bool isOpen() const; // connection.open was answered and nobody has closed
    const std::string& user() const;
    const std::string& vhost() const;

    struct State;

  private:
    std::unique_ptr<State> state_;
};

} // namespace millrace::session::amqp
