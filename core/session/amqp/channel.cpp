// SPDX-License-Identifier: Apache-2.0
// The channel's life and its effects. Effects come from within engine calls: they write and note,
// and leave all else to the next feed().
#include "session/amqp/channel.h"

#include "session/amqp/direct_replies.h"
#include "session/amqp/fault_text.h"

#include <utility>

namespace millrace::session::amqp {

namespace wire = wire::amqp;
using base::ReplyCode;
using engine::Appetite;

namespace {

// Of a channel that is being closed: only the rest of the handshake counts, and what cannot be
// right.
struct Closing {
    Channel& channel;
    void on(const wire::ChannelOpen& method) { channel.on(method); }
    void on(const wire::ChannelClose& method) { channel.on(method); }
    void on(const wire::ChannelCloseOk& method) { channel.on(method); }
    template <typename Method> void on(const Method&) {}
};

} // namespace

Channel::Channel(Link& link, std::uint16_t number)
    : link_(link), engine_(link.environment.broker.openChannel(*link.engine, *this, number)),
      number_(number) {}

Channel::~Channel() {
    stopReplies();
    link_.heldBytes -= held_.size();
}

// --- life

void Channel::method(Bytes payload) {
    if (state_ != State::open) {
        wire::ServerMethods::dispatch(payload, Closing{*this});
        return;
    }
    if (content_) [[unlikely]] {
        link_.cause = wire::BasicPublish::id;
        const bool header = content_->expecting() == PublishAssembler::Expecting::header;
        link_.refuse(
            {ReplyCode::unexpectedFrame,
             header ? "expected content header for class 60, got non content header frame instead"
                    : "expected content body, got non content body frame instead"});
        return;
    }
    if (auto fault = methodFault(wire::ServerMethods::dispatch(payload, *this), payload))
        [[unlikely]] {
        link_.refuse(std::move(*fault));
    }
}

void Channel::on(const wire::ChannelOpen&) {
    link_.refuse({ReplyCode::channelError, "second 'channel.open' seen"});
}

void Channel::on(const wire::ChannelClose&) {
    if (state_ == State::closing) { // crossing closes: theirs is answered, ours is still to be
        send(wire::ChannelCloseOk{});
        return;
    }
    state_ = State::closing;
    closeOkSent_ = true;
    leaving_ = true;
    endIfDue(); // before the reply: whoever has it may count on what it frees
    send(wire::ChannelCloseOk{});
}

void Channel::on(const wire::ChannelCloseOk&) {
    leave();
    state_ = State::over;
}

void Channel::close(const Fault& fault) {
    state_ = State::closing;
    const std::string text = replyText(fault.refusal);
    send(wire::ChannelClose{static_cast<std::uint16_t>(fault.refusal.code), text,
                            fault.cause.classId, fault.cause.methodId});
    leaving_ = true;
    endIfDue();
}

void Channel::endIfDue() {
    if (!leaving_ || contentOpen_) {
        return;
    }
    leave();
    leaving_ = false;
    if (closeOkSent_) {
        state_ = State::over;
    }
}

void Channel::leave() {
    content_.reset(); // may still speak to the engine's channel
    engine_.reset();
    stopReplies();
}

// --- the methods of channel and access

void Channel::on(const wire::ChannelFlow& method) {
    if (!method.active) {
        link_.refuse({ReplyCode::notImplemented, "active=false"});
        return;
    }
    send(wire::ChannelFlowOk{true});
}

void Channel::on(const wire::AccessRequest&) {
    send(wire::AccessRequestOk{std::uint16_t{1}});
}

// --- replies that wait for the disk

bool Channel::mustWait(base::LogIndex index) {
    if (index == 0) {
        return false;
    }
    const std::uint64_t ticket = ++link_.lastTicket;
    if (!link_.environment.broker.await(*engine_, index, ticket)) {
        return false;
    }
    link_.waiting = {};
    link_.waiting.what = Waiting::For::disk;
    link_.waiting.channel = number_;
    link_.waiting.ticket = ticket;
    link_.waiting.cause = link_.cause;
    return true;
}

void Channel::resumed(std::uint64_t ticket, const base::Refusal* refused) {
    if (ticket == 0 && refused) {
        link_.failures.push_back({number_, *refused});
        link_.attention();
        return;
    }
    Waiting& waiting = link_.waiting;
    if (waiting.what != Waiting::For::disk || waiting.ticket != ticket) {
        return;
    }
    waiting.over = true;
    if (refused) {
        waiting.refused = *refused;
    }
    link_.attention();
}

void Channel::sendReply(std::string_view frame) {
    cancelsHeld_ = false;
    if (contentOpen_) {
        held_.insert(0, frame);
        link_.heldBytes += frame.size();
        return;
    }
    link_.outbox.append(base::bytesOf(frame));
    releaseHeld();
}

void Channel::releaseHeld() {
    if (held_.empty() || contentOpen_ || cancelsHeld_) {
        return;
    }
    link_.outbox.append(base::bytesOf(held_));
    link_.heldBytes -= held_.size();
    held_.clear();
    held_.shrink_to_fit();
}

// --- effects

Appetite Channel::appetite() {
    if (leaving_ && !contentOpen_) { // what is begun is sent to its end
        return Appetite::full;
    }
    if (link_.hasRoomForDelivery()) {
        return Appetite::more;
    }
    link_.starving = true;
    link_.engine->setFull(true); // the other channels fill the same outbox
    return Appetite::full;
}

void Channel::outboxDrained() {
    if (engine_ && (!leaving_ || contentOpen_)) {
        engine_->writable();
    }
}

Appetite Channel::deliver(const engine::Delivery& delivery) {
    if (leaving_) { // it goes back to its queue with the engine's channel
        return Appetite::full;
    }
    const Link::Delivering delivering(link_);
    const engine::MessageView& message = delivery.message;
    std::string counted;
    if (delivery.deliveryCount >= 0) {
        counted = wire::withHeader(message.properties, "x-delivery-count", delivery.deliveryCount);
    }
    const Bytes properties = counted.empty() ? message.properties : base::bytesOf(counted);
    contentOpen_ = message.body.size() < message.bodySize;
    if (delivery.consumerTag.empty()) {
        const wire::BasicGetOk method{delivery.deliveryTag, delivery.redelivered, message.exchange,
                                      message.routingKey, delivery.remaining};
        writeMessage(target(), method, properties, message);
        link_.waiting.over = !contentOpen_;
    } else {
        const wire::BasicDeliver method{delivery.consumerTag, delivery.deliveryTag,
                                        delivery.redelivered, message.exchange, message.routingKey};
        writeMessage(target(), method, properties, message);
    }
    link_.attention();
    return appetite();
}

Appetite Channel::piece(Bytes bytes, bool last) {
    {
        const Link::Delivering delivering(link_);
        writeBody(target(), bytes, nullptr);
    }
    if (last) {
        contentOpen_ = false;
        releaseHeld();
        link_.endsDue = link_.endsDue || leaving_;
        link_.waiting.over = link_.waiting.over || answersGet();
    }
    link_.attention();
    return appetite();
}

void Channel::confirmed(std::uint64_t from, std::uint64_t to, bool accepted) {
    if (leaving_) {
        return;
    }
    // In order of numbers, so everything below `from` has been answered.
    const bool multiple = from != to;
    if (accepted) {
        send(wire::BasicAck{to, multiple});
    } else {
        send(wire::BasicNack{to, multiple, false});
    }
    link_.attention();
}

void Channel::returned(const engine::Returned& returned) {
    if (leaving_) {
        return;
    }
    const engine::MessageView& message = returned.message;
    const wire::BasicReturn method{static_cast<std::uint16_t>(returned.code),
                                   base::nameOf(returned.code), message.exchange,
                                   message.routingKey};
    if (contentOpen_) {
        const std::size_t before = held_.size();
        wire::StringSink held(held_);
        wire::writeContent(held, number_, method, message.properties, message.body,
                           message.bodySize, link_.frameMax);
        link_.heldBytes += held_.size() - before;
    } else {
        writeMessage(target(), method, message.properties, message);
    }
    link_.attention();
}

void Channel::cancelled(std::string_view consumerTag) {
    if (leaving_) {
        return;
    }
    if (consumerTag.empty()) { // basic.get: nothing after all
        send(wire::BasicGetEmpty{});
        link_.waiting.over = true;
    } else if (link_.hearsConsumerCancel) {
        const wire::BasicCancel method{consumerTag, true};
        if (cancelsHeld_) {
            hold(method);
        } else {
            send(method);
        }
    }
    link_.attention();
}

} // namespace millrace::session::amqp
