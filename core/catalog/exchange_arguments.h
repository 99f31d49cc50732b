// SPDX-License-Identifier: Apache-2.0
// What an exchange and its bindings may be declared with, and when two declarations mean the same.
// Rules and texts: RabbitMQ 4.0.5 (facts on AMQP, sections 4 and 6). Pure functions.
#pragma once

#include "base/bytes.h"
#include "base/refusal.h"
#include "catalog/spec.h"

#include <optional>
#include <string>
#include <string_view>

namespace millrace::catalog {

// x-consistent-hash and x-local-random are not known yet: "unknown exchange type".
enum class ExchangeType : std::uint8_t { direct, fanout, topic, headers };

std::optional<ExchangeType> exchangeTypeOf(std::string_view name);

// 406 `unknown exchange type 'x'`, `invalid exchange type ''`.
base::Outcome<ExchangeType> checkExchangeType(std::string_view name);
// For a new exchange: its name and arguments. 403 reserved prefix, 406 alternate-exchange that is
// not a text.
std::optional<base::Refusal> checkNewExchange(const ExchangeSpec& spec);
// 406 `inequivalent arg ...` unless type, flags and alternate-exchange are the same. Other
// arguments are not compared.
std::optional<base::Refusal> checkEquivalent(const ExchangeSpec& current,
                                             const ExchangeSpec& asked);

// The name of the alternate exchange. None for "": the default exchange as alternate takes nothing,
// as in RabbitMQ.
std::optional<std::string> alternateExchangeOf(base::Bytes arguments);

// 406 `Invalid x-match field ...` unless a headers exchange may be bound with these arguments.
std::optional<base::Refusal> checkHeadersBinding(base::Bytes arguments);

// The table with its fields sorted by name: what makes two bindings with the same arguments one. A
// valid table.
std::string sortedArguments(base::Bytes arguments);

} // namespace millrace::catalog
