// SPDX-License-Identifier: Apache-2.0
// What a peer did wrong, in AMQP's reply codes (facts of the protocol and of RabbitMQ 4.0.5). Whether it closes the channel or the
// connection follows from the code alone: see closesConnection().
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

namespace millrace::base {

enum class ReplyCode : std::uint16_t {
    success = 200,
    contentTooLarge = 311,
    noRoute = 312,
    noConsumers = 313,
    connectionForced = 320,
    invalidPath = 402,
    accessRefused = 403,
    notFound = 404,
    resourceLocked = 405,
    preconditionFailed = 406,
    frameError = 501,
    syntaxError = 502,
    commandInvalid = 503,
    channelError = 504,
    unexpectedFrame = 505,
    resourceError = 506,
    notAllowed = 530,
    notImplemented = 540,
    internalError = 541,
};

// "NOT_FOUND" and so on, the prefix of every reply text.
const char* nameOf(ReplyCode code);
bool closesConnection(ReplyCode code);

// text without the "NAME - " prefix; the session adds it and cuts the whole at 255 bytes.
struct Refusal {
    ReplyCode code = ReplyCode::internalError;
    std::string text;
};

// A value or the refusal that the peer gets instead.
template <typename T> class [[nodiscard]] Outcome {
  public:
    Outcome(T value) : value_(std::move(value)) {} // NOLINT(google-explicit-constructor): reads as a return
    Outcome(Refusal refusal) : refusal_(std::move(refusal)) {} // NOLINT(google-explicit-constructor): reads as a return
    bool ok() const { return value_.has_value(); }
    explicit operator bool() const { return ok(); }
    T& operator*() { return *value_; }
    T* operator->() { return &*value_; }
    const Refusal& refusal() const { return refusal_; }

  private:
    std::optional<T> value_;
    Refusal refusal_;
};

} // namespace millrace::base
