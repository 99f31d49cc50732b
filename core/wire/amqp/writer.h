// SPDX-License-Identifier: Apache-2.0
// Writes frames into an output buffer: methods, whole contents, heartbeats.
//
// Promise: a frame of up to kReserveMax bytes is written in one piece without an allocation; a
// larger method (a long table) costs one. Frames are complete and in order in the sink when the
// call returns. The caller keeps methods and properties within the peer's frame-max (they cannot be
// split); bodies are split here.
#pragma once

#include "wire/amqp/frame.h"
#include "wire/amqp/methods.h"
#include "wire/amqp/properties.h"

#include <algorithm>
#include <concepts>
#include <string>

namespace millrace::wire::amqp {

// Every sink must give this much contiguous room.
inline constexpr std::size_t kReserveMax = 4096;

template <typename Out>
concept ByteSink = requires(Out& out, Bytes bytes, std::size_t size) {
    out.append(bytes);                            // copies
    { out.reserve(size) } -> std::same_as<Byte*>; // room for at most kReserveMax bytes at the end,
    out.commit(size);                             // of which so many have been written
};

// A sink over a std::string that the caller owns.
class StringSink {
  public:
    explicit StringSink(std::string& out) : out_(out) {}
    void append(Bytes bytes) { out_.append(base::textOf(bytes)); }
    Byte* reserve(std::size_t size) {
        used_ = out_.size();
        out_.resize(used_ + size);
        return reinterpret_cast<Byte*>(out_.data() + used_);
    }
    void commit(std::size_t size) { out_.resize(used_ + size); }

  private:
    std::string& out_;
    std::size_t used_ = 0;
};

// Payload bytes of the method's frame: ids and fields.
template <typename M> std::size_t methodSize(const M& method) {
    FieldSizer sizer;
    eachField(method, [&sizer](const auto& field) { sizer.write(field); });
    return 4 + sizer.size();
}

inline void putFrameHead(FieldWriter& to, std::uint8_t type, std::uint16_t channel,
                         std::size_t payloadSize) {
    to.number(type);
    to.number(channel);
    to.number(static_cast<std::uint32_t>(payloadSize));
}

template <typename M>
void putMethodFrame(FieldWriter& to, std::uint16_t channel, const M& method,
                    std::size_t payloadSize) {
    putFrameHead(to, frame_type::kMethod, channel, payloadSize);
    to.id(M::id);
    eachField(method, [&to](const auto& field) { to.write(field); });
    to.number(kFrameEnd);
}

// Class, weight and body size with the frame's head; the properties and the frame's end follow.
inline void putHeaderFrameHead(FieldWriter& to, std::uint16_t channel, std::size_t propertiesSize,
                               std::uint64_t bodySize) {
    putFrameHead(to, frame_type::kHeader, channel, kContentHeaderHead + propertiesSize);
    to.number(kBasicClass);
    to.number(std::uint16_t{0});
    to.number(bodySize);
}

template <ByteSink Out, typename M>
void writeMethod(Out& out, std::uint16_t channel, const M& method) {
    const std::size_t payloadSize = methodSize(method);
    const std::size_t size = payloadSize + kFrameOverhead;
    if (size <= kReserveMax) [[likely]] {
        FieldWriter to(out.reserve(size));
        putMethodFrame(to, channel, method, payloadSize);
        out.commit(size);
        return;
    }
    std::string whole(size, '\0');
    FieldWriter to(reinterpret_cast<Byte*>(whole.data()));
    putMethodFrame(to, channel, method, payloadSize);
    out.append(base::bytesOf(whole));
}

template <ByteSink Out>
void writeFrameHead(Out& out, std::uint8_t type, std::uint16_t channel, std::size_t payloadSize) {
    FieldWriter to(out.reserve(kFrameHead));
    putFrameHead(to, type, channel, payloadSize);
    out.commit(kFrameHead);
}

template <ByteSink Out> void writeFrameEnd(Out& out) {
    *out.reserve(1) = kFrameEnd;
    out.commit(1);
}

template <ByteSink Out> void writeHeartbeat(Out& out) {
    writeFrameHead(out, frame_type::kHeartbeat, 0, 0);
    writeFrameEnd(out);
}

// `properties` is flags and list, as received or encoded; empty is written as no flags.
template <ByteSink Out>
void writeContentHeader(Out& out, std::uint16_t channel, Bytes properties, std::uint64_t bodySize) {
    static constexpr Byte kNoFlags[2] = {0, 0};
    const Bytes list = properties.empty() ? Bytes(kNoFlags) : properties;
    constexpr std::size_t kHead = kFrameHead + kContentHeaderHead;
    FieldWriter to(out.reserve(kHead));
    putHeaderFrameHead(to, channel, list.size(), bodySize);
    out.commit(kHead);
    out.append(list);
    writeFrameEnd(out);
}

// The next bytes of a body, as body frames of at most frameMax bytes each (0 = no limit). Nothing
// is written for no bytes.
template <ByteSink Out>
void writeBody(Out& out, std::uint16_t channel, Bytes body, std::uint32_t frameMax) {
    const std::size_t most = frameMax == 0 ? UINT32_MAX : frameMax - kFrameOverhead;
    while (!body.empty()) {
        const Bytes piece = body.first(std::min(most, body.size()));
        writeFrameHead(out, frame_type::kBody, channel, piece.size());
        out.append(piece);
        writeFrameEnd(out);
        body = body.subspan(piece.size());
    }
}

// A method that carries content (deliver, get-ok, return, publish) with its header and as much of
// the body as `body` holds; the rest, if bodySize is more, follows by writeBody() before anything
// else on this channel. Small ones are written in one piece.
template <ByteSink Out, typename M>
// NOLINTNEXTLINE(readability-function-size): the parts of a content, and where they go
void writeContent(Out& out, std::uint16_t channel, const M& method, Bytes properties, Bytes body,
                  std::uint64_t bodySize, std::uint32_t frameMax) {
    const std::size_t payloadSize = methodSize(method);
    const std::size_t size =
        payloadSize + properties.size() + body.size() + kContentHeaderHead + 3 * kFrameOverhead;
    if (size > std::min<std::size_t>(kReserveMax, frameMax - 1) || properties.empty()) {
        writeMethod(out, channel, method);
        writeContentHeader(out, channel, properties, bodySize);
        writeBody(out, channel, body, frameMax);
        return;
    }
    Byte* const start = out.reserve(size);
    FieldWriter to(start);
    putMethodFrame(to, channel, method, payloadSize);
    putHeaderFrameHead(to, channel, properties.size(), bodySize);
    to.raw(properties);
    to.number(kFrameEnd);
    if (!body.empty()) {
        putFrameHead(to, frame_type::kBody, channel, body.size());
        to.raw(body);
        to.number(kFrameEnd);
    }
    out.commit(static_cast<std::size_t>(to.at() - start));
}

} // namespace millrace::wire::amqp
