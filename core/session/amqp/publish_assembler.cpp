// SPDX-License-Identifier: Apache-2.0
// Memory follows what has arrived, not what was announced: a peer that announces much and sends
// nothing costs nothing.
#include "session/amqp/publish_assembler.h"

#include "base/limits.h"
#include "engine/channel.h"
#include "session/amqp/direct_replies.h"
#include "wire/amqp/properties.h"

#include <algorithm>

namespace millrace::session::amqp {

namespace {

using base::Refusal;
using base::ReplyCode;

constexpr std::size_t kFirstReservation = 64 * 1024;

// A log that takes nothing any more is no fault of the peer's, but this connection cannot go on.
Refusal resourceError(const base::Error& error) {
    return {ReplyCode::resourceError, error.text};
}

} // namespace

PublishAssembler::~PublishAssembler() {
    if (keeping_ == Keeping::pieces) {
        engine_.abandonBody();
    }
}

void PublishAssembler::begin(std::string_view exchange, std::string_view routingKey,
                             bool mandatory) {
    exchange_ = exchange;
    routingKey_ = routingKey;
    mandatory_ = mandatory;
}

std::optional<Refusal> PublishAssembler::header(base::Bytes payload) {
    wire::amqp::ContentHeader header;
    if (!header.parse(payload)) {
        return Refusal{ReplyCode::frameError, "cannot decode content header"};
    }
    if (header.classId != wire::amqp::kBasicClass) {
        return Refusal{ReplyCode::unexpectedFrame,
                       "expected content header for class 60, got one for class " +
                           std::to_string(header.classId) + " instead"};
    }
    if (header.bodySize > limits::kMaxMessageSizeCap) {
        return Refusal{ReplyCode::frameError, "content body size " +
                                                  std::to_string(header.bodySize) +
                                                  " exceeds maximum allowed size " +
                                                  std::to_string(limits::kMaxMessageSizeCap)};
    }
    size_ = header.bodySize;
    properties_ = base::textOf(header.properties.raw());
    expecting_ = size_ > 0 ? Expecting::body : Expecting::nothing;
    if (size_ > maxMessageSize_) {
        keeping_ = Keeping::nothing;
        return std::nullopt;
    }
    // A direct reply goes to no queue, hence not to the log.
    if (size_ > limits::kWholeBodyBytes && !isReply(exchange_, routingKey_)) {
        if (const base::Status begun = engine_.beginBody(size_); !begun) {
            return resourceError(begun.error());
        }
        keeping_ = Keeping::pieces;
    }
    body_.reserve(std::min<std::size_t>(size_, kFirstReservation));
    return std::nullopt;
}

std::optional<Refusal> PublishAssembler::body(base::Bytes part) {
    received_ += part.size();
    if (keeping_ != Keeping::nothing) {
        if (auto refusal = collect(part)) {
            return refusal;
        }
    }
    if (received_ < size_) {
        return std::nullopt;
    }
    expecting_ = Expecting::nothing;
    if (keeping_ == Keeping::nothing) {
        return Refusal{ReplyCode::preconditionFailed, "message size " + std::to_string(size_) +
                                                          " is larger than configured max size " +
                                                          std::to_string(maxMessageSize_)};
    }
    return std::nullopt;
}

std::optional<Refusal> PublishAssembler::collect(base::Bytes part) {
    const std::size_t most =
        keeping_ == Keeping::pieces ? limits::kBodyPieceBytes : static_cast<std::size_t>(size_);
    while (!part.empty()) {
        const base::Bytes fits = part.first(std::min(part.size(), most - body_.size()));
        body_.append(base::textOf(fits));
        part = part.subspan(fits.size());
        if (keeping_ == Keeping::pieces &&
            (body_.size() == most || (part.empty() && received_ == size_))) {
            if (auto refusal = passOn()) {
                return refusal;
            }
        }
    }
    return std::nullopt;
}

std::optional<Refusal> PublishAssembler::passOn() {
    const base::Status taken = engine_.bodyPiece(base::bytesOf(body_));
    body_.clear();
    if (!taken) {
        return resourceError(taken.error());
    }
    return std::nullopt;
}

} // namespace millrace::session::amqp
