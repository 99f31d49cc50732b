// SPDX-License-Identifier: Apache-2.0
// Consuming: qos, consume, cancel, get, and what becomes of deliveries.
#include "session/amqp/channel.h"
#include "session/amqp/direct_replies.h"

#include <string>

namespace millrace::session::amqp {

namespace wire = wire::amqp;
using base::ReplyCode;
using engine::Settlement;

namespace {

constexpr std::string_view kTagPrefix = "amq.ctag-";

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
    if (replies_ && replies_->tag == chosen) {
        link_.refuse(
            {ReplyCode::notAllowed, "attempt to reuse consumer tag '" + std::string(chosen) + "'"});
        return;
    }
    if (method.queue.view() == kReplyQueue) {
        consumeReplies(method);
        return;
    }
    std::string_view queue = method.queue;
    if (!meansQueue(queue)) {
        return;
    }
    const std::string tag =
        chosen.empty() ? std::string(kTagPrefix) + randomName() : std::string(chosen);
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

void Channel::consumeReplies(const wire::BasicConsume& method) {
    if (!method.noAck) {
        link_.refuse({ReplyCode::preconditionFailed, "reply consumer cannot acknowledge"});
        return;
    }
    if (replies_) {
        link_.refuse({ReplyCode::preconditionFailed, "reply consumer already set"});
        return;
    }
    const std::string_view chosen = method.consumerTag;
    replies_ = std::make_unique<ReplyConsumer>();
    replies_->tag = chosen.empty() ? std::string(kTagPrefix) + randomName() : std::string(chosen);
    replies_->name = link_.environment.replies.add(*this);
    if (!method.noWait) {
        send(wire::BasicConsumeOk{replies_->tag});
    }
}

void Channel::stopReplies() {
    if (replies_) {
        link_.environment.replies.remove(replies_->name);
        replies_.reset();
    }
}

bool Channel::reply(const engine::MessageView& message) {
    // Nothing keeps a reply: who does not read loses it instead of filling our memory.
    if (leaving_ || contentOpen_ || link_.unread() > link_.bound(limits::kReplyBytes)) {
        return false;
    }
    const Link::Delivering delivering(link_);
    const wire::BasicDeliver method{replies_->tag, ++replies_->lastDelivery, false,
                                    message.exchange, message.routingKey};
    writeMessage(target(), method, message.properties, message);
    link_.attention();
    return true;
}

void Channel::on(const wire::BasicCancel& method) {
    const std::string_view tag = method.consumerTag;
    if (replies_ && replies_->tag == tag) {
        stopReplies();
    } else if (const auto cancelled = engine_->cancel(tag); !cancelled) {
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
