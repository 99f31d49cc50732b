// SPDX-License-Identifier: Apache-2.0
#include "catalog/queue_argument_rules.h"

#include "catalog/erlang_text.h"

#include <algorithm>
#include <array>
#include <initializer_list>

namespace millrace::catalog {
namespace {

using base::FieldTable;
using base::FieldValue;
using Fault = std::string;

constexpr std::int64_t kLongestTimerMs =
    315'360'000'000; // ten years: Erlang's timers go no further
constexpr std::int64_t kMaxPriority = 255;

Fault pair(std::string_view what, std::int64_t value) {
    return "{" + std::string(what) + "," + std::to_string(value) + "}";
}

Fault unacceptable(const FieldValue& value) {
    return std::string("{unacceptable_type,") + value.typeName() + "}";
}

Fault notNegative(const FieldValue& value, const FieldTable&) {
    if (!value.isInteger()) {
        return erlangString(std::string("expected integer, got ") + value.typeName());
    }
    return value.integer() < 0 ? pair("value_negative", value.integer()) : Fault{};
}

Fault positive(const FieldValue& value, const FieldTable& all) {
    Fault fault = notNegative(value, all);
    return fault.empty() && value.integer() == 0 ? pair("value_zero", 0) : fault;
}

Fault duration(const FieldValue& value, const FieldTable& all) {
    Fault fault = notNegative(value, all);
    return fault.empty() && value.integer() > kLongestTimerMs
               ? pair("value_too_large", value.integer())
               : fault;
}

Fault expiry(const FieldValue& value, const FieldTable& all) {
    Fault fault = positive(value, all);
    return fault.empty() ? duration(value, all) : fault;
}

Fault priority(const FieldValue& value, const FieldTable& all) {
    Fault fault = notNegative(value, all);
    return fault.empty() && value.integer() > kMaxPriority
               ? pair("max_value_exceeded", value.integer())
               : fault;
}

Fault oneOf(const FieldValue& value, std::initializer_list<std::string_view> known, Fault fault) {
    if (!value.isText()) {
        return unacceptable(value);
    }
    return std::find(known.begin(), known.end(), value.text()) == known.end() ? fault : Fault{};
}

Fault anyText(const FieldValue& value, const FieldTable&) {
    return value.isText() ? Fault{} : unacceptable(value);
}

Fault deadLetterKey(const FieldValue& value, const FieldTable& all) {
    if (!value.isText()) {
        return unacceptable(value);
    }
    return all.find("x-dead-letter-exchange") ? Fault{} : "routing_key_but_no_dlx_defined";
}

Fault deadLetterStrategy(const FieldValue& value, const FieldTable&) {
    return oneOf(value, {"at-most-once", "at-least-once"}, "invalid_dlx_strategy");
}

Fault overflow(const FieldValue& value, const FieldTable&) {
    return oneOf(value, {"drop-head", "reject-publish", "reject-publish-dlx"}, "invalid_overflow");
}

Fault queueMode(const FieldValue& value, const FieldTable&) {
    return oneOf(value, {"default", "lazy"},
                 erlangString("unsupported queue mode '" + std::string(value.text()) + "'"));
}

Fault queueVersion(const FieldValue& value, const FieldTable& all) {
    Fault fault = notNegative(value, all);
    if (!fault.empty() || value.integer() == 1 || value.integer() == 2) {
        return fault;
    }
    return erlangString("unsupported queue version '" + std::to_string(value.integer()) + "'");
}

Fault yesOrNo(const FieldValue& value, const FieldTable&) {
    return value.tag == 't' ? Fault{} : unacceptable(value);
}

Fault leaderLocator(const FieldValue& value, const FieldTable&) {
    return oneOf(value, {"client-local", "balanced", "random", "least-leaders"},
                 "invalid_queue_locator_arg");
}

// Digits and one unit, as in 7D; not nothing at all.
Fault maxAge(const FieldValue& value, const FieldTable&) {
    if (!value.isText()) {
        return unacceptable(value);
    }
    const std::string_view text = value.text();
    const std::size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
    const bool unit = digits > 0 && text.size() == digits + 1 &&
                      std::string_view("YMDhms").find(text.back()) != std::string_view::npos;
    const bool nothing = text.substr(0, digits).find_first_not_of('0') == std::string_view::npos;
    return unit && !nothing ? Fault{} : "invalid_max_age";
}

constexpr std::array<std::string_view, 14> kClassic{
    "x-expires",
    "x-message-ttl",
    "x-dead-letter-exchange",
    "x-dead-letter-routing-key",
    "x-max-length",
    "x-max-length-bytes",
    "x-max-priority",
    "x-overflow",
    "x-queue-mode",
    "x-queue-version",
    "x-single-active-consumer",
    "x-queue-type",
    "x-queue-master-locator",
    "x-queue-leader-locator",
};
constexpr std::array<std::string_view, 20> kQuorum{
    "x-dead-letter-exchange",
    "x-dead-letter-routing-key",
    "x-dead-letter-strategy",
    "x-expires",
    "x-max-length",
    "x-max-length-bytes",
    "x-max-in-memory-length",
    "x-max-in-memory-bytes",
    "x-overflow",
    "x-single-active-consumer",
    "x-queue-type",
    "x-quorum-initial-group-size",
    "x-delivery-limit",
    "x-message-ttl",
    "x-queue-leader-locator",
    "x-consumer-disconnected-timeout",
    "x-consumer-timeout",
    "x-delayed-retry-type",
    "x-delayed-retry-min",
    "x-delayed-retry-max",
};
constexpr std::array<std::string_view, 7> kStream{
    "x-max-length-bytes",
    "x-queue-type",
    "x-max-age",
    "x-stream-max-segment-size-bytes",
    "x-stream-filter-size-bytes",
    "x-initial-cluster-size",
    "x-queue-leader-locator",
};

// x-delivery-limit and x-delayed-retry-* are taken as they come: a wrong value has no effect.
// x-queue-type is checked before all.
constexpr std::array<ArgumentRule, 21> kRules{{
    {"x-expires", expiry},
    {"x-message-ttl", duration},
    {"x-dead-letter-exchange", anyText},
    {"x-dead-letter-routing-key", deadLetterKey},
    {"x-dead-letter-strategy", deadLetterStrategy},
    {"x-max-length", notNegative},
    {"x-max-length-bytes", notNegative},
    {"x-max-in-memory-length", notNegative},
    {"x-max-in-memory-bytes", notNegative},
    {"x-max-priority", priority},
    {"x-overflow", overflow},
    {"x-queue-mode", queueMode},
    {"x-queue-version", queueVersion},
    {"x-single-active-consumer", yesOrNo},
    {"x-quorum-initial-group-size", positive},
    {"x-max-age", maxAge},
    {"x-stream-max-segment-size-bytes", notNegative},
    {"x-initial-cluster-size", positive},
    {"x-queue-leader-locator", leaderLocator},
    {"x-consumer-timeout", notNegative},
    {"x-consumer-disconnected-timeout", notNegative},
}};

// Not here: x-queue-type and x-delivery-limit, which work; x-queue-mode, x-queue-version,
// x-max-in-memory-* and the locators, which never do anything.
constexpr std::array<std::string_view, 16> kLater{
    "x-expires",
    "x-message-ttl",
    "x-dead-letter-exchange",
    "x-dead-letter-routing-key",
    "x-dead-letter-strategy",
    "x-max-length",
    "x-max-length-bytes",
    "x-max-priority",
    "x-overflow",
    "x-single-active-consumer",
    "x-consumer-timeout",
    "x-consumer-disconnected-timeout",
    "x-delayed-retry-type",
    "x-delayed-retry-min",
    "x-delayed-retry-max",
    "x-quorum-initial-group-size",
};

} // namespace

std::span<const std::string_view> argumentsOf(QueueType type) {
    switch (type) {
    case QueueType::quorum:
        return kQuorum;
    case QueueType::stream:
        return kStream;
    case QueueType::classic:
        break;
    }
    return kClassic;
}

std::string_view moduleOf(QueueType type) {
    switch (type) {
    case QueueType::quorum:
        return "rabbit_quorum_queue";
    case QueueType::stream:
        return "rabbit_stream_queue";
    case QueueType::classic:
        break;
    }
    return "rabbit_classic_queue";
}

std::span<const ArgumentRule> argumentRules() {
    return kRules;
}

bool isWithoutEffect(std::string_view argument) {
    return std::find(kLater.begin(), kLater.end(), argument) != kLater.end();
}

} // namespace millrace::catalog
