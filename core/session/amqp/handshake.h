// SPDX-License-Identifier: Apache-2.0
// From the protocol header to connection.open-ok: who are you, what do we agree on, where do you
// want to work.
//
// Errors are RabbitMQ 4.0.5's. Before the login has succeeded nothing is explained to a peer that
// has not asked for it (authentication_failure_close): the connection falls silent and ends.
#pragma once

#include "session/amqp/link.h"

#include <chrono>
#include <string>
#include <string_view>

namespace millrace::session::amqp {

class Handshake {
  public:
    enum class State { header, starting, tuning, opening, running };

    explicit Handshake(Link& link) : link_(link) {}

    State state() const { return state_; }
    bool isRunning() const { return state_ == State::running; }
    // As RabbitMQ names it in "unexpected method in connection state starting".
    std::string_view stateName() const;
    // What the peer chose in tune-ok; 0 = none.
    std::chrono::seconds heartbeat() const { return heartbeat_; }

    // The peer's protocol header was right: connection.start goes out.
    void begin();
    void on(const wire::amqp::ConnectionStartOk& method);
    void on(const wire::amqp::ConnectionTuneOk& method);
    void on(const wire::amqp::ConnectionOpen& method);

  private:
    void readCapabilities(const base::FieldTable& clientProperties);
    void logIn(std::string_view mechanism, std::string_view user, std::string_view password);
    void refuseTune(const char* what, std::uint64_t chosen, bool tooHigh, std::uint64_t bound);
    bool accepts(const char* what, std::uint64_t chosen, std::uint64_t least, std::uint64_t most);

    Link& link_;
    State state_ = State::header;
    std::chrono::seconds heartbeat_{0};
};

} // namespace millrace::session::amqp
