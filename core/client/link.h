// SPDX-License-Identifier: Apache-2.0
// Frames over a socket: an output buffer, an input buffer, heartbeats both ways. Knows no channels.
//
// Ordered both ways. What arrived before the peer closed is still given out; only then the loss is
// an error. A peer that is silent for two heartbeat intervals is an error too. Not synchronised:
// one thread.
#pragma once

#include "client/socket.h"
#include "wire/amqp/frame.h"

#include <chrono>
#include <optional>
#include <string>
#include <vector>

namespace millrace::client {

class Link final {
  public:
    Link(Socket socket, std::uint32_t frameMax);

    // Appended frames go out with the next exchange().
    std::string& output() { return output_; }
    std::size_t unsent() const { return output_.size() - sent_; }
    void setFrameMax(std::uint32_t frameMax) { reader_.setFrameMax(frameMax); }
    void setHeartbeat(std::chrono::seconds interval); // 0 = none

    // Sends and receives what can be; waits for that until the deadline at most. True if any byte
    // moved.
    base::Result<bool> exchange(Clock::time_point deadline);
    // The next whole frame; its payload is valid until exchange(). False: none yet.
    base::Result<bool> next(wire::amqp::Frame& frame);

    int descriptor() const { return socket_.descriptor(); }

  private:
    bool sendSome();
    bool receiveSome();
    void keepAlive(Clock::time_point now);
    base::Error strange(wire::amqp::FrameStatus status, const wire::amqp::Frame& frame) const;

    Socket socket_;
    wire::amqp::FrameReader reader_;
    std::string output_;
    std::size_t sent_ = 0;
    std::vector<base::Byte> input_;
    std::size_t begin_ = 0; // of what was received and not given out yet
    std::size_t end_ = 0;
    std::optional<base::Error> lost_;
    std::chrono::seconds heartbeat_{0};
    Clock::time_point lastSent_ = Clock::now();
    Clock::time_point lastReceived_ = lastSent_;
};

} // namespace millrace::client
