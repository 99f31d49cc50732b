// SPDX-License-Identifier: Apache-2.0
// Reading, checking, comparing and printing of field tables. The tags and their words are
// RabbitMQ's (facts/amqp.md section 1).
#include "base/field_table.h"

#include "base/check.h"
#include "base/limits.h"

#include <charconv>

namespace millrace::base {

namespace {

constexpr std::size_t kUnknownTag = static_cast<std::size_t>(-1);
constexpr std::size_t kPrefixed = static_cast<std::size_t>(-2); // u32 length, then as many bytes

std::size_t payloadSize(char tag) {
    switch (tag) {
    case 'V':
        return 0;
    case 't':
    case 'b':
    case 'B':
        return 1;
    case 's':
    case 'u':
        return 2;
    case 'I':
    case 'i':
    case 'f':
        return 4;
    case 'D':
        return 5;
    case 'l':
    case 'L':
    case 'd':
    case 'T':
        return 8;
    case 'S':
    case 'x':
    case 'A':
    case 'F':
        return kPrefixed;
    default:
        return kUnknownTag;
    }
}

FieldValue readValue(ByteReader& in) {
    FieldValue value;
    value.tag = static_cast<char>(in.big<std::uint8_t>());
    const std::size_t size = payloadSize(value.tag);
    if (size == kUnknownTag) {
        in.fail();
        return value;
    }
    value.raw = in.bytes(size == kPrefixed ? in.big<std::uint32_t>() : size);
    return value;
}

bool validContent(Bytes raw, bool named, int depth) {
    if (depth > limits::kTableDepth) {
        return false;
    }
    ByteReader in(raw);
    while (in.ok() && !in.atEnd()) {
        if (named) {
            in.bytes(in.big<std::uint8_t>());
        }
        const FieldValue value = readValue(in);
        if (!in.ok()) {
            return false;
        }
        const bool nested = value.isTable() || value.isArray();
        if (nested && !validContent(value.raw, value.isTable(), depth + 1)) {
            return false;
        }
    }
    return in.ok();
}

bool isFloating(const FieldValue& value) {
    return value.tag == 'f' || value.tag == 'd';
}

double floating(const FieldValue& value) {
    if (value.tag == 'f') {
        return static_cast<double>(std::bit_cast<float>(loadBig<std::uint32_t>(value.raw.data())));
    }
    return std::bit_cast<double>(loadBig<std::uint64_t>(value.raw.data()));
}

bool sameBytes(Bytes a, Bytes b) {
    return textOf(a) == textOf(b);
}

std::string printDouble(double number) {
    char text[32];
    const auto end = std::to_chars(text, text + sizeof text, number);
    return {text, end.ptr};
}

std::string printDecimal(Bytes raw) {
    return std::to_string(loadBig<std::uint32_t>(raw.data() + 1)) + "e-" + std::to_string(raw[0]);
}

} // namespace

bool FieldValue::isInteger() const {
    return std::string_view("bBsuIilL").find(tag) != std::string_view::npos;
}

std::int64_t FieldValue::integer() const {
    const Byte* at = raw.data();
    switch (tag) {
    case 'b':
        return loadBig<std::int8_t>(at);
    case 'B':
        return loadBig<std::uint8_t>(at);
    case 's':
        return loadBig<std::int16_t>(at);
    case 'u':
        return loadBig<std::uint16_t>(at);
    case 'I':
        return loadBig<std::int32_t>(at);
    case 'i':
        return loadBig<std::uint32_t>(at);
    case 'l':
    case 'L':
        return loadBig<std::int64_t>(at);
    default:
        MILLRACE_CHECK(isInteger());
        return 0;
    }
}

const char* FieldValue::typeName() const {
    switch (tag) {
    case 'S':
        return "longstr";
    case 'I':
        return "signedint";
    case 'i':
        return "unsignedint";
    case 's':
        return "short";
    case 'u':
        return "unsignedshort";
    case 'b':
        return "byte";
    case 'B':
        return "unsignedbyte";
    case 'l':
    case 'L':
        return "long";
    case 't':
        return "bool";
    case 'd':
        return "double";
    case 'f':
        return "float";
    case 'T':
        return "timestamp";
    case 'A':
        return "array";
    case 'F':
        return "table";
    case 'x':
        return "binary";
    case 'D':
        return "decimal";
    default:
        return "void";
    }
}

std::string FieldValue::print() const {
    if (isInteger()) {
        return std::to_string(integer());
    }
    if (isFloating(*this)) {
        return printDouble(floating(*this));
    }
    switch (tag) {
    case 'S':
    case 'x':
        return std::string(text());
    case 't':
        return boolean() ? "true" : "false";
    case 'T':
        return std::to_string(loadBig<std::uint64_t>(raw.data()));
    case 'D':
        return printDecimal(raw);
    case 'V':
        return "undefined";
    default: // tables and arrays: what they hold is not told
        return isTable() ? "{...}" : "[...]";
    }
}

bool equivalent(const FieldValue& a, const FieldValue& b) {
    if (a.isInteger() && b.isInteger()) {
        return a.integer() == b.integer();
    }
    if (isFloating(a) && isFloating(b)) {
        return floating(a) == floating(b);
    }
    if (a.tag == 't' && b.tag == 't') {
        return a.boolean() == b.boolean();
    }
    return a.tag == b.tag && sameBytes(a.raw, b.raw);
}

std::optional<FieldValue> FieldArray::next() {
    if (!in_.ok() || in_.atEnd()) {
        return std::nullopt;
    }
    const FieldValue value = readValue(in_);
    return in_.ok() ? std::optional(value) : std::nullopt;
}

bool FieldTable::valid() const {
    return validContent(raw_, true, 1);
}

std::optional<FieldValue> FieldTable::find(std::string_view name) const {
    Iterator all = fields();
    while (const std::optional<Field> field = all.next()) {
        if (field->name == name) {
            return field->value;
        }
    }
    return std::nullopt;
}

std::optional<Field> FieldTable::Iterator::next() {
    if (!in_.ok() || in_.atEnd()) {
        return std::nullopt;
    }
    Field field;
    field.name = textOf(in_.bytes(in_.big<std::uint8_t>()));
    field.value = readValue(in_);
    return in_.ok() ? std::optional(field) : std::nullopt;
}

void FieldTableWriter::key(std::string_view name, char tag) {
    MILLRACE_CHECK(name.size() <= 255);
    ByteWriter out(out_);
    out.big(static_cast<std::uint8_t>(name.size()));
    out.text(name);
    out.big(static_cast<std::uint8_t>(tag));
}

FieldTableWriter& FieldTableWriter::text(std::string_view name, std::string_view value) {
    return raw(name, FieldValue{'S', bytesOf(value)});
}

FieldTableWriter& FieldTableWriter::boolean(std::string_view name, bool value) {
    key(name, 't');
    ByteWriter(out_).big<std::uint8_t>(value ? 1 : 0);
    return *this;
}

FieldTableWriter& FieldTableWriter::long64(std::string_view name, std::int64_t value) {
    key(name, 'l');
    ByteWriter(out_).big(value);
    return *this;
}

FieldTableWriter& FieldTableWriter::int32(std::string_view name, std::int32_t value) {
    key(name, 'I');
    ByteWriter(out_).big(value);
    return *this;
}

FieldTableWriter& FieldTableWriter::timestamp(std::string_view name, std::uint64_t value) {
    key(name, 'T');
    ByteWriter(out_).big(value);
    return *this;
}

FieldTableWriter& FieldTableWriter::table(std::string_view name, std::string_view rawTable) {
    return raw(name, FieldValue{'F', bytesOf(rawTable)});
}

FieldTableWriter& FieldTableWriter::raw(std::string_view name, const FieldValue& value) {
    key(name, value.tag);
    ByteWriter out(out_);
    if (payloadSize(value.tag) == kPrefixed) {
        out.big(static_cast<std::uint32_t>(value.raw.size()));
    }
    out.bytes(value.raw);
    return *this;
}

} // namespace millrace::base
