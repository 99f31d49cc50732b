// SPDX-License-Identifier: Apache-2.0
// One pass over encoded properties, and the copies with one property changed: everything else is
// copied as bytes.
#include "wire/amqp/properties.h"

#include "base/check.h"
#include "wire/amqp/types.h"

#include <bit>

namespace millrace::wire::amqp {

namespace {

constexpr std::uint16_t kContinued = 0x0001;
constexpr std::uint16_t kKnownFlags = 0xFFFC;

std::size_t indexOf(std::uint16_t flag) {
    return static_cast<std::size_t>(std::countl_zero(flag));
}

// Passes over one value; false if a table is not valid.
bool skipValue(std::uint16_t flag, base::ByteReader& in) {
    switch (flag) {
    case property_flag::kHeaders:
        return base::FieldTable(in.bytes(in.big<std::uint32_t>())).valid();
    case property_flag::kDeliveryMode:
    case property_flag::kPriority:
        in.bytes(1);
        return true;
    case property_flag::kTimestamp:
        in.bytes(8);
        return true;
    default:
        in.bytes(in.big<std::uint8_t>());
        return true;
    }
}

// Flags words behind the first one may only say that yet another follows: there are no properties
// for their bits.
std::optional<std::uint16_t> readFlags(base::ByteReader& in) {
    const auto first = in.big<std::uint16_t>();
    std::uint16_t word = first;
    while ((word & kContinued) != 0 && in.ok()) {
        word = in.big<std::uint16_t>();
        if ((word & ~kContinued) != 0) {
            return std::nullopt;
        }
    }
    const auto flags = static_cast<std::uint16_t>(first & ~kContinued);
    if ((flags & ~kKnownFlags) != 0 || !in.ok()) {
        return std::nullopt;
    }
    return flags;
}

// A copy of `raw` in which the value of `flag` is `value` (encoded), or is missing with nullopt.
std::string replaceValue(Bytes raw, std::uint16_t flag, std::optional<std::string_view> value) {
    Properties old;
    MILLRACE_CHECK(old.parse(raw));
    const std::size_t start = old.offsetOf(flag);
    std::size_t behind = start;
    if (old.has(flag)) {
        base::ByteReader in(raw.subspan(start));
        skipValue(flag, in);
        behind += in.position();
    }
    std::string out;
    out.reserve(raw.size() + (value ? value->size() : 0));
    base::ByteWriter writer(out);
    const auto without = static_cast<std::uint16_t>(old.flags() & ~flag);
    writer.big(static_cast<std::uint16_t>(value ? without | flag : without));
    writer.bytes(raw.subspan(old.valuesAt(), start - old.valuesAt()));
    if (value) {
        writer.text(*value);
    }
    writer.bytes(raw.subspan(behind));
    return out;
}

// The headers table of `raw` without one field.
std::string headersWithout(Bytes raw, std::string_view name) {
    Properties old;
    MILLRACE_CHECK(old.parse(raw));
    std::string table;
    if (const std::optional<base::FieldTable> headers = old.headers()) {
        table.reserve(headers->raw().size() + 32);
        base::FieldTableWriter writer(table);
        auto each = headers->fields();
        while (const std::optional<base::Field> field = each.next()) {
            if (field->name != name) {
                writer.raw(field->name, field->value);
            }
        }
    }
    return table;
}

class ValueWriter {
  public:
    explicit ValueWriter(std::string& out) : out_(out) {}

    void write(std::uint16_t flag, const std::optional<std::string_view>& value) {
        if (value) {
            const std::string_view cut = cutToShortStr(*value);
            set(flag);
            out_.big(static_cast<std::uint8_t>(cut.size()));
            out_.text(cut);
        }
    }
    void write(std::uint16_t flag, const std::optional<Bytes>& table) {
        if (table) {
            set(flag);
            out_.big(static_cast<std::uint32_t>(table->size()));
            out_.bytes(*table);
        }
    }
    template <typename T> void number(std::uint16_t flag, const std::optional<T>& value) {
        if (value) {
            set(flag);
            out_.big(*value);
        }
    }
    std::uint16_t flags() const { return flags_; }

  private:
    void set(std::uint16_t flag) { flags_ = static_cast<std::uint16_t>(flags_ | flag); }
    base::ByteWriter out_;
    std::uint16_t flags_ = 0;
};

} // namespace

bool Properties::parse(Bytes raw) {
    base::ByteReader in(raw);
    const std::optional<std::uint16_t> flags = readFlags(in);
    if (!flags) {
        return false;
    }
    raw_ = raw;
    flags_ = *flags;
    valuesAt_ = static_cast<std::uint32_t>(in.position());
    for (std::uint16_t left = flags_; left != 0;) {
        const std::uint16_t flag = std::bit_floor(left);
        left = static_cast<std::uint16_t>(left ^ flag);
        offsets_[indexOf(flag)] = static_cast<std::uint32_t>(in.position());
        if (!skipValue(flag, in)) {
            return false;
        }
    }
    return in.ok() && in.atEnd();
}

std::size_t Properties::offsetOf(std::uint16_t flag) const {
    // The first set flag at or behind this one tells where its value is, or would be.
    const auto notBefore = static_cast<std::uint16_t>(flags_ & ((flag << 1) - 1));
    return notBefore == 0 ? raw_.size() : offsets_[indexOf(std::bit_floor(notBefore))];
}

std::optional<std::string_view> Properties::text(std::uint16_t flag) const {
    if (!has(flag)) {
        return std::nullopt;
    }
    const std::size_t at = offsets_[indexOf(flag)];
    return base::textOf(raw_.subspan(at + 1, raw_[at]));
}

std::optional<std::uint8_t> Properties::octet(std::uint16_t flag) const {
    return has(flag) ? std::optional(raw_[offsets_[indexOf(flag)]]) : std::nullopt;
}

std::optional<base::FieldTable> Properties::headers() const {
    if (!has(property_flag::kHeaders)) {
        return std::nullopt;
    }
    const std::size_t at = offsets_[indexOf(property_flag::kHeaders)];
    return base::FieldTable(raw_.subspan(at + 4, base::loadBig<std::uint32_t>(raw_.data() + at)));
}

std::optional<std::uint64_t> Properties::timestamp() const {
    if (!has(property_flag::kTimestamp)) {
        return std::nullopt;
    }
    return base::loadBig<std::uint64_t>(raw_.data() + offsets_[indexOf(property_flag::kTimestamp)]);
}

bool ContentHeader::parse(Bytes payload) {
    base::ByteReader in(payload);
    classId = in.big<std::uint16_t>();
    weight = in.big<std::uint16_t>();
    bodySize = in.big<std::uint64_t>();
    if (!in.ok()) {
        return false;
    }
    if (classId != kBasicClass) {
        properties = {};
        return true;
    }
    return properties.parse(in.rest());
}

std::string PropertyValues::encode() const {
    std::string out(2, '\0');
    ValueWriter writer(out);
    writer.write(property_flag::kContentType, contentType);
    writer.write(property_flag::kContentEncoding, contentEncoding);
    writer.write(property_flag::kHeaders, headers);
    writer.number(property_flag::kDeliveryMode, deliveryMode);
    writer.number(property_flag::kPriority, priority);
    writer.write(property_flag::kCorrelationId, correlationId);
    writer.write(property_flag::kReplyTo, replyTo);
    writer.write(property_flag::kExpiration, expiration);
    writer.write(property_flag::kMessageId, messageId);
    writer.number(property_flag::kTimestamp, timestamp);
    writer.write(property_flag::kType, type);
    writer.write(property_flag::kUserId, userId);
    writer.write(property_flag::kAppId, appId);
    writer.write(property_flag::kClusterId, clusterId);
    out[0] = static_cast<char>(writer.flags() >> 8);
    out[1] = static_cast<char>(writer.flags() & 0xFF);
    return out;
}

std::string rewriteHeaders(Bytes raw, std::optional<Bytes> headers) {
    if (!headers) {
        return replaceValue(raw, property_flag::kHeaders, std::nullopt);
    }
    std::string value;
    value.reserve(4 + headers->size());
    base::ByteWriter writer(value);
    writer.big(static_cast<std::uint32_t>(headers->size()));
    writer.bytes(*headers);
    return replaceValue(raw, property_flag::kHeaders, value);
}

std::string withHeader(Bytes raw, std::string_view name, std::int64_t value) {
    std::string table = headersWithout(raw, name);
    base::FieldTableWriter(table).long64(name, value);
    return rewriteHeaders(raw, base::bytesOf(table));
}

std::string withoutHeader(Bytes raw, std::string_view name) {
    const std::string table = headersWithout(raw, name);
    return rewriteHeaders(raw, table.empty() ? std::nullopt : std::optional(base::bytesOf(table)));
}

std::string withReplyTo(Bytes raw, std::string_view replyTo) {
    std::string value;
    base::ByteWriter writer(value);
    const std::string_view cut = cutToShortStr(replyTo);
    writer.big(static_cast<std::uint8_t>(cut.size()));
    writer.text(cut);
    return replaceValue(raw, property_flag::kReplyTo, value);
}

} // namespace millrace::wire::amqp
