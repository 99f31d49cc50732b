// SPDX-License-Identifier: Apache-2.0
// The words of RabbitMQ 4.0.5 for broken frames, byte for byte, since clients' tests look for them.
#pragma once

#include "base/bytes.h"
#include "base/refusal.h"
#include "wire/fields.h"

#include <cstdint>
#include <optional>
#include <string>

namespace millrace::session::amqp {

// "NAME - text" as it goes into a close method: at most 255 bytes, a longer one ends in "...".
std::string replyText(const base::Refusal& refusal);

// 501 "type 1, all octets = <<0,20>>: reason"; of a long payload the first 16 octets.
base::Refusal frameError(std::uint8_t type, base::Bytes payload, const std::string& reason);
// 505 for a frame that may not come here at all.
base::Refusal unexpectedFrame(std::uint8_t type, base::Bytes payload);
// What is wrong with a method frame in itself: 501 "cannot decode <<...>>" for the arguments of a
// known method, 503 for an unknown one.
std::optional<base::Refusal> methodFault(wire::Dispatched result, base::Bytes payload);

// Octets as Erlang prints them: <<"text">> if all are printable, else <<1,2,3>>.
std::string printOctets(base::Bytes bytes);

} // namespace millrace::session::amqp
