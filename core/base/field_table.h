// SPDX-License-Identifier: Apache-2.0
// A view of an AMQP 0-9-1 field table as RabbitMQ writes it (types: t b B s u I i l L f d D S x A T F V). Raw bytes stay raw: queue
// arguments, headers and properties are kept, compared and passed on byte for byte. Never allocates; nothing is owned.
#pragma once

#include "base/bytes.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace millrace::base {

// One tagged value. `raw` is the payload behind the tag: for S, x, A and F without their length prefix.
struct FieldValue {
    char tag = 'V';
    Bytes raw;

    bool isInteger() const;            // b B s u I i l L
    std::int64_t integer() const;      // only if isInteger()
    bool isText() const { return tag == 'S'; }
    std::string_view text() const { return textOf(raw); }
    bool isTable() const { return tag == 'F'; }
    bool isArray() const { return tag == 'A'; }
    bool boolean() const { return tag == 't' && !raw.empty() && raw[0] != 0; }
    // RabbitMQ's word for the type in error texts: longstr, signedint, long, bool ...
    const char* typeName() const;
    // The value as RabbitMQ prints it in "received the value '100'": digits, text, true/false.
    std::string print() const;
};

// Same type class (all integer widths are one, float and double are one) and same value; x and S differ. Tables and arrays bytewise.
bool equivalent(const FieldValue& a, const FieldValue& b);

struct Field {
    std::string_view name;
    FieldValue value;
};

// Iterates tagged values of an array ('A').
class FieldArray {
  public:
    explicit FieldArray(Bytes raw) : in_(raw) {}
    std::optional<FieldValue> next();

  private:
    ByteReader in_;
};

class FieldTable {
  public:
    FieldTable() = default;
    // `raw` without the table's own length prefix.
    explicit FieldTable(Bytes raw) : raw_(raw) {}

    Bytes raw() const { return raw_; }
    bool empty() const { return raw_.empty(); }
    // Whole, with known tags, nested at most 32 deep. Everything else here is defined only for valid tables.
    bool valid() const;
    std::optional<FieldValue> find(std::string_view name) const;

    class Iterator {
      public:
        explicit Iterator(Bytes raw) : in_(raw) {}
        std::optional<Field> next();

      private:
        ByteReader in_;
    };
    Iterator fields() const { return Iterator(raw_); }

  private:
    Bytes raw_;
};

// Builds a table's bytes (without length prefix) in a std::string.
class FieldTableWriter {
  public:
    explicit FieldTableWriter(std::string& out) : out_(out) {}
    FieldTableWriter& text(std::string_view name, std::string_view value);    // S
    FieldTableWriter& boolean(std::string_view name, bool value);             // t
    FieldTableWriter& long64(std::string_view name, std::int64_t value);      // l
    FieldTableWriter& int32(std::string_view name, std::int32_t value);       // I
    FieldTableWriter& timestamp(std::string_view name, std::uint64_t value);  // T
    FieldTableWriter& table(std::string_view name, std::string_view rawTable); // F
    FieldTableWriter& raw(std::string_view name, const FieldValue& value);

  private:
    void key(std::string_view name, char tag);
    std::string& out_;
};

} // namespace millrace::base
