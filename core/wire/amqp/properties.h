// SPDX-License-Identifier: Apache-2.0
// The content header and the 14 properties of basic messages. A message keeps its properties as the
// publisher sent them and they are passed on byte for byte; this checks them once, looks at single
// ones, and makes a changed copy where a header must change.
//
//     header payload: | class u16 | weight u16 | body size u64 | properties |
//     properties:     | flags u16, bit 0 = another flags word follows | values of the set flags,
//     bit 15 first |
//
// Promise: reading does not allocate; views are into the given bytes.
#pragma once

#include "base/bytes.h"
#include "base/field_table.h"

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace millrace::wire::amqp {

using base::Byte;
using base::Bytes;

inline constexpr std::uint16_t kBasicClass = 60;
inline constexpr std::size_t kContentHeaderHead = 12; // class, weight, body size

// The properties' flags, in the order of the values.
namespace property_flag {
inline constexpr std::uint16_t kContentType = 0x8000;
inline constexpr std::uint16_t kContentEncoding = 0x4000;
inline constexpr std::uint16_t kHeaders = 0x2000;
inline constexpr std::uint16_t kDeliveryMode = 0x1000;
inline constexpr std::uint16_t kPriority = 0x0800;
inline constexpr std::uint16_t kCorrelationId = 0x0400;
inline constexpr std::uint16_t kReplyTo = 0x0200;
inline constexpr std::uint16_t kExpiration = 0x0100;
inline constexpr std::uint16_t kMessageId = 0x0080;
inline constexpr std::uint16_t kTimestamp = 0x0040;
inline constexpr std::uint16_t kType = 0x0020;
inline constexpr std::uint16_t kUserId = 0x0010;
inline constexpr std::uint16_t kAppId = 0x0008;
inline constexpr std::uint16_t kClusterId = 0x0004;
} // namespace property_flag

// A read view of encoded properties: one pass checks them and notes where each value lies.
class Properties {
  public:
    // False if they are not whole and exact: unknown flags, a value cut off, bytes behind the last
    // one, an invalid headers table.
    bool parse(Bytes raw);

    Bytes raw() const { return raw_; }
    bool has(std::uint16_t flag) const { return (flags_ & flag) != 0; }

    std::optional<std::string_view> contentType() const {
        return text(property_flag::kContentType);
    }
    std::optional<std::string_view> contentEncoding() const {
        return text(property_flag::kContentEncoding);
    }
    std::optional<base::FieldTable> headers() const;
    std::optional<std::uint8_t> deliveryMode() const { return octet(property_flag::kDeliveryMode); }
    bool persistent() const { return deliveryMode() == 2; }
    std::optional<std::uint8_t> priority() const { return octet(property_flag::kPriority); }
    std::optional<std::string_view> correlationId() const {
        return text(property_flag::kCorrelationId);
    }
    std::optional<std::string_view> replyTo() const { return text(property_flag::kReplyTo); }
    std::optional<std::string_view> expiration() const { return text(property_flag::kExpiration); }
    std::optional<std::string_view> messageId() const { return text(property_flag::kMessageId); }
    std::optional<std::uint64_t> timestamp() const; // seconds
    std::optional<std::string_view> type() const { return text(property_flag::kType); }
    std::optional<std::string_view> userId() const { return text(property_flag::kUserId); }
    std::optional<std::string_view> appId() const { return text(property_flag::kAppId); }
    std::optional<std::string_view> clusterId() const { return text(property_flag::kClusterId); }

    // Where the values begin (behind the flags), and where the value of a set flag does: for
    // rewriting.
    std::size_t valuesAt() const { return valuesAt_; }
    std::uint16_t flags() const { return flags_; }
    std::size_t offsetOf(std::uint16_t flag) const;

  private:
    std::optional<std::string_view> text(std::uint16_t flag) const;
    std::optional<std::uint8_t> octet(std::uint16_t flag) const;

    Bytes raw_;
    std::uint16_t flags_ = 0;
    std::uint32_t valuesAt_ = 0;
    std::array<std::uint32_t, 14>
        offsets_{}; // by flag from bit 15 down; meaningful where the flag is set
};

// Whole content headers. `properties` is parsed only for class 60, since a session must name the
// class of any other.
struct ContentHeader {
    std::uint16_t classId = 0;
    std::uint16_t weight = 0; // 0 by the specification; read and passed over
    std::uint64_t bodySize = 0;
    Properties properties;

    // False: not a content header that can be read.
    bool parse(Bytes payload);
};

// Properties to be written. Views: valid until encode() returns.
struct PropertyValues {
    std::optional<std::string_view> contentType;
    std::optional<std::string_view> contentEncoding;
    std::optional<Bytes> headers; // a table's raw bytes
    std::optional<std::uint8_t> deliveryMode;
    std::optional<std::uint8_t> priority;
    std::optional<std::string_view> correlationId;
    std::optional<std::string_view> replyTo;
    std::optional<std::string_view> expiration;
    std::optional<std::string_view> messageId;
    std::optional<std::uint64_t> timestamp;
    std::optional<std::string_view> type;
    std::optional<std::string_view> userId;
    std::optional<std::string_view> appId;
    std::optional<std::string_view> clusterId;

    // Flags and list. Texts are cut at 255 bytes.
    std::string encode() const;
};

// Copies of valid `raw` properties in which only the headers table (or another named thing)
// differs. The table becomes `headers` (raw, without length), or goes with nullopt.
std::string rewriteHeaders(Bytes raw, std::optional<Bytes> headers);
// One header is set, at the end, whether it was there before or not: x-delivery-count.
std::string withHeader(Bytes raw, std::string_view name, std::int64_t value);
// One header is gone, and the table with it if it was the last: BCC.
std::string withoutHeader(Bytes raw, std::string_view name);
// The reply-to text is replaced or added: direct reply-to.
std::string withReplyTo(Bytes raw, std::string_view replyTo);

} // namespace millrace::wire::amqp
