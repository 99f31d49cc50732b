// SPDX-License-Identifier: Apache-2.0
// The wire types of AMQP 0-9-1 methods, and how each is read, measured and written. The one subtle
// rule lives here: bits that stand side by side share an octet, lowest bit first.
//
// Promise: values are numbers or views into the payload; no allocation. A read past the end makes
// ok() false for good.
#pragma once

#include "base/bytes.h"
#include "base/field_table.h"

#include <cstdint>
#include <string>
#include <string_view>

namespace millrace::wire::amqp {

using base::Byte;
using base::Bytes;

inline constexpr std::size_t kShortStrMax = 255;

struct MethodId {
    std::uint16_t classId = 0;
    std::uint16_t methodId = 0;
    friend constexpr bool operator==(const MethodId&, const MethodId&) = default;
};

// NOLINTBEGIN(google-explicit-constructor): a field is its value, so that methods read like structs

// A number as the wire has it.
template <typename T> class Number {
  public:
    using Value = T;
    constexpr Number(T value = 0) : value_(value) {}
    constexpr operator T() const { return value_; }
    constexpr T value() const { return value_; }

  private:
    T value_;
};
using Octet = Number<std::uint8_t>;
using Short = Number<std::uint16_t>;
using Long = Number<std::uint32_t>;
using LongLong = Number<std::uint64_t>;
using Bit = Number<bool>;

// A text or bytes with a length in front: one octet (ShortStr) or four (LongStr).
template <typename Length> class Text {
  public:
    constexpr Text() = default;
    constexpr Text(std::string_view view) : view_(view) {}
    constexpr Text(const char* text) : view_(text) {}
    Text(const std::string& text) : view_(text) {}
    constexpr operator std::string_view() const { return view_; }
    constexpr std::string_view view() const { return view_; }

  private:
    std::string_view view_;
};
using ShortStr = Text<std::uint8_t>; // written: cut at 255 bytes
using LongStr = Text<std::uint32_t>;

// A field table, raw, without its length. What was decoded is valid (base::FieldTable::valid()).
class Table {
  public:
    Table() = default;
    Table(Bytes raw) : raw_(raw) {}
    Table(const std::string& raw) : raw_(base::bytesOf(raw)) {}
    operator Bytes() const { return raw_; }
    Bytes raw() const { return raw_; }
    base::FieldTable view() const { return base::FieldTable(raw_); }

  private:
    Bytes raw_;
};

// NOLINTEND(google-explicit-constructor)

inline std::string_view cutToShortStr(std::string_view text) {
    return text.substr(0, kShortStrMax);
}

class FieldReader {
  public:
    explicit FieldReader(Bytes payload) : in_(payload) {}

    bool ok() const { return in_.ok(); }
    bool atEnd() const { return in_.atEnd(); }
    // Class and method, at the front of a method frame's payload.
    MethodId id() {
        const auto both = in_.big<std::uint32_t>();
        return {static_cast<std::uint16_t>(both >> 16), static_cast<std::uint16_t>(both)};
    }

    template <typename T> void read(Number<T>& field) {
        bitsLeft_ = 0;
        field = in_.big<T>();
    }
    void read(Bit& field) {
        if (bitsLeft_ == 0) {
            bits_ = in_.big<std::uint8_t>();
            bitsLeft_ = 8;
        }
        field = (bits_ & 1) != 0;
        bits_ = static_cast<std::uint8_t>(bits_ >> 1);
        --bitsLeft_;
    }
    template <typename Length> void read(Text<Length>& field) {
        bitsLeft_ = 0;
        field = base::textOf(in_.bytes(in_.big<Length>()));
    }
    void read(Table& field) {
        bitsLeft_ = 0;
        field = in_.bytes(in_.big<std::uint32_t>());
        if (!field.raw().empty() && !field.view().valid()) {
            in_.fail();
        }
    }

  private:
    base::ByteReader in_;
    std::uint8_t bits_ = 0;
    int bitsLeft_ = 0;
};

// Bytes that the fields will take, exactly.
class FieldSizer {
  public:
    std::size_t size() const { return size_; }

    template <typename T> void write(const Number<T>&) { add(sizeof(T)); }
    void write(const Bit&) {
        if (bitsLeft_ == 0) {
            ++size_;
            bitsLeft_ = 8;
        }
        --bitsLeft_;
    }
    void write(const ShortStr& field) { add(1 + cutToShortStr(field).size()); }
    void write(const LongStr& field) { add(4 + field.view().size()); }
    void write(const Table& field) { add(4 + field.raw().size()); }

  private:
    void add(std::size_t bytes) {
        bitsLeft_ = 0;
        size_ += bytes;
    }
    std::size_t size_ = 0;
    int bitsLeft_ = 0;
};

// Writes to memory that the caller has measured with FieldSizer.
class FieldWriter {
  public:
    explicit FieldWriter(Byte* at) : at_(at) {}
    Byte* at() const { return at_; }

    void id(MethodId id) {
        number(id.classId);
        number(id.methodId);
    }
    template <typename T> void write(const Number<T>& field) {
        bitsUsed_ = 0;
        number(field.value());
    }
    void write(const Bit& field) {
        if (bitsUsed_ == 0 || bitsUsed_ == 8) {
            *at_++ = 0;
            bitsUsed_ = 0;
        }
        at_[-1] = static_cast<Byte>(at_[-1] | (field.value() ? 1U << bitsUsed_ : 0U));
        ++bitsUsed_;
    }
    void write(const ShortStr& field) {
        const std::string_view text = cutToShortStr(field);
        bitsUsed_ = 0;
        number(static_cast<std::uint8_t>(text.size()));
        raw(base::bytesOf(text));
    }
    void write(const LongStr& field) {
        bitsUsed_ = 0;
        number(static_cast<std::uint32_t>(field.view().size()));
        raw(base::bytesOf(field));
    }
    void write(const Table& field) {
        bitsUsed_ = 0;
        number(static_cast<std::uint32_t>(field.raw().size()));
        raw(field);
    }
    template <typename T> void number(T value) {
        base::storeBig<T>(at_, value);
        at_ += sizeof(T);
    }
    void raw(Bytes bytes) {
        if (!bytes.empty()) {
            std::memcpy(at_, bytes.data(), bytes.size());
            at_ += bytes.size();
        }
    }

  private:
    Byte* at_;
    int bitsUsed_ = 0;
};

} // namespace millrace::wire::amqp
