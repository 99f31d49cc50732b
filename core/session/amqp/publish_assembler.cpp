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
    memory_.give(taken_);
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
    if (auto refusal = choose()) {
        return refusal;
    }
    body_.reserve(std::min<std::size_t>(size_, kFirstReservation));
    return std::nullopt;
}

bool PublishAssembler::goesToNoQueue() const {
    engine::Channel::Publish message;
    message.exchange = exchange_;
    message.routingKey = routingKey_;
    message.properties = properties();
    return isReply(exchange_, routingKey_) || (mandatory_ && !engine_.isRoutable(message));
}

// Whole in memory, or in pieces to the log.
std::optional<Refusal> PublishAssembler::choose() {
    if (size_ <= limits::kFreeBodyBytes) {
        return std::nullopt;
    }
    const bool whole = size_ <= limits::kWholeBodyBytes || goesToNoQueue();
    if (whole && memory_.take(size_)) {
        taken_ = size_;
        return std::nullopt;
    }
    if (isReply(exchange_, routingKey_)) {
        return Refusal{ReplyCode::resourceError,
                       "no memory for a direct reply of " + std::to_string(size_) + " bytes"};
    }
    if (memory_.take(limits::kBodyPieceBytes)) {
        taken_ = limits::kBodyPieceBytes;
    } else {
        pieceBytes_ = limits::kFreeBodyBytes;
    }
    return beginPieces();
}

std::optional<Refusal> PublishAssembler::beginPieces() {
    if (const base::Status begun = engine_.beginBody(size_); !begun) {
        return resourceError(begun.error());
    }
    keeping_ = Keeping::pieces;
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
    if (keeping_ == Keeping::whole) {
        body_.append(base::textOf(part));
        return std::nullopt;
    }
    while (!part.empty()) {
        const base::Bytes fits = part.first(std::min(part.size(), pieceBytes_ - body_.size()));
        body_.append(base::textOf(fits));
        part = part.subspan(fits.size());
        if (body_.size() == pieceBytes_ || (part.empty() && received_ == size_)) {
            if (auto refusal = passOn(base::bytesOf(body_))) {
                return refusal;
            }
            body_.clear();
        }
    }
    return std::nullopt;
}

std::optional<Refusal> PublishAssembler::cut() {
    if (auto refusal = beginPieces()) {
        return refusal;
    }
    for (base::Bytes rest = base::bytesOf(body_); !rest.empty();) {
        const base::Bytes piece = rest.first(std::min(rest.size(), limits::kBodyPieceBytes));
        if (auto refusal = passOn(piece)) {
            return refusal;
        }
        rest = rest.subspan(piece.size());
    }
    return std::nullopt;
}

std::optional<Refusal> PublishAssembler::passOn(base::Bytes piece) {
    if (const base::Status taken = engine_.bodyPiece(piece); !taken) {
        return resourceError(taken.error());
    }
    return std::nullopt;
}

} // namespace millrace::session::amqp
