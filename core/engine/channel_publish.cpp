// SPDX-License-Identifier: Apache-2.0
// Publishing: checks, routes, and one log entry a message. Texts and order of checks:
// RabbitMQ 4.0.5.
#include "engine/channel.h"

#include "catalog/resource_text.h"
#include "engine/connection.h"
#include "engine/engine.h"
#include "engine/message_headers.h"
#include "engine/placing.h"

#include <algorithm>

namespace millrace::engine {

using base::Refusal;
using base::ReplyCode;

namespace {

std::string tooLarge(std::uint64_t size, std::uint64_t most) {
    return "message size " + std::to_string(size) + " is larger than configured max size " +
           std::to_string(most);
}

std::optional<Refusal> checkUser(const Engine& engine, const std::string& login,
                                 std::string_view claimed) {
    if (claimed == login) {
        return std::nullopt;
    }
    const catalog::UserSpec* const user = engine.topology.user(login);
    if (user &&
        std::find(user->tags.begin(), user->tags.end(), "impersonator") != user->tags.end()) {
        return std::nullopt;
    }
    return Refusal{ReplyCode::preconditionFailed,
                   "user_id property set to '" + std::string(claimed) +
                       "' but authenticated user was '" + login + "'"};
}

base::Outcome<Exchange*> exchangeFor(Vhost& vhost, std::string_view name) {
    Exchange* const exchange = vhost.routes.findExchange(name);
    if (!exchange) {
        return Refusal{ReplyCode::notFound, "no " + catalog::exchangeText(name, vhost.name)};
    }
    if (exchange->isInternal()) {
        return Refusal{ReplyCode::accessRefused,
                       "cannot publish to internal " + catalog::exchangeText(name, vhost.name)};
    }
    return exchange;
}

} // namespace

// Routes into Engine::routed; a rewritten property list is in `rewritten`.
std::optional<Refusal> Channel::route(const Publish& message, MessageProperties& properties,
                                      std::string& rewritten) {
    ChannelState& s = *state_;
    Engine& e = s.engine;
    if (message.bodySize > e.options.maxMessageSize) [[unlikely]] {
        return Refusal{ReplyCode::preconditionFailed,
                       tooLarge(message.bodySize, e.options.maxMessageSize)};
    }
    Vhost* const vhost = s.connection.vhost();
    if (!vhost) [[unlikely]] {
        return Refusal{ReplyCode::notAllowed, "vhost " + s.connection.vhostName() + " not found"};
    }
    auto exchange = exchangeFor(*vhost, message.exchange);
    if (!exchange) [[unlikely]] {
        return exchange.refusal();
    }
    if (!readProperties(message.properties, properties)) [[unlikely]] {
        return Refusal{ReplyCode::frameError, "cannot decode the message's properties"};
    }
    std::optional<Refusal> refusal;
    if (properties.hasUserId) {
        refusal = checkUser(e, s.connection.user(), properties.userId);
    }
    if (!refusal && properties.hasExpiration) {
        refusal = checkExpiration(properties.expiration);
    }
    bool hasBcc = false;
    e.moreKeys.clear();
    if (!refusal && properties.hasHeaders) {
        refusal = readCarbonCopies(properties.headers, e.moreKeys, hasBcc);
    }
    if (refusal) {
        return refusal;
    }
    vhost->routes.route(**exchange, {message.routingKey, e.moreKeys, properties.headers}, e.routed);
    if (hasBcc) {
        dropBcc(message.properties, properties, rewritten);
    }
    return std::nullopt;
}

bool Channel::isRoutable(const Publish& message) {
    MessageProperties properties;
    std::string rewritten;
    return !route(message, properties, rewritten) && !state_->engine.routed.empty();
}

base::Outcome<Channel::Routed> Channel::publish(const Publish& message) {
    ChannelState& s = *state_;
    Engine& e = s.engine;
    MessageProperties properties;
    std::string rewritten;
    if (auto refusal = route(message, properties, rewritten)) [[unlikely]] {
        abandonBody();
        return *refusal;
    }
    MILLRACE_CHECK(!message.largeBody || s.uploading);
    Outgoing outgoing;
    outgoing.exchange = message.exchange;
    outgoing.routingKey = message.routingKey;
    outgoing.properties = rewritten.empty() ? message.properties : base::bytesOf(rewritten);
    outgoing.body = message.body;
    outgoing.large = message.largeBody ? s.uploading.get() : nullptr;
    outgoing.persistent = properties.persistent;
    if (s.transaction) {
        return keepForCommit(outgoing, message);
    }
    if (e.routed.empty()) {
        abandonBody();
        confirmAt(0);
        return Routed::unroutable;
    }
    Placing placing(e);
    const auto id = placing.append(outgoing, e.routed);
    if (!id) [[unlikely]] {
        abandonBody();
        return Refusal{ReplyCode::internalError, id.error().text};
    }
    placing.enter(id.value(), e.routed, outgoing.large);
    if (outgoing.large) {
        s.uploading.reset();
    }
    confirmAt(id.value().isScratch() ? 0 : id.value().record);
    return Routed::yes;
}

void Channel::confirmAt(base::LogIndex index) {
    if (state_->confirms) {
        state_->confirms->note(index);
        state_->engine.waits.hasConfirms(*state_);
    }
}

// --- bodies in pieces

base::Status Channel::beginBody(std::uint64_t size) {
    const std::uint64_t most = state_->engine.options.maxMessageSize;
    if (size > most) {
        return base::Error{base::ErrorCode::invalid, tooLarge(size, most)};
    }
    abandonBody();
    state_->uploading = std::make_unique<LargeBody>();
    state_->uploading->size = size;
    return {};
}

base::Status Channel::bodyPiece(base::Bytes bytes) {
    MILLRACE_CHECK(state_->uploading);
    Engine& e = state_->engine;
    log::Entry entry;
    entry.kind = raw(EntryKind::bodyPiece);
    entry.waiting = log::Waiting::nobody;
    entry.references = 1;
    entry.parts = {&bytes, 1};
    const auto id = e.journal.appendMessage(true, entry);
    if (!id) {
        return id.error();
    }
    e.large.addPiece(id.value());
    state_->uploading->pieces.push_back(id.value());
    return {};
}

void Channel::abandonBody() {
    if (state_->uploading) {
        for (const base::MessageId& piece : state_->uploading->pieces) {
            state_->engine.large.dropPiece(piece);
        }
        state_->uploading.reset();
    }
}

} // namespace millrace::engine
