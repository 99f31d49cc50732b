// SPDX-License-Identifier: Apache-2.0
// The clients of a loop and the end of its turns.
#include "server/peers.h"

#include "base/diagnostics.h"
#include "base/limits.h"
#include "engine/broker.h"

namespace millrace::server {

namespace {

// Type, channel, size and end of a frame stand around what frame_max... counts too, so this is more
// than a whole frame.
std::size_t longestFrame(const session::SessionOptions& options) {
    return std::max<std::size_t>(options.frameMax, limits::kFrameMaxBeforeTune) + 8;
}

} // namespace

Peers::Peers(net::EventLoop& loop, const session::Environment& environment)
    : loop_(loop), environment_(environment), buffer_(longestFrame(environment.options)) {}

Peers::~Peers() {
    dropAll();
}

void Peers::accept(net::Socket socket) {
    auto peer = std::make_unique<AmqpPeer>(*this, std::move(socket));
    if (auto started = peer->start(); !started) {
        base::diagnose(base::Severity::warning, started.error().text);
        return;
    }
    peer->place_ = peers_.size();
    peers_.push_back(std::move(peer));
}

void Peers::note(AmqpPeer& peer) {
    if (!peer.noted_) {
        peer.noted_ = true;
        noted_.push_back(&peer);
    }
    touch(peer);
}

void Peers::touch(AmqpPeer& peer) {
    if (!peer.touched_) {
        peer.touched_ = true;
        touched_.push_back(&peer);
    }
}

bool Peers::endTurn() {
    feedNoted();
    environment_.broker.endTurn();
    inputTaken_ = false;
    feedNoted();
    flushTouched();
    const bool again = inputTaken_ || !noted_.empty() || !touched_.empty();
    inputTaken_ = false;
    return again || environment_.broker.hasWork();
}

void Peers::feedNoted() {
    current_.swap(noted_);
    for (AmqpPeer* peer : current_) {
        peer->noted_ = false;
        peer->feedKept();
        touch(*peer);
    }
    current_.clear();
}

void Peers::flushTouched() {
    current_.swap(touched_);
    for (AmqpPeer* peer : current_) {
        peer->touched_ = false;
        peer->flush();
        if (peer->gone() && !peer->noted_) {
            remove(*peer);
        }
    }
    current_.clear();
}

void Peers::remove(AmqpPeer& peer) {
    const std::size_t place = peer.place_;
    std::unique_ptr<AmqpPeer> removed = std::move(peers_[place]);
    if (place + 1 != peers_.size()) {
        peers_[place] = std::move(peers_.back());
        peers_[place]->place_ = place;
    }
    peers_.pop_back();
    // Its end gives messages back, which may note others; itself it is not to be noted any more.
    removed->noted_ = true;
    removed->touched_ = true;
    std::unique_ptr<session::amqp::Connection> session = std::move(removed->session_);
    session.reset();
}

void Peers::tick() {
    tickShare_ = (tickShare_ + 1) % limits::kPeerTickShares;
    for (std::size_t i = tickShare_; i < peers_.size(); i += limits::kPeerTickShares) {
        peers_[i]->tick();
    }
}

void Peers::gateChanged() {
    for (const auto& peer : peers_) {
        peer->gateChanged();
    }
}

void Peers::forceCloseAll(const base::Refusal& why) {
    for (const auto& peer : peers_) {
        peer->forceClose(why);
    }
}

void Peers::dropAll() {
    noted_.clear();
    touched_.clear();
    while (!peers_.empty()) {
        remove(*peers_.back());
    }
    noted_.clear();
    touched_.clear();
}

} // namespace millrace::server
