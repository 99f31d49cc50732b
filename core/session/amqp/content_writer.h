// SPDX-License-Identifier: Apache-2.0
// Messages on their way to a peer: method, content header and body frames, split by the negotiated
// frame size.
//
// Bodies up to limits::kCopyBodyBytes are copied with their head; larger ones are referenced where
// they have an owner.
#pragma once

#include "base/limits.h"
#include "engine/client.h"
#include "session/outbox.h"
#include "wire/amqp/writer.h"

#include <algorithm>
#include <cstdint>
#include <memory>

namespace millrace::session::amqp {

struct ContentTarget {
    Outbox& outbox;
    std::uint16_t channel;
    std::uint32_t frameMax;
};

// A piece of a body whose content header has been written.
inline void writeBody(const ContentTarget& target, Bytes body,
                      const std::shared_ptr<const void>& owner) {
    if (!owner) {
        wire::amqp::writeBody(target.outbox, target.channel, body, target.frameMax);
        return;
    }
    const std::size_t most = target.frameMax - wire::amqp::kFrameOverhead;
    while (!body.empty()) {
        const Bytes piece = body.first(std::min(body.size(), most));
        wire::amqp::writeFrameHead(target.outbox, wire::amqp::frame_type::kBody, target.channel,
                                   piece.size());
        if (piece.size() > limits::kCopyBodyBytes) {
            target.outbox.refer(piece, owner);
        } else {
            target.outbox.append(piece);
        }
        wire::amqp::writeFrameEnd(target.outbox);
        body = body.subspan(piece.size());
    }
}

// The body may be only the first piece of the message's. `properties` replace the message's.
template <typename Method>
void writeMessage(const ContentTarget& target, const Method& method, Bytes properties,
                  const engine::MessageView& message) {
    const bool refers = message.owner && message.body.size() > limits::kCopyBodyBytes;
    const Bytes copied = refers ? Bytes{} : message.body;
    wire::amqp::writeContent(target.outbox, target.channel, method, properties, copied,
                             message.bodySize, target.frameMax);
    if (refers) {
        writeBody(target, message.body, message.owner);
    }
}

} // namespace millrace::session::amqp
