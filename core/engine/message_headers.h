// SPDX-License-Identifier: Apache-2.0
// What the engine reads of a message's properties, and the few rewrites it makes: BCC goes,
// reply-to is replaced. Source of the rules: RabbitMQ 4.0.5 (facts on AMQP, sections 4 and 6).
// Never allocates while reading; everything else stays byte for byte.
#pragma once

#include "base/bytes.h"
#include "base/field_table.h"
#include "base/refusal.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace millrace::engine {

// Views into the properties. An absent text is empty.
struct MessageProperties {
    bool persistent = false; // delivery mode 2
    bool hasHeaders = false, hasReplyTo = false, hasExpiration = false, hasUserId = false;
    base::FieldTable headers;
    std::string_view replyTo, expiration, userId;
    std::size_t headersAt = 0; // where the table with its length prefix begins
    std::size_t replyToAt = 0; // where the text with its length prefix begins
};

// False: the list ends too early.
bool readProperties(base::Bytes properties, MessageProperties& out);

// "invalid expiration ..." or nothing.
std::optional<base::Refusal> checkExpiration(std::string_view expiration);

// Appends the routing keys of the headers CC and BCC. Refused where one of them is not an array.
std::optional<base::Refusal> readCarbonCopies(const base::FieldTable& headers,
                                              std::vector<std::string_view>& keys, bool& hasBcc);

// The properties without the header BCC, appended to `out`.
void dropBcc(base::Bytes properties, const MessageProperties& read, std::string& out);
// The properties with another reply-to, appended to `out`.
void replaceReplyTo(base::Bytes properties, const MessageProperties& read, std::string_view replyTo,
                    std::string& out);

} // namespace millrace::engine
