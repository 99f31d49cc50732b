// SPDX-License-Identifier: Apache-2.0
// What arrives on a channel: methods that nobody asked for, and contents put together from their
// frames.
#include "client/channel_request.h"

#include <utility>

namespace millrace::client {

using namespace wire::amqp;

namespace {

base::Error nonsense(const std::string& what) {
    return {base::ErrorCode::invalid, "the broker sent " + what};
}

} // namespace

struct AmqpChannel::Listener {
    AmqpChannel& channel;
    base::Status fault; // set where the broker breaks the protocol

    void on(const BasicDeliver& method) {
        channel.content_ = Content::deliver;
        channel.coming_ = {};
        channel.coming_.consumerTag = method.consumerTag.view();
        channel.coming_.deliveryTag = method.deliveryTag;
        channel.coming_.redelivered = method.redelivered;
        channel.coming_.exchange = method.exchange.view();
        channel.coming_.routingKey = method.routingKey.view();
    }
    void on(const BasicReturn& method) {
        channel.content_ = Content::returned;
        channel.comingBack_ = {method.replyCode,
                               std::string(method.replyText.view()),
                               std::string(method.exchange.view()),
                               std::string(method.routingKey.view()),
                               {},
                               {}};
    }
    void on(const BasicAck& method) { answered(method.deliveryTag, method.multiple, true); }
    void on(const BasicNack& method) { answered(method.deliveryTag, method.multiple, false); }
    void on(const BasicCancel& method) {
        channel.cancelled_.emplace_back(method.consumerTag.view());
        if (!method.noWait) {
            channel.client_.send(channel.number_, BasicCancelOk{method.consumerTag});
        }
    }
    void on(const ChannelFlow& method) {
        channel.client_.send(channel.number_, ChannelFlowOk{method.active});
    }
    void on(const ChannelClose& method) {
        channel.closed_ =
            PeerClose{static_cast<base::ReplyCode>(method.replyCode.value()),
                      std::string(method.replyText.view()), method.classId, method.methodId};
        channel.open_ = false;
        channel.client_.send(channel.number_, ChannelCloseOk{});
    }
    void on(const ChannelCloseOk&) {} // both sides closed at once
    template <typename M> void on(const M&) {
        fault = nonsense("method " + std::to_string(M::id.classId) + "." +
                         std::to_string(M::id.methodId) + " unasked");
    }

    void answered(std::uint64_t tag, bool multiple, bool accepted) {
        if (!channel.confirming_ || !channel.confirms_.answered(tag, multiple, accepted)) {
            fault = nonsense("a confirm for message " + std::to_string(tag) +
                             ", which does not wait for one");
        }
    }
};

base::Status AmqpChannel::take(const Frame& frame) {
    switch (frame.type) {
    case frame_type::kMethod:
        return takeMethod(frame.payload);
    case frame_type::kHeader:
        return takeHeader(frame.payload);
    default:
        return takeBody(frame.payload);
    }
}

base::Status AmqpChannel::takeMethod(base::Bytes payload) {
    if (content_ != Content::none) {
        return nonsense("a method where a content was not finished");
    }
    if (reply_.take(payload)) {
        if (const auto got = reply_.as<BasicGetOk>()) {
            content_ = Content::get;
            coming_ = {"",
                       got->deliveryTag,
                       got->redelivered,
                       std::string(got->exchange.view()),
                       std::string(got->routingKey.view()),
                       got->messageCount,
                       {},
                       {}};
        }
        return {};
    }
    Listener listener{*this, {}};
    if (ClientMethods::dispatch(payload, listener) != wire::Dispatched::handled) {
        return nonsense("a method that cannot be decoded");
    }
    return listener.fault;
}

base::Status AmqpChannel::takeHeader(base::Bytes payload) {
    ContentHeader header;
    if (content_ == Content::none || headerSeen_ || !header.parse(payload) ||
        header.classId != kBasicClass) {
        return nonsense("a content header that is not expected or cannot be decoded");
    }
    if (header.bodySize > limits::kMaxMessageSizeCap) {
        return nonsense("a message of " + std::to_string(header.bodySize) + " bytes");
    }
    headerSeen_ = true;
    bodyLeft_ = header.bodySize;
    std::string& properties =
        content_ == Content::returned ? comingBack_.properties : coming_.properties;
    properties = base::textOf(header.properties.raw());
    if (bodyLeft_ == 0) {
        finishContent();
    }
    return {};
}

base::Status AmqpChannel::takeBody(base::Bytes payload) {
    if (!headerSeen_ || payload.size() > bodyLeft_) {
        return nonsense("more body than it announced");
    }
    std::string& body = content_ == Content::returned ? comingBack_.body : coming_.body;
    body.append(base::textOf(payload));
    bodyLeft_ -= payload.size();
    if (bodyLeft_ == 0) {
        finishContent();
    }
    return {};
}

void AmqpChannel::finishContent() {
    headerSeen_ = false;
    switch (std::exchange(content_, Content::none)) {
    case Content::deliver:
        deliveries_.push_back(std::move(coming_));
        break;
    case Content::get:
        got_ = std::move(coming_);
        break;
    case Content::returned:
        returns_.push_back(std::move(comingBack_));
        break;
    case Content::none:
        break;
    }
}

} // namespace millrace::client
