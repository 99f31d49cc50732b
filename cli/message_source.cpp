// SPDX-License-Identifier: Apache-2.0
// Bodies and properties for `publish`.
#include "cli/message_source.h"

#include "base/nearest_name.h"
#include "wire/amqp/properties.h"

#include <array>
#include <charconv>
#include <iostream>
#include <iterator>

namespace millrace::cli {

namespace {

using wire::amqp::PropertyValues;

struct TextProperty {
    std::string_view name;
    std::optional<std::string_view> PropertyValues::*value;
};
constexpr std::array<TextProperty, 9> kTexts{{
    {"content_type", &PropertyValues::contentType},
    {"content_encoding", &PropertyValues::contentEncoding},
    {"correlation_id", &PropertyValues::correlationId},
    {"reply_to", &PropertyValues::replyTo},
    {"expiration", &PropertyValues::expiration},
    {"message_id", &PropertyValues::messageId},
    {"type", &PropertyValues::type},
    {"user_id", &PropertyValues::userId},
    {"app_id", &PropertyValues::appId},
}};
constexpr std::size_t kShortTextMax = 255;

template <typename Number> bool setNumber(std::optional<Number>& to, const std::string& text) {
    Number value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    to = value;
    return error == std::errc{} && end == text.data() + text.size();
}

base::Error unknownProperty(const std::string& name) {
    std::vector<std::string> names{"priority", "timestamp"};
    for (const TextProperty& known : kTexts) {
        names.emplace_back(known.name);
    }
    const std::string nearest = base::nearestName(name, names);
    return {base::ErrorCode::invalid,
            "there is no property '" + name + "'" +
                (nearest.empty() ? std::string() : "; did you mean '" + nearest + "'?")};
}

base::Status setProperty(PropertyValues& values, const std::string& name,
                         const std::string& value) {
    if (name == "priority" || name == "timestamp") {
        const bool number = name == "priority" ? setNumber(values.priority, value)
                                               : setNumber(values.timestamp, value);
        return number ? base::Status()
                      : base::Error{base::ErrorCode::invalid,
                                    name + ": '" + value + "' is not such a number"};
    }
    for (const TextProperty& known : kTexts) {
        if (known.name == name) {
            if (value.size() > kShortTextMax) {
                return base::Error{base::ErrorCode::invalid, name + " is longer than 255 bytes"};
            }
            values.*known.value = value;
            return {};
        }
    }
    return unknownProperty(name);
}

} // namespace

base::Result<std::string> encodeProperties(const PublishRequest& request) {
    PropertyValues values;
    values.deliveryMode = request.transient ? 1 : 2;
    for (const auto& [name, value] : request.properties) {
        if (auto set = setProperty(values, name, value); !set) {
            return set.error();
        }
    }
    std::string headers;
    base::FieldTableWriter writer(headers);
    for (const auto& [name, value] : request.headers) {
        if (name.size() > kShortTextMax) {
            return base::Error{base::ErrorCode::invalid,
                               "a header's name is longer than 255 bytes"};
        }
        writer.text(name, value);
    }
    if (!headers.empty()) {
        values.headers = base::bytesOf(headers);
    }
    return values.encode();
}

base::Status MessageSource::open() {
    if (request_.bodies.empty() && request_.file != "-") {
        file_.open(request_.file, std::ios::binary);
        if (!file_) {
            return base::Error{base::ErrorCode::notFound, "cannot read " + request_.file};
        }
    }
    return {};
}

std::istream& MessageSource::input() {
    return request_.file == "-" ? std::cin : static_cast<std::istream&>(file_);
}

std::optional<std::string> MessageSource::next() {
    if (!request_.bodies.empty()) {
        if (nextBody_ == request_.bodies.size()) {
            return std::nullopt;
        }
        return request_.bodies[nextBody_++];
    }
    if (request_.lines) {
        std::string line;
        return std::getline(input(), line) ? std::optional(std::move(line)) : std::nullopt;
    }
    if (wholeRead_) {
        return std::nullopt;
    }
    wholeRead_ = true;
    return std::string(std::istreambuf_iterator<char>(input()), {});
}

} // namespace millrace::cli
