// SPDX-License-Identifier: Apache-2.0
// A client's bytes between socket and session. Lives on: the loop.
#include "server/amqp_peer.h"

#include "base/diagnostics.h"
#include "server/peers.h"

namespace millrace::server {

namespace {

session::PeerInfo infoOf(const net::Address& address) {
    return {address.host(), address.port(), address.isLoopback()};
}

} // namespace

AmqpPeer::AmqpPeer(Peers& peers, net::Socket socket)
    : peers_(peers), connection_(peers.loop(), peers.readBuffer(), std::move(socket), *this),
      session_(std::make_unique<session::amqp::Connection>(
          peers.environment(), infoOf(connection_.socket().peerAddress()),
          [this] { peers_.note(*this); })) {}

AmqpPeer::~AmqpPeer() {
    peers_.loop().cancel(closeOkTimer_);
}

std::size_t AmqpPeer::received(base::Bytes bytes) {
    if (!session_) {
        return bytes.size();
    }
    const std::size_t taken = session_->feed(bytes);
    peers_.took(taken);
    peers_.touch(*this);
    wantInput();
    return taken;
}

void AmqpPeer::wantInput() {
    connection_.setReading(session_->wantsInput());
}

std::size_t AmqpPeer::queuedBytes() const {
    return session_ ? session_->outbox().size() : 0;
}

std::size_t AmqpPeer::gather(std::span<base::Bytes> parts) {
    return session_->outbox().gather(parts);
}

void AmqpPeer::sent(std::size_t bytes) {
    session_->outbox().consumed(bytes);
    if (!flushing_) { // the socket took it by itself: whoever waits for room is told in flush()
        peers_.touch(*this);
    }
}

void AmqpPeer::ended(std::string_view why) {
    if (session_ && session_->isOpen()) {
        base::diagnose(base::Severity::debug,
                       "a client ended its connection without closing it" +
                           (why.empty() ? std::string() : ": " + std::string(why)));
    }
    peers_.touch(*this);
}

void AmqpPeer::feedKept() {
    if (session_ && connection_.isOpen()) {
        connection_.offerRest();
    }
}

void AmqpPeer::flush() {
    if (!session_ || !connection_.isOpen()) {
        return;
    }
    if (session_->mustDrop()) {
        connection_.close();
        return;
    }
    if (holdsCloseOk()) {
        return;
    }
    flushing_ = true;
    connection_.flush();
    flushing_ = false;
    if (!connection_.isOpen()) {
        return;
    }
    session_->outboxDrained();
    wantInput();
    if (session_->finished() && session_->outbox().empty()) {
        const auto lastWord = session_->peerLeaves() ? net::LastWord::peers : net::LastWord::ours;
        session_.reset();
        connection_.finish(lastWord);
    }
}

// The answer to a client's close waits for limits::kCloseOkDelay, and what is before it with it.
bool AmqpPeer::holdsCloseOk() {
    if (!session_->peerLeaves() || closeOkDue_) {
        return false;
    }
    if (closeOkTimer_ == net::EventLoop::TimerId{}) {
        closeOkTimer_ = peers_.loop().after(limits::kCloseOkDelay, [this] {
            closeOkDue_ = true;
            peers_.touch(*this);
        });
    }
    return true;
}

void AmqpPeer::tick() {
    if (session_) {
        session_->tick();
        peers_.touch(*this);
    }
}

void AmqpPeer::gateChanged() {
    if (session_) {
        session_->gateChanged();
        peers_.note(*this);
    }
}

void AmqpPeer::forceClose(const base::Refusal& why) {
    if (session_) {
        session_->forceClose(why);
        peers_.note(*this);
    }
}

} // namespace millrace::server
