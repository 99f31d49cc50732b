// SPDX-License-Identifier: Apache-2.0
// Finds frames in received bytes, and knows the bytes that open a connection.
//
//     | type u8 | channel u16 | size u32 | payload: size bytes | 0xCE |
//
// Promise: no copy, no allocation, no state but the limit. A frame is bounded by its announced size
// before its payload is waited for.
#pragma once

#include "base/bytes.h"
#include "base/limits.h"

#include <cstdint>
#include <cstring>
#include <string_view>

namespace millrace::wire::amqp {

using base::Byte;
using base::Bytes;

inline constexpr std::size_t kFrameHead = 7;     // type, channel, size
inline constexpr std::size_t kFrameOverhead = 8; // head and end
inline constexpr Byte kFrameEnd = 0xCE;

namespace frame_type {
inline constexpr std::uint8_t kMethod = 1;
inline constexpr std::uint8_t kHeader = 2;
inline constexpr std::uint8_t kBody = 3;
inline constexpr std::uint8_t kHeartbeat = 8;
} // namespace frame_type

// What a client sends first; also what the server answers to anything else before it closes.
inline constexpr std::string_view kProtocolHeader{"AMQP\0\0\x09\x01", 8};

enum class Opening { needMore, amqp091, other };

// Judges the first bytes of a connection; 8 of them belong to the opening. `01 01 00 09` (AMQP 0-9)
// is taken as 0-9-1, as RabbitMQ does. `other` as soon as the first bytes cannot become a header,
// so that a peer with another protocol is not waited for.
inline Opening judgeOpening(Bytes input) {
    constexpr std::string_view kOlder{"AMQP\x01\x01\0\x09", 8};
    const std::string_view seen = base::textOf(input.first(input.size() < 8 ? input.size() : 8));
    if (!kProtocolHeader.starts_with(seen) && !kOlder.starts_with(seen)) {
        return Opening::other;
    }
    return seen.size() < 8 ? Opening::needMore : Opening::amqp091;
}

enum class FrameStatus {
    complete,
    needMore,    // totalSize is what the frame will take, as far as it is known
    tooLarge,    // announced payloadSize is above payloadLimit(); nothing behind can be understood
    badEnd,      // endByte is not 0xCE; payload is what was announced
    unknownType, // well-formed, but no frame of this protocol (also a heartbeat that carries
                 // something)
};

struct Frame {
    std::uint8_t type = 0;
    std::uint16_t channel = 0;
    std::uint32_t payloadSize = 0; // announced
    Byte endByte = 0;
    Bytes payload;             // view into the input
    std::size_t totalSize = 0; // of the frame: where the next one begins
};

class FrameReader {
  public:
    // Until tune-ok a peer may send frames up to kFrameMaxBeforeTune; then setFrameMax(negotiated).
    // 0 = no limit.
    explicit FrameReader(std::uint32_t frameMax = limits::kFrameMaxBeforeTune) {
        setFrameMax(frameMax);
    }

    void setFrameMax(std::uint32_t frameMax) {
        payloadLimit_ =
            frameMax == 0 ? UINT32_MAX : frameMax - static_cast<std::uint32_t>(kFrameOverhead);
    }
    // The most payload bytes a frame may announce: the limit in RabbitMQ's
    // {frame_too_large,Size,Limit}.
    std::uint32_t payloadLimit() const { return payloadLimit_; }

    // `input` begins with a frame. After anything but complete and needMore the connection cannot
    // go on.
    FrameStatus next(Bytes input, Frame& frame) const {
        if (input.size() < kFrameHead) {
            frame.totalSize = kFrameHead;
            return FrameStatus::needMore;
        }
        frame.type = input[0];
        frame.channel = base::loadBig<std::uint16_t>(input.data() + 1);
        frame.payloadSize = base::loadBig<std::uint32_t>(input.data() + 3);
        frame.totalSize = std::size_t{frame.payloadSize} + kFrameOverhead;
        if (frame.payloadSize > payloadLimit_) [[unlikely]] {
            frame.payload = {};
            return FrameStatus::tooLarge;
        }
        if (input.size() < frame.totalSize) {
            return FrameStatus::needMore;
        }
        frame.payload = input.subspan(kFrameHead, frame.payloadSize);
        frame.endByte = input[frame.totalSize - 1];
        if (frame.endByte != kFrameEnd) [[unlikely]] {
            return FrameStatus::badEnd;
        }
        return isKnown(frame) ? FrameStatus::complete : FrameStatus::unknownType;
    }

  private:
    static bool isKnown(const Frame& frame) {
        const bool content = frame.type >= frame_type::kMethod && frame.type <= frame_type::kBody;
        return content || (frame.type == frame_type::kHeartbeat && frame.payloadSize == 0);
    }

    std::uint32_t payloadLimit_ = 0;
};

} // namespace millrace::wire::amqp
