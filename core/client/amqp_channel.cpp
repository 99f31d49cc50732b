// SPDX-License-Identifier: Apache-2.0
// A channel's life, publishing and consuming.
#include "client/amqp_channel.h"

#include "client/channel_request.h"

#include <utility>

namespace millrace::client {

using namespace wire::amqp;

AmqpChannel::AmqpChannel(AmqpClient& client, std::uint16_t number)
    : client_(client), number_(number) {}

AmqpChannel::~AmqpChannel() {
    if (open_ && !client_.failure()) {
        client_.send(number_, ChannelClose{200, "Goodbye", 0, 0});
    }
    client_.forget(*this);
}

base::Status AmqpChannel::usable() const {
    if (client_.failure()) {
        return *client_.failure();
    }
    if (closed_) {
        return errorOf(*closed_);
    }
    if (!open_) {
        return base::Error{base::ErrorCode::stopped, "the channel has been closed"};
    }
    return {};
}

base::Status AmqpChannel::open() {
    open_ = true;
    return request<ChannelOpenOk>(ChannelOpen{});
}

base::Status AmqpChannel::close() {
    if (base::Status done = request<ChannelCloseOk>(ChannelClose{200, "Goodbye", 0, 0}); !done) {
        return done;
    }
    open_ = false;
    return {};
}

base::Status AmqpChannel::selectConfirms() {
    if (base::Status done = request<ConfirmSelectOk>(ConfirmSelect{false}); !done) {
        return done;
    }
    confirming_ = true;
    return {};
}

base::Result<std::uint64_t> AmqpChannel::publish(const Message& message) {
    if (base::Status ready = usable(); !ready) {
        return ready.error();
    }
    if (message.exchange.size() > kShortStrMax || message.routingKey.size() > kShortStrMax) {
        return base::Error{base::ErrorCode::invalid,
                           "an exchange or routing key is longer than 255 bytes"};
    }
    if (message.properties.size() + kContentHeaderHead + kFrameOverhead > client_.frameMax()) {
        return base::Error{base::ErrorCode::invalid, "the message's properties do not fit a frame"};
    }
    const BasicPublish method{0, message.exchange, message.routingKey, message.mandatory, false};
    StringSink sink = client_.sink();
    writeContent(sink, number_, method, message.properties, message.body, message.body.size(),
                 client_.frameMax());
    const std::uint64_t sequence = confirming_ ? confirms_.published() : 0;
    if (base::Status room = client_.makeRoom(); !room) {
        return room.error();
    }
    return sequence;
}

base::Status AmqpChannel::awaitConfirms(std::uint64_t most) {
    while (confirms_.outstanding() > most) {
        // Any answer is progress: a slow disk behind a large window is not a dead broker.
        const std::uint64_t before = confirms_.outstanding();
        if (base::Status done =
                client_.await([&] { return closed_ || confirms_.outstanding() < before; },
                              "no confirm from the broker");
            !done) {
            return done;
        }
        if (closed_) {
            return usable();
        }
    }
    return {};
}

std::vector<Returned> AmqpChannel::takeReturns() {
    return std::exchange(returns_, {});
}

std::vector<std::string> AmqpChannel::takeCancelled() {
    return std::exchange(cancelled_, {});
}

base::Status AmqpChannel::qos(std::uint16_t prefetch, bool global) {
    return request<BasicQosOk>(BasicQos{0, prefetch, global});
}

base::Result<std::string> AmqpChannel::consume(std::string_view queue,
                                               const ConsumeOptions& options) {
    const BasicConsume method{
        0, queue, options.tag, false, options.noAck, options.exclusive, false, options.arguments};
    if (base::Status done = request<BasicConsumeOk>(method); !done) {
        return done.error();
    }
    const auto reply = reply_.as<BasicConsumeOk>();
    return reply ? base::Result<std::string>(std::string(reply->consumerTag.view()))
                 : base::Error{base::ErrorCode::invalid, "the broker's reply cannot be decoded"};
}

base::Result<std::optional<Delivery>> AmqpChannel::next(std::chrono::milliseconds longest) {
    if (deliveries_.empty()) {
        if (base::Status ready = usable(); !ready) {
            return ready.error();
        }
        const auto came = client_.awaitUntil([this] { return !deliveries_.empty() || closed_; },
                                             Clock::now() + longest);
        if (!came) {
            return came.error();
        }
    }
    if (deliveries_.empty()) {
        if (closed_) {
            return errorOf(*closed_);
        }
        return std::optional<Delivery>();
    }
    std::optional<Delivery> first(std::move(deliveries_.front()));
    deliveries_.pop_front();
    return first;
}

base::Result<std::optional<Delivery>> AmqpChannel::get(std::string_view queue, bool noAck) {
    got_.reset();
    if (base::Status done = request<BasicGetOk, BasicGetEmpty>(BasicGet{0, queue, noAck}); !done) {
        return done.error();
    }
    if (reply_.as<BasicGetEmpty>()) {
        return std::optional<Delivery>();
    }
    if (base::Status whole = client_.await([this] { return got_ || closed_; },
                                           "the rest of a message does not come");
        !whole) {
        return whole.error();
    }
    if (!got_) {
        return errorOf(*closed_);
    }
    return std::exchange(got_, std::nullopt);
}

base::Status AmqpChannel::ack(std::uint64_t tag, bool multiple) {
    return tell(BasicAck{tag, multiple});
}

base::Status AmqpChannel::nack(std::uint64_t tag, bool multiple, bool requeue) {
    return tell(BasicNack{tag, multiple, requeue});
}

base::Status AmqpChannel::reject(std::uint64_t tag, bool requeue) {
    return tell(BasicReject{tag, requeue});
}

base::Status AmqpChannel::recover() {
    return request<BasicRecoverOk>(BasicRecover{true});
}

base::Status AmqpChannel::cancel(std::string_view tag) {
    return request<BasicCancelOk>(BasicCancel{tag, false});
}

base::Status AmqpChannel::txSelect() {
    return request<TxSelectOk>(TxSelect{});
}

base::Status AmqpChannel::txCommit() {
    return request<TxCommitOk>(TxCommit{});
}

base::Status AmqpChannel::txRollback() {
    return request<TxRollbackOk>(TxRollback{});
}

} // namespace millrace::client
