// SPDX-License-Identifier: Apache-2.0
// All clients of one loop: who needs to be fed or flushed at the end of a turn, and the rhythm of
// their timeouts.
//
// The end of a turn: sessions that something happened to go on, the engine ends its turn, output is
// sent, ended peers go. Bounded by the limit of descriptors. Lives on: the loop.
#pragma once

#include "net/event_loop.h"
#include "net/read_buffer.h"
#include "server/amqp_peer.h"
#include "session/peer.h"

#include <memory>
#include <vector>

namespace millrace::server {

class Peers final {
  public:
    Peers(net::EventLoop& loop, const session::Environment& environment);
    ~Peers();
    Peers(const Peers&) = delete;
    Peers& operator=(const Peers&) = delete;

    void accept(net::Socket socket);
    // Returns whether work is left that needs no event.
    bool endTurn();
    // Call every limits::kPeerTick: each peer is looked at every limits::kPeerTickShares ticks.
    void tick();
    void gateChanged();
    void forceCloseAll(const base::Refusal& why);
    void dropAll();
    std::size_t size() const { return peers_.size(); }
    std::size_t keptBytes() const { return buffer_.keptBytes(); }

    // --- for the peers
    net::EventLoop& loop() { return loop_; }
    net::ReadBuffer& readBuffer() { return buffer_; }
    const session::Environment& environment() const { return environment_; }
    void note(AmqpPeer& peer);  // feed it what it kept, then flush
    void touch(AmqpPeer& peer); // flush it, or let it go
    void took(std::size_t bytes) { inputTaken_ = inputTaken_ || bytes != 0; }

  private:
    void feedNoted();
    void flushTouched();
    void remove(AmqpPeer& peer);

    net::EventLoop& loop_;
    const session::Environment& environment_;
    net::ReadBuffer buffer_;
    std::vector<std::unique_ptr<AmqpPeer>> peers_;
    std::vector<AmqpPeer*> noted_;
    std::vector<AmqpPeer*> touched_;
    std::vector<AmqpPeer*> current_; // the list that is being worked off
    bool inputTaken_ = false;
    std::size_t tickShare_ = 0;
};

} // namespace millrace::server
