// SPDX-License-Identifier: Apache-2.0
// What the server gives a session: who is at the other end, what is on offer, and what they share
// on one loop.
#pragma once

#include "base/clock.h"
#include "base/limits.h"
#include "engine/broker.h"
#include "session/body_memory.h"
#include "session/outbox.h"

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace millrace::session {

namespace amqp {
class DirectReplies; // amqp/direct_replies.h
}

struct PeerInfo {
    std::string address; // as text, of the peer
    std::uint16_t port = 0;
    bool loopback = false; // 127.0.0.0/8, ::1, or IPv4-mapped loopback
};

struct SessionOptions {
    std::uint16_t channelMax = limits::kChannelMax;
    std::uint32_t frameMax = limits::kFrameMax;
    std::chrono::seconds heartbeat = limits::kHeartbeat;
    std::chrono::seconds handshakeTimeout = limits::kHandshakeTimeout;
    std::uint64_t maxMessageSize = limits::kMaxMessageSize;
    std::vector<std::string> loopbackUsers = {"guest"}; // may only log in from this machine
    std::string product = "Millrace";
    std::string productVersion = "0.1.0"; // ours
    std::string version =
        "4.1.0"; // the RabbitMQ level we speak: clients enable their features by it
    std::string platform = "C++20";
    std::string copyright = "The Millrace authors";
    std::string information = "Licensed under the Apache License 2.0";
    std::string clusterName = "millrace@localhost";
};

// Whether publishes are welcome on this node. The server changes it at most once a turn and then
// calls gateChanged() of every connection. A connection meets a closed gate at its next
// basic.publish: only publishers are held, consumers go on.
struct PublishGate {
    bool open = true;
    std::string reason; // for connection.blocked ("low on memory", ...); empty: held without
                        // telling, e.g. behind a slow disk
};

// Shared by all sessions of one loop; outlives them.
struct Environment {
    engine::Broker& broker;
    const base::Clock& clock;
    const SessionOptions& options;
    const PublishGate& gate;
    OutboxMemory& outboxes;
    amqp::DirectReplies& replies;
    BodyMemory& bodies;
};

} // namespace millrace::session
