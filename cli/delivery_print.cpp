// SPDX-License-Identifier: Apache-2.0
// Deliveries as JSON lines.
#include "cli/delivery_print.h"

#include <array>
#include <cstdio>

namespace millrace::cli {

namespace {

bool isContinuation(char c) {
    return (static_cast<unsigned char>(c) & 0xC0U) == 0x80U;
}

// Length of the UTF-8 sequence that begins with c; 0: none can.
std::size_t sequenceLength(char c) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x80) {
        return 1;
    }
    if (byte >= 0xC2 && byte < 0xE0) {
        return 2;
    }
    if (byte >= 0xE0 && byte < 0xF0) {
        return 3;
    }
    return byte >= 0xF0 && byte < 0xF5 ? 4 : 0;
}

bool isUtf8(std::string_view text) {
    for (std::size_t i = 0; i < text.size();) {
        const std::size_t length = sequenceLength(text[i]);
        if (length == 0 || i + length > text.size()) {
            return false;
        }
        for (std::size_t j = 1; j < length; ++j) {
            if (!isContinuation(text[i + j])) {
                return false;
            }
        }
        i += length;
    }
    return true;
}

std::string base64(std::string_view bytes) {
    constexpr std::string_view kDigits =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    std::string text;
    for (std::size_t i = 0; i < bytes.size(); i += 3) {
        std::uint32_t group = 0;
        const std::size_t count = std::min<std::size_t>(3, bytes.size() - i);
        for (std::size_t j = 0; j < 3; ++j) {
            group = group << 8 | (j < count ? static_cast<unsigned char>(bytes[i + j]) : 0U);
        }
        for (std::size_t j = 0; j < 4; ++j) {
            text += j <= count ? kDigits[group >> (18 - 6 * j) & 63U] : '=';
        }
    }
    return text;
}

std::string jsonValue(const base::FieldValue& value) {
    if (value.tag == 't' || value.isInteger()) {
        return value.print();
    }
    return value.tag == 'V' ? "null" : jsonText(value.isText() ? value.text() : value.print());
}

std::string jsonHeaders(const base::FieldTable& table) {
    std::string text = "{";
    auto fields = table.fields();
    while (const auto field = fields.next()) {
        text +=
            (text.size() > 1 ? "," : "") + jsonText(field->name) + ":" + jsonValue(field->value);
    }
    return text + "}";
}

void addText(std::string& line, const char* name, const std::optional<std::string_view>& value) {
    if (value) {
        line += std::string(",\"") + name + "\":" + jsonText(*value);
    }
}

} // namespace

std::string jsonText(std::string_view text) {
    std::string result = "\"";
    for (const char c : text) {
        if (c == '"' || c == '\\') {
            result += '\\';
            result += c;
        } else if (static_cast<unsigned char>(c) < 0x20) {
            std::array<char, 8> escape{};
            std::snprintf(escape.data(), escape.size(), "\\u%04x", static_cast<unsigned>(c));
            result += escape.data();
        } else {
            result += c;
        }
    }
    return result + "\"";
}

std::string jsonOf(const client::Delivery& delivery) {
    const wire::amqp::Properties properties = delivery.parsed();
    std::string line = "{\"exchange\":" + jsonText(delivery.exchange) +
                       ",\"routing_key\":" + jsonText(delivery.routingKey) +
                       ",\"redelivered\":" + (delivery.redelivered ? "true" : "false");
    addText(line, "content_type", properties.contentType());
    addText(line, "message_id", properties.messageId());
    addText(line, "correlation_id", properties.correlationId());
    addText(line, "reply_to", properties.replyTo());
    addText(line, "type", properties.type());
    addText(line, "app_id", properties.appId());
    if (const auto mode = properties.deliveryMode()) {
        line += ",\"delivery_mode\":" + std::to_string(*mode);
    }
    if (const auto priority = properties.priority()) {
        line += ",\"priority\":" + std::to_string(*priority);
    }
    if (const auto timestamp = properties.timestamp()) {
        line += ",\"timestamp\":" + std::to_string(*timestamp);
    }
    if (const auto headers = properties.headers()) {
        line += ",\"headers\":" + jsonHeaders(*headers);
    }
    const bool text = isUtf8(delivery.body);
    return line +
           (text ? ",\"body\":" + jsonText(delivery.body)
                 : ",\"body_base64\":" + jsonText(base64(delivery.body))) +
           "}";
}

} // namespace millrace::cli
