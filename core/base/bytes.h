// SPDX-License-Identifier: Apache-2.0
// Views of bytes and a reader and writer of big-endian (wire) and little-endian (disk) integers. Nothing here owns or allocates,
// but ByteWriter, which appends to a std::string.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

namespace millrace::base {

using Byte = std::uint8_t;
using Bytes = std::span<const Byte>;

inline Bytes bytesOf(std::string_view text) {
    return {reinterpret_cast<const Byte*>(text.data()), text.size()};
}
inline std::string_view textOf(Bytes bytes) {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

template <typename T> T loadBig(const Byte* from) {
    T value;
    std::memcpy(&value, from, sizeof value);
    if constexpr (sizeof(T) == 2) {
        return static_cast<T>(__builtin_bswap16(static_cast<std::uint16_t>(value)));
    } else if constexpr (sizeof(T) == 4) {
        return static_cast<T>(__builtin_bswap32(static_cast<std::uint32_t>(value)));
    } else if constexpr (sizeof(T) == 8) {
        return static_cast<T>(__builtin_bswap64(static_cast<std::uint64_t>(value)));
    } else {
        return value;
    }
}
template <typename T> void storeBig(Byte* to, T value) {
    const T swapped = loadBig<T>(reinterpret_cast<const Byte*>(&value));
    std::memcpy(to, &swapped, sizeof swapped);
}
template <typename T> T loadLittle(const Byte* from) {
    static_assert(std::endian::native == std::endian::little, "disk formats are little-endian; port loadLittle first");
    T value;
    std::memcpy(&value, from, sizeof value);
    return value;
}
template <typename T> void storeLittle(Byte* to, T value) { std::memcpy(to, &value, sizeof value); }

// Reads forward. A read beyond the end yields zero or an empty view and makes ok() false for good: check once, at the end.
class ByteReader {
  public:
    explicit ByteReader(Bytes bytes) : bytes_(bytes) {}

    bool ok() const { return ok_; }
    bool atEnd() const { return position_ == bytes_.size(); }
    std::size_t position() const { return position_; }
    std::size_t remaining() const { return bytes_.size() - position_; }
    void fail() { ok_ = false; }

    template <typename T> T big() {
        const Byte* at = take(sizeof(T));
        return at ? loadBig<T>(at) : T{};
    }
    template <typename T> T little() {
        const Byte* at = take(sizeof(T));
        return at ? loadLittle<T>(at) : T{};
    }
    Bytes bytes(std::size_t count) {
        const Byte* at = take(count);
        return at ? Bytes{at, count} : Bytes{};
    }
    Bytes rest() { return bytes(remaining()); }

  private:
    const Byte* take(std::size_t count) {
        if (!ok_ || remaining() < count) {
            ok_ = false;
            return nullptr;
        }
        const Byte* at = bytes_.data() + position_;
        position_ += count;
        return at;
    }

    Bytes bytes_;
    std::size_t position_ = 0;
    bool ok_ = true;
};

// Appends to a std::string that the caller owns.
class ByteWriter {
  public:
    explicit ByteWriter(std::string& out) : out_(out) {}

    template <typename T> void big(T value) {
        Byte raw[sizeof(T)];
        storeBig<T>(raw, value);
        bytes({raw, sizeof raw});
    }
    template <typename T> void little(T value) {
        Byte raw[sizeof(T)];
        storeLittle<T>(raw, value);
        bytes({raw, sizeof raw});
    }
    void bytes(Bytes raw) { out_.append(textOf(raw)); }
    void text(std::string_view raw) { out_.append(raw); }
    // Length-prefixed texts of our own disk formats.
    void text16(std::string_view raw) {
        little<std::uint16_t>(static_cast<std::uint16_t>(raw.size()));
        text(raw);
    }
    void text32(std::string_view raw) {
        little<std::uint32_t>(static_cast<std::uint32_t>(raw.size()));
        text(raw);
    }

  private:
    std::string& out_;
};

inline std::string_view readText16(ByteReader& in) { return textOf(in.bytes(in.little<std::uint16_t>())); }
inline std::string_view readText32(ByteReader& in) { return textOf(in.bytes(in.little<std::uint32_t>())); }

} // namespace millrace::base
