// SPDX-License-Identifier: Apache-2.0
// A client whose every frame the test writes, on a real Connection over a real engine with logs in
// memory. What the server sends is shown as text, one line a frame: "1 50.11 'q' 0 0", "1 header
// 5", "1 body 'hello'", "0 heartbeat", "0 10.50 404 'NOT_FOUND - ...' 50 10".
#pragma once

#include "engine/broker.h"
#include "session/amqp/connection.h"
#include "session/amqp/direct_replies.h"
#include "support/delayed_log.h"
#include "support/hand_clock.h"
#include "wire/amqp/writer.h"

#include <QStringList>

#include <memory>
#include <optional>
#include <string>

namespace millrace::test {

using base::Bytes;

class TestNode {
  public:
    TestNode();

    // End of a turn without any sync: replies that wait for the disk go on waiting.
    void turn();
    // Everything appended becomes durable, and what waited for it goes out.
    void sync();

    support::HandClock clock;
    support::DelayedLog durable{support::DelayedLog::Kind::durable, &clock};
    support::DelayedLog scratch{support::DelayedLog::Kind::scratch, &clock};
    engine::Broker broker;
    session::SessionOptions options;
    session::PublishGate gate;
    session::OutboxMemory outboxes;
    session::amqp::DirectReplies replies;
    session::BodyMemory bodies;
    session::Environment environment{broker, clock, options, gate, outboxes, replies, bodies};
};

class ScriptedPeer {
  public:
    explicit ScriptedPeer(TestNode& node, bool loopback = true);

    // Input of at most so many bytes a feed(); 0: all at once.
    void setStep(std::size_t step) { step_ = step; }
    // Off: what the server sends stays in its outbox.
    void setReading(bool reading) { reading_ = reading; }

    void raw(Bytes bytes);
    void frame(std::uint8_t type, std::uint16_t channel, std::string_view payload);
    template <typename Method> void send(std::uint16_t channel, const Method& method) {
        std::string bytes;
        wire::amqp::StringSink sink(bytes);
        wire::amqp::writeMethod(sink, channel, method);
        raw(base::bytesOf(bytes));
    }
    void publish(std::uint16_t channel, std::string_view exchange, std::string_view key,
                 std::string_view body, const wire::amqp::PropertyValues& properties = {},
                 bool mandatory = false);

    // Moves bytes both ways until nothing moves.
    void pump();
    // Frames received since the last call.
    QStringList received();
    // Turn, sync, pump; then the frames.
    QStringList settled();

    // The usual beginnings.
    wire::amqp::ConnectionStartOk
    startOk(std::string_view response = std::string_view("\0guest\0guest", 12));
    void login();
    void open();                            // login and vhost /
    void openChannel(std::uint16_t number); // after open()
    std::optional<std::string> declare(std::uint16_t channel, std::string_view queue);

    session::amqp::Connection& connection() { return *connection_; }
    void disconnect() { connection_.reset(); }
    TestNode& node() { return node_; }
    std::size_t unread() const { return input_.size(); } // offered and not yet taken
    std::uint32_t frameMax = limits::kFrameMax;
    std::string capabilities; // raw table for client-properties

  private:
    TestNode& node_;
    std::unique_ptr<session::amqp::Connection> connection_;
    std::string input_;
    std::string output_;
    std::size_t step_ = 0;
    bool attention_ = false;
    bool reading_ = true;
};

// One line a frame; "broken" where the bytes are no frames.
QStringList describe(Bytes bytes);

} // namespace millrace::test
