// SPDX-License-Identifier: Apache-2.0
// The one reply that a channel (or the connection) waits for. Keeps a copy of its bytes, so that
// the reply outlives the receive buffer.
#pragma once

#include "wire/amqp/methods.h"

#include <optional>
#include <string>

namespace millrace::client {

class ReplySlot final {
  public:
    void expect(wire::amqp::MethodId one, wire::amqp::MethodId other) {
        one_ = one;
        other_ = other;
        waiting_ = true;
        payload_.clear();
    }
    // Keeps the method if it is what is waited for.
    bool take(base::Bytes payload) {
        const wire::amqp::MethodId id = wire::amqp::methodIdOf(payload);
        if (!waiting_ || (id != one_ && id != other_)) {
            return false;
        }
        payload_ = base::textOf(payload);
        waiting_ = false;
        return true;
    }
    bool waiting() const { return waiting_; }
    void forget() { waiting_ = false; }

    // The reply, if it is an M that can be decoded. Views are valid until the next expect().
    template <typename M> std::optional<M> as() const {
        Taker<M> taker;
        wire::MessageList<wire::amqp::FieldReader, M>::dispatch(base::bytesOf(payload_), taker);
        return taker.taken;
    }

  private:
    template <typename M> struct Taker {
        std::optional<M> taken;
        void on(const M& method) { taken = method; }
    };

    wire::amqp::MethodId one_;
    wire::amqp::MethodId other_;
    bool waiting_ = false;
    std::string payload_;
};

} // namespace millrace::client
