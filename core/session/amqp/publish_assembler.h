// SPDX-License-Identifier: Apache-2.0
// A message that does not come in one go: method, header and body frames until it is whole.
//
// Bounded by BodyMemory, together with all others: a body for which nothing is left, or above
// limits::kWholeBodyBytes, goes on to the engine in pieces as it arrives; one that is refused for
// its size is counted and dropped (RabbitMQ says so when it is complete, hence so do we). Kept
// whole whatever its size, if there is memory: what goes to no queue, hence not to the log - direct
// replies, and mandatory messages that will come back.
#pragma once

#include "base/bytes.h"
#include "base/limits.h"
#include "base/refusal.h"
#include "session/body_memory.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace millrace::engine {
class Channel;
}

namespace millrace::session::amqp {

class PublishAssembler {
  public:
    enum class Expecting { header, body, nothing };

    PublishAssembler(engine::Channel& engine, BodyMemory& memory, std::uint64_t maxMessageSize)
        : engine_(engine), memory_(memory), maxMessageSize_(maxMessageSize) {}
    ~PublishAssembler();
    PublishAssembler(const PublishAssembler&) = delete;
    PublishAssembler& operator=(const PublishAssembler&) = delete;

    void begin(std::string_view exchange, std::string_view routingKey, bool mandatory);
    // The payload of a content header frame.
    std::optional<base::Refusal> header(base::Bytes payload);
    // Part of the payload of a body frame; never more than remaining().
    std::optional<base::Refusal> body(base::Bytes part);

    // `nothing`: the message is whole.
    Expecting expecting() const { return expecting_; }
    std::uint64_t remaining() const { return size_ - received_; }

    std::string_view exchange() const { return exchange_; }
    std::string_view routingKey() const { return routingKey_; }
    bool mandatory() const { return mandatory_; }
    base::Bytes properties() const { return base::bytesOf(properties_); }
    std::uint64_t size() const { return size_; }
    // The body may only go to the engine in pieces: collected() is too large for one entry.
    bool mustBeCut() const { return keeping_ == Keeping::whole && size_ > limits::kWholeBodyBytes; }
    // Turns a whole body into pieces.
    std::optional<base::Refusal> cut();
    // Empty where isLarge().
    base::Bytes collected() const { return isLarge() ? base::Bytes{} : base::bytesOf(body_); }
    bool isLarge() const { return keeping_ == Keeping::pieces; }
    // The engine has the message: its pieces are no longer this assembler's to abandon.
    void handedOver() { keeping_ = Keeping::whole; }

  private:
    enum class Keeping { whole, pieces, nothing };
    std::optional<base::Refusal> choose();
    std::optional<base::Refusal> beginPieces();
    bool goesToNoQueue() const;
    std::optional<base::Refusal> collect(base::Bytes part);
    std::optional<base::Refusal> passOn(base::Bytes piece);

    engine::Channel& engine_;
    BodyMemory& memory_;
    std::size_t taken_ = 0; // of memory_
    std::size_t pieceBytes_ = limits::kBodyPieceBytes;
    std::uint64_t maxMessageSize_;
    std::uint64_t size_ = 0;
    std::uint64_t received_ = 0;
    std::string exchange_;
    std::string routingKey_;
    std::string properties_;
    std::string body_; // all of it, or the piece that grows
    Expecting expecting_ = Expecting::header;
    Keeping keeping_ = Keeping::whole;
    bool mandatory_ = false;
};

} // namespace millrace::session::amqp
