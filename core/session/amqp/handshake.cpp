// SPDX-License-Identifier: Apache-2.0
// One function a step; a step that does not fit the state is answered by the connection.
#include "session/amqp/handshake.h"

#include "base/diagnostics.h"
#include "catalog/access.h"

#include <algorithm>
#include <optional>

namespace millrace::session::amqp {

namespace wire = wire::amqp;
using base::ReplyCode;

namespace {

constexpr std::string_view kMechanisms = "PLAIN AMQPLAIN";
constexpr std::uint16_t kLeastChannelMax = 1;

std::string capabilities() {
    static constexpr const char* kAll[] = {
        "publisher_confirms",           "exchange_exchange_bindings", "basic.nack",
        "consumer_cancel_notify",       "connection.blocked",         "consumer_priorities",
        "authentication_failure_close", "per_consumer_qos",           "direct_reply_to"};
    std::string table;
    base::FieldTableWriter writer(table);
    for (const char* name : kAll) {
        writer.boolean(name, true);
    }
    return table;
}

std::string serverProperties(const SessionOptions& options) {
    std::string table;
    base::FieldTableWriter(table)
        .table("capabilities", capabilities())
        .text("cluster_name", options.clusterName)
        .text("copyright", options.copyright)
        .text("information", options.information)
        .text("platform", options.platform)
        .text("product", options.product)
        .text("product_version", options.productVersion)
        .text("version", options.version);
    return table;
}

struct Credentials {
    std::string_view user, password;
};

// \0user\0password
std::optional<Credentials> readPlain(std::string_view response) {
    const std::size_t second = response.find('\0', 1);
    if (response.empty() || response.front() != '\0' || second == std::string_view::npos) {
        return std::nullopt;
    }
    return Credentials{response.substr(1, second - 1), response.substr(second + 1)};
}

// A field table without its length: LOGIN and PASSWORD.
std::optional<Credentials> readAmqPlain(std::string_view response) {
    const base::FieldTable table(base::bytesOf(response));
    if (!table.valid()) {
        return std::nullopt;
    }
    const auto user = table.find("LOGIN");
    const auto password = table.find("PASSWORD");
    if (!user || !password || !user->isText() || !password->isText()) {
        return std::nullopt;
    }
    return Credentials{user->text(), password->text()};
}

} // namespace

std::string_view Handshake::stateName() const {
    switch (state_) {
    case State::header:
        return "pre_init";
    case State::starting:
        return "starting";
    case State::tuning:
        return "tuning";
    case State::opening:
        return "opening";
    case State::running:
        break;
    }
    return "running";
}

void Handshake::begin() {
    const std::string properties = serverProperties(link_.environment.options);
    link_.send(0, wire::ConnectionStart{std::uint8_t{0}, std::uint8_t{9}, properties, kMechanisms,
                                        "en_US"});
    state_ = State::starting;
}

void Handshake::readCapabilities(const base::FieldTable& clientProperties) {
    const auto table = clientProperties.find("capabilities");
    if (!table || !table->isTable()) {
        return;
    }
    const base::FieldTable known(table->raw);
    const auto has = [&known](std::string_view name) {
        const auto value = known.find(name);
        return value && value->boolean();
    };
    link_.hearsConsumerCancel = has("consumer_cancel_notify");
    link_.hearsBlocked = has("connection.blocked");
    link_.hearsRefusedLogin = has("authentication_failure_close");
}

void Handshake::on(const wire::ConnectionStartOk& method) {
    readCapabilities(method.clientProperties.view());
    const std::string_view mechanism = method.mechanism;
    std::optional<Credentials> credentials;
    if (mechanism == "PLAIN") {
        credentials = readPlain(method.response);
    } else if (mechanism == "AMQPLAIN") {
        credentials = readAmqPlain(method.response);
    } else {
        link_.refuse({ReplyCode::commandInvalid,
                      "unknown authentication mechanism '" + std::string(mechanism) + "'"});
        return;
    }
    if (!credentials) {
        link_.refuse({ReplyCode::syntaxError, "response of authentication mechanism " +
                                                  std::string(mechanism) + " cannot be read"});
        return;
    }
    logIn(mechanism, credentials->user, credentials->password);
}

void Handshake::logIn(std::string_view mechanism, std::string_view user,
                      std::string_view password) {
    const SessionOptions& options = link_.environment.options;
    const bool onlyLocal = std::find(options.loopbackUsers.begin(), options.loopbackUsers.end(),
                                     user) != options.loopbackUsers.end();
    const catalog::UserSpec* known = link_.environment.broker.user(user);
    const char* why = nullptr;
    if (!known || !catalog::passwordMatches(password, known->passwordHash)) {
        why = "invalid credentials";
    } else if (onlyLocal && !link_.peer.loopback) {
        why = "this user may only connect from localhost (loopback_users)";
    }
    if (why) {
        base::diagnose(base::Severity::warning, "login refused for user '" + std::string(user) +
                                                    "' from " + link_.peer.address + ": " + why);
        link_.cause = kNoMethod;
        link_.refuse({ReplyCode::accessRefused,
                      "Login was refused using authentication mechanism " + std::string(mechanism) +
                          ". For details see the broker logfile."});
        return;
    }
    link_.user = user;
    link_.send(0, wire::ConnectionTune{options.channelMax, options.frameMax,
                                       static_cast<std::uint16_t>(options.heartbeat.count())});
    state_ = State::tuning;
}

void Handshake::refuseTune(const char* what, std::uint64_t chosen, bool tooHigh,
                           std::uint64_t bound) {
    link_.cause = wire::ConnectionTune::id;
    link_.refuse(
        {ReplyCode::notAllowed, std::string("negotiated ") + what + " = " + std::to_string(chosen) +
                                    (tooHigh ? " is higher than the maximum allowed value ("
                                             : " is lower than the minimum allowed value (") +
                                    std::to_string(bound) + ")"});
}

// `most` 0: no limit of ours, and then the peer may want none either.
bool Handshake::accepts(const char* what, std::uint64_t chosen, std::uint64_t least,
                        std::uint64_t most) {
    if (chosen != 0 && chosen < least) {
        refuseTune(what, chosen, false, least);
        return false;
    }
    if (most != 0 && (chosen == 0 || chosen > most)) {
        refuseTune(what, chosen, true, most);
        return false;
    }
    return true;
}

void Handshake::on(const wire::ConnectionTuneOk& method) {
    const SessionOptions& options = link_.environment.options;
    if (!accepts("frame_max", method.frameMax, limits::kFrameMin, options.frameMax) ||
        !accepts("channel_max", method.channelMax, kLeastChannelMax, options.channelMax)) {
        return;
    }
    link_.channelMax = method.channelMax;
    link_.setFrameMax(method.frameMax);
    heartbeat_ = std::chrono::seconds(method.heartbeat);
    state_ = State::opening;
}

void Handshake::on(const wire::ConnectionOpen& method) {
    const std::string vhost(method.virtualHost);
    if (!link_.environment.broker.vhostExists(vhost)) {
        link_.refuse({ReplyCode::notAllowed, "vhost " + vhost + " not found"});
        return;
    }
    link_.vhost = vhost;
    link_.engine = link_.environment.broker.connect(vhost, link_.user);
    link_.send(0, wire::ConnectionOpenOk{});
    state_ = State::running;
}

} // namespace millrace::session::amqp
