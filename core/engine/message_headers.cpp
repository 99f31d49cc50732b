// SPDX-License-Identifier: Apache-2.0
#include "engine/message_headers.h"

#include <algorithm>

namespace millrace::engine {

namespace {

constexpr std::uint16_t kHeaders = 0x2000, kDeliveryMode = 0x1000, kPriority = 0x0800,
                        kReplyTo = 0x0200, kExpiration = 0x0100, kTimestamp = 0x0040,
                        kUserId = 0x0010, kLowest = 0x0004;
// Ten years; RabbitMQ's timers reach no further.
constexpr std::string_view kLongestExpiration = "315360000000";

base::Refusal badExpiration(std::string_view expiration, const std::string& why) {
    return {base::ReplyCode::preconditionFailed,
            "invalid expiration '" + std::string(expiration) + "': " + why};
}

} // namespace

bool readProperties(base::Bytes properties, MessageProperties& out) {
    base::ByteReader in(properties);
    const auto flags = in.big<std::uint16_t>();
    for (std::uint16_t bit = 0x8000; bit >= kLowest; bit = static_cast<std::uint16_t>(bit >> 1)) {
        if ((flags & bit) == 0) {
            continue;
        }
        const std::size_t at = in.position();
        if (bit == kDeliveryMode) {
            out.persistent = in.big<std::uint8_t>() == 2;
        } else if (bit == kPriority) {
            in.big<std::uint8_t>();
        } else if (bit == kTimestamp) {
            in.big<std::uint64_t>();
        } else if (bit == kHeaders) {
            out.hasHeaders = true;
            out.headersAt = at;
            out.headers = base::FieldTable(in.bytes(in.big<std::uint32_t>()));
        } else {
            const std::string_view text = base::textOf(in.bytes(in.big<std::uint8_t>()));
            if (bit == kReplyTo) {
                out.hasReplyTo = true;
                out.replyToAt = at;
                out.replyTo = text;
            } else if (bit == kExpiration) {
                out.hasExpiration = true;
                out.expiration = text;
            } else if (bit == kUserId) {
                out.hasUserId = true;
                out.userId = text;
            }
        }
    }
    return in.ok();
}

std::optional<base::Refusal> checkExpiration(std::string_view expiration) {
    const bool negative = !expiration.empty() && expiration[0] == '-';
    const bool hasSign = negative || (!expiration.empty() && expiration[0] == '+');
    std::string_view digits = expiration.substr(hasSign ? 1 : 0);
    const auto isDigit = [](char c) { return c >= '0' && c <= '9'; };
    const auto end = std::find_if_not(digits.begin(), digits.end(), isDigit);
    if (end == digits.begin()) {
        return badExpiration(expiration, "no_integer");
    }
    const std::string_view left =
        expiration.substr(static_cast<std::size_t>(end - digits.begin()) + (hasSign ? 1 : 0));
    if (!left.empty()) {
        return badExpiration(expiration, "{leftover_string,\"" + std::string(left) + "\"}");
    }
    digits.remove_prefix(std::min(digits.find_first_not_of('0'), digits.size() - 1));
    if (negative && digits != "0") {
        return badExpiration(expiration, "{value_negative,-" + std::string(digits) + "}");
    }
    const bool tooLarge =
        digits.size() > kLongestExpiration.size() ||
        (digits.size() == kLongestExpiration.size() && digits > kLongestExpiration);
    if (tooLarge) {
        return badExpiration(expiration, "{value_too_large," + std::string(digits) + "}");
    }
    return std::nullopt;
}

std::optional<base::Refusal> readCarbonCopies(const base::FieldTable& headers,
                                              std::vector<std::string_view>& keys, bool& hasBcc) {
    for (const std::string_view name : {std::string_view("CC"), std::string_view("BCC")}) {
        const auto value = headers.find(name);
        if (!value) {
            continue;
        }
        if (!value->isArray()) {
            return base::Refusal{base::ReplyCode::preconditionFailed,
                                 "invalid message: {unacceptable_type_in_header,\"" +
                                     std::string(name) + "\"," + value->typeName() + "}"};
        }
        hasBcc = hasBcc || name == "BCC";
        base::FieldArray array(value->raw);
        while (const auto key = array.next()) {
            if (key->isText()) {
                keys.push_back(key->text());
            }
        }
    }
    return std::nullopt;
}

void dropBcc(base::Bytes properties, const MessageProperties& read, std::string& out) {
    std::string table;
    base::FieldTableWriter fields(table);
    auto each = read.headers.fields();
    while (const auto field = each.next()) {
        if (field->name != "BCC") {
            fields.raw(field->name, field->value);
        }
    }
    base::ByteWriter writer(out);
    writer.bytes(properties.subspan(0, read.headersAt));
    writer.big<std::uint32_t>(static_cast<std::uint32_t>(table.size()));
    writer.text(table);
    writer.bytes(properties.subspan(read.headersAt + 4 + read.headers.raw().size()));
}

void replaceReplyTo(base::Bytes properties, const MessageProperties& read, std::string_view replyTo,
                    std::string& out) {
    base::ByteWriter writer(out);
    writer.bytes(properties.subspan(0, read.replyToAt));
    writer.big<std::uint8_t>(static_cast<std::uint8_t>(replyTo.size()));
    writer.text(replyTo);
    writer.bytes(properties.subspan(read.replyToAt + 1 + read.replyTo.size()));
}

} // namespace millrace::engine
