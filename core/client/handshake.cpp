// SPDX-License-Identifier: Apache-2.0
// The handshake's four steps, each one request and its reply.
#include "client/handshake.h"

#include "client/amqp_client.h"

#include <algorithm>

namespace millrace::client {

using namespace wire::amqp;

namespace {

base::Error undecodable() {
    return {base::ErrorCode::invalid, "the broker's handshake cannot be decoded"};
}

// What this client understands, so that the broker says it: see the capabilities of RabbitMQ's
// clients.
std::string clientProperties(const std::string& name) {
    std::string capabilities;
    base::FieldTableWriter able(capabilities);
    for (const char* each : {"publisher_confirms", "exchange_exchange_bindings", "basic.nack",
                             "consumer_cancel_notify", "connection.blocked",
                             "authentication_failure_close", "per_consumer_qos"}) {
        able.boolean(each, true);
    }
    std::string properties;
    base::FieldTableWriter(properties)
        .text("product", "Millrace")
        .text("platform", "C++")
        .text("connection_name", name)
        .table("capabilities", capabilities);
    return properties;
}

bool offers(std::string_view mechanisms, std::string_view wanted) {
    while (!mechanisms.empty()) {
        const std::size_t space = mechanisms.find(' ');
        if (mechanisms.substr(0, space) == wanted) {
            return true;
        }
        mechanisms = space == std::string_view::npos ? "" : mechanisms.substr(space + 1);
    }
    return false;
}

// The smaller of two limits of which 0 means none.
template <typename T> T agreed(T ours, T theirs) {
    return ours == 0 || theirs == 0 ? std::max(ours, theirs) : std::min(ours, theirs);
}

} // namespace

base::Status Handshake::run(const Endpoint& endpoint) {
    if (base::Status done = awaitStart(); !done) {
        return done;
    }
    if (base::Status done = logIn(endpoint); !done) {
        return done;
    }
    if (base::Status done = tune(); !done) {
        return done;
    }
    return client_.request<ConnectionOpenOk>(0, ConnectionOpen{endpoint.vhost, "", false},
                                             client_.reply_);
}

base::Status Handshake::awaitStart() {
    client_.link_.output().append(kProtocolHeader);
    client_.reply_.expect(ConnectionStart::id, ConnectionStart::id);
    if (base::Status came = client_.await([this] { return !client_.reply_.waiting(); },
                                          "no greeting from the broker");
        !came) {
        return came;
    }
    const auto start = client_.reply_.as<ConnectionStart>();
    if (!start) {
        return undecodable();
    }
    client_.serverProperties_ = base::textOf(start->serverProperties);
    if (!offers(start->mechanisms, "PLAIN")) {
        return base::Error{base::ErrorCode::unsupported,
                           "the broker does not offer the PLAIN login, only: " +
                               std::string(start->mechanisms.view())};
    }
    return {};
}

base::Status Handshake::logIn(const Endpoint& endpoint) {
    std::string response(1, '\0');
    response.append(endpoint.user).append(1, '\0').append(endpoint.password);
    const std::string properties = clientProperties(client_.options_.name);
    base::Status done = client_.request<ConnectionTune>(
        0, ConnectionStartOk{properties, "PLAIN", response, "en_US"}, client_.reply_);
    if (!done && done.error().code == base::ErrorCode::stopped && !client_.closedByPeer()) {
        // How brokers treat a wrong password if a client does not say that it would understand a
        // close.
        return base::Error{
            base::ErrorCode::denied,
            "the broker closed the connection after the login: wrong user or password?"};
    }
    return done;
}

base::Status Handshake::tune() {
    const auto offered = client_.reply_.as<ConnectionTune>();
    if (!offered) {
        return undecodable();
    }
    client_.channelMax_ = agreed(client_.options_.channelMax, offered->channelMax.value());
    client_.frameMax_ =
        std::max(agreed(client_.options_.frameMax, offered->frameMax.value()), limits::kFrameMin);
    const auto ours = static_cast<std::uint16_t>(client_.options_.heartbeat.count());
    const std::uint16_t heartbeat =
        ours == 0 ? std::uint16_t{0} : agreed(ours, offered->heartbeat.value());
    client_.send(0, ConnectionTuneOk{client_.channelMax_, client_.frameMax_, heartbeat});
    client_.link_.setFrameMax(client_.frameMax_);
    client_.link_.setHeartbeat(std::chrono::seconds(heartbeat));
    return {};
}

} // namespace millrace::client
