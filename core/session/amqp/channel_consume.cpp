// SPDX-License-Identifier: Apache-2.0
// Consuming: qos, consume, cancel, get, and what becomes of deliveries.
#include "session/amqp/channel.h"

#include <random>
#include <string>

namespace millrace::session::amqp {

namespace wire = wire::amqp;
using base::ReplyCode;
using engine::Settlement;

namespace {

// "amq.ctag-" and 22 characters of URL-safe base64.
std::string freshTag() {
    static constexpr std::string_view kAlphabet =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    static constexpr std::string_view kPrefix = "amq.ctag-";
    static constexpr std::size_t kCharacters = 22;
    static constexpr int kPerDraw = 5; // of 6 bits each, in a draw of 32
    std::random_device source;
    std::string tag(kPrefix);
    while (tag.size() < kPrefix.size() + kCharacters) {
        std::uint32_t bits = source();
        for (int i = 0; i < kPerDraw && tag.size() < kPrefix.size() + kCharacters;
             ++i, bits >>= 6) {
            tag += kAlphabet[bits & 63];
        }
    }
    return tag;
}

} // namespace

void Channel::on(const wire::BasicQos& method) {
    const auto set = engine_->qos(method.prefetchSize, method.prefetchCount, method.global);
    if (!set) {
        link_.refuse(set.refusal());
        return;
    }
    send(wire::BasicQosOk{});
}

void Channel::on(const wire::BasicConsume& method) {
    const std::string_view chosen = method.consumerTag;
    std::string_view queue = method.queue;
    if (!meansQueue(queue)) {
        return;
    }
    const std::string tag = chosen.empty() ? freshTag() : std::string(chosen);
    const auto consuming =
        engine_->consume({queue, tag, method.noAck, method.exclusive, method.arguments});
    if (!consuming) {
        link_.refuse(consuming.refusal());
        return;
    }
    if (!method.noWait) {
        send(wire::BasicConsumeOk{tag});
    }
}

void Channel::on(const wire::BasicCancel& method) {
    const std::string_view tag = method.consumerTag;
    if (const auto cancelled = engine_->cancel(tag); !cancelled) {
        link_.refuse(cancelled.refusal());
        return;
    }
    if (!method.noWait) {
        send(wire::BasicCancelOk{tag});
    }
}

// A client's answer to our cancel. The consumer is gone already.
void Channel::on(const wire::BasicCancelOk&) {}

void Channel::on(const wire::BasicGet& method) {
    std::string_view queue = method.queue;
    if (!meansQueue(queue)) {
        return;
    }
    link_.waiting = {};
    link_.waiting.what = Waiting::For::message; // the answer may come before get() returns
    link_.waiting.channel = number_;
    auto got = engine_->get(queue, method.noAck);
    if (!got) {
        link_.waiting = {};
        link_.refuse(got.refusal());
        return;
    }
    if (*got == engine::Channel::Got::empty) {
        link_.waiting = {};
        send(wire::BasicGetEmpty{});
    }
}

void Channel::settle(std::uint64_t tag, bool multiple, Settlement how) {
    const auto settled = engine_->settle(tag, multiple, how);
    if (!settled) {
        link_.refuse(settled.refusal());
    }
}

void Channel::on(const wire::BasicAck& method) {
    settle(method.deliveryTag, method.multiple, Settlement::ack);
}

void Channel::on(const wire::BasicNack& method) {
    settle(method.deliveryTag, method.multiple,
           method.requeue ? Settlement::requeue : Settlement::discard);
}

void Channel::on(const wire::BasicReject& method) {
    settle(method.deliveryTag, false, method.requeue ? Settlement::requeue : Settlement::discard);
}

void Channel::on(const wire::BasicRecover& method) {
    if (!method.requeue) {
        link_.refuse({ReplyCode::notImplemented, "requeue=false"});
        return;
    }
    engine_->recover();
    send(wire::BasicRecoverOk{});
}

void Channel::on(const wire::BasicRecoverAsync& method) {
    if (!method.requeue) {
        link_.refuse({ReplyCode::notImplemented, "requeue=false"});
        return;
    }
    engine_->recover();
}

} // namespace millrace::session::amqp
