// SPDX-License-Identifier: Apache-2.0
// One client: joins its socket with its AMQP session. Lives on: the loop.
#pragma once

#include "net/stream_connection.h"
#include "session/amqp/connection.h"

#include <memory>
#include <string_view>

namespace millrace::server {

class Peers;

class AmqpPeer final : public net::Conversation {
  public:
    AmqpPeer(Peers& peers, net::Socket socket);
    ~AmqpPeer() override;
    AmqpPeer(const AmqpPeer&) = delete;
    AmqpPeer& operator=(const AmqpPeer&) = delete;

    base::Status start() { return connection_.start(); }

    // --- Conversation
    std::size_t received(base::Bytes bytes) override;
    std::size_t queuedBytes() const override;
    std::size_t gather(std::span<base::Bytes> parts) override;
    void sent(std::size_t bytes) override;
    void ended(std::string_view why) override;

    // --- from Peers, at the end of a turn
    void feedKept(); // something happened to the session outside of input
    void flush();    // sends, and ends what has come to its end
    void tick();
    void gateChanged();
    void forceClose(const base::Refusal& why);
    bool gone() const { return !connection_.isOpen(); }

  private:
    friend class Peers;
    void wantInput();
    bool holdsCloseOk();

    Peers& peers_;
    net::StreamConnection connection_;
    std::unique_ptr<session::amqp::Connection> session_; // null: it has ended, the socket lingers
    net::EventLoop::TimerId closeOkTimer_;
    bool closeOkDue_ = false;
    std::size_t place_ = 0; // among Peers' peers
    bool noted_ = false;    // in Peers' list of those to feed
    bool touched_ = false;  // in Peers' list of those to flush
    bool flushing_ = false; // within flush()
};

} // namespace millrace::server
