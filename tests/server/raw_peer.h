// SPDX-License-Identifier: Apache-2.0
// An AMQP client that may behave as badly as a test wants: it sends any bytes in any pieces, reads
// or does not read. It costs little, so that a test can have ten thousand.
//
// Every wait ends after kPatience, with false. Views are valid until the next frame is read. One
// thread.
#pragma once

#include "wire/amqp/writer.h"

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace millrace::server_tests {

inline constexpr std::chrono::seconds kPatience{20};

class RawPeer {
  public:
    using Clock = std::chrono::steady_clock;

    // narrow: the kernel takes little of what is not read, here and at the broker.
    enum class Way { wide, narrow };

    explicit RawPeer(std::uint16_t port, Way way = Way::wide); // to 127.0.0.1
    ~RawPeer();
    RawPeer(RawPeer&& other) noexcept
        : descriptor_(std::exchange(other.descriptor_, -1)), input_(std::move(other.input_)),
          taken_(other.taken_), frame_(other.frame_) {}
    RawPeer(const RawPeer&) = delete;
    RawPeer& operator=(const RawPeer&) = delete;

    bool isConnected() const { return descriptor_ >= 0; }
    int descriptor() const { return descriptor_; }
    void close(); // without a word

    // --- out
    bool send(std::string_view bytes);
    // What the socket takes now; -1: the connection is broken.
    std::int64_t sendSome(std::string_view bytes);
    template <typename M> bool say(std::uint16_t channel, const M& method) {
        return send(bytesOf(channel, method));
    }

    // --- in
    // The next frame is in frame(). False: none came, or the end came.
    bool readFrame(std::chrono::milliseconds longest = kPatience);
    const wire::amqp::Frame& frame() const { return frame_; }
    // Reads on until this method comes; what comes before it is passed over.
    template <typename M> std::optional<M> await(std::chrono::milliseconds longest = kPatience) {
        const auto deadline = Clock::now() + longest;
        while (readFrame(left(deadline))) {
            if (auto method = as<M>()) {
                return method;
            }
        }
        return std::nullopt;
    }
    // The frame that was read last, if it is this method.
    template <typename M> std::optional<M> as() const {
        Taker<M> taker;
        const bool isIt = frame_.type == wire::amqp::frame_type::kMethod &&
                          wire::MessageList<wire::amqp::FieldReader, M>::dispatch(
                              frame_.payload, taker) == wire::Dispatched::handled;
        return isIt ? std::optional<M>(taker.taken) : std::nullopt;
    }
    // Throws away what comes until the broker has ended the connection.
    bool awaitEnd(std::chrono::milliseconds longest = kPatience);
    // All that comes until then.
    std::string readToTheEnd(std::chrono::milliseconds longest = kPatience);
    // The broker has ended the connection; what it sent before stays to be read.
    bool hasEnded() const;

    // --- whole steps
    // From the header to open-ok, and channel 1; all of it in one piece.
    bool open(std::uint16_t heartbeat = 0);
    // connection.close and its answer.
    bool closeInOrder();

    template <typename M> static std::string bytesOf(std::uint16_t channel, const M& method) {
        std::string out;
        wire::amqp::StringSink sink(out);
        wire::amqp::writeMethod(sink, channel, method);
        return out;
    }

  private:
    template <typename M> struct Taker {
        M taken;
        void on(const M& method) { taken = method; }
    };
    static std::chrono::milliseconds left(Clock::time_point deadline) {
        const auto rest = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now());
        return std::max(rest, std::chrono::milliseconds{0});
    }
    bool takeToTheEnd(std::string* kept, std::chrono::milliseconds longest);
    bool wait(short events, Clock::time_point deadline) const;

    int descriptor_ = -1;
    std::string input_;
    std::size_t taken_ = 0; // of input_
    wire::amqp::Frame frame_;
};

// The bytes of a client's part of the handshake, and of channel.open on channel 1. It understands
// connection.blocked, consumer cancels and refused logins.
std::string openingBytes(std::uint16_t heartbeat = 0, std::string_view password = "guest");
// Method, header and body of a publish to the default exchange.
std::string publishBytes(std::uint16_t channel, std::string_view queue, std::string_view body,
                         bool persistent);

} // namespace millrace::server_tests
