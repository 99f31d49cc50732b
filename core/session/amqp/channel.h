// SPDX-License-Identifier: Apache-2.0
// One channel: methods in, commands to the engine, effects out as frames.
//
// Ordered: replies in the order of commands; a message's frames are never parted by another frame
// of its channel (what comes in between is held until the message is whole). Every refusal goes to
// Link::refuse(), once a frame; the connection answers it with the close that its code asks for.
// Lives on: the engine's loop.
#pragma once

#include "engine/channel.h"
#include "session/amqp/content_writer.h"
#include "session/amqp/link.h"
#include "session/amqp/publish_assembler.h"

#include <cstdint>
#include <memory>
#include <string>

namespace millrace::session::amqp {

class Channel final : public engine::Client {
  public:
    Channel(Link& link, std::uint16_t number);
    ~Channel() override;
    Channel(const Channel&) = delete;
    Channel& operator=(const Channel&) = delete;

    std::uint16_t number() const { return number_; }
    // False: a close was sent or received, everything but the rest of its handshake is ignored.
    bool isOpen() const { return state_ == State::open; }
    // The close handshake is done: the channel's number is free.
    bool isOver() const { return state_ == State::over; }
    bool expectsBody() const {
        return content_ && content_->expecting() == PublishAssembler::Expecting::body;
    }
    bool hasUnacked() const { return engine_ && engine_->hasUnacked(); }

    // --- input, by the connection
    void method(Bytes payload);
    void contentHeader(Bytes payload);
    // The head of a body frame has come; then its payload in parts, then its end.
    void bodyFrame(std::size_t size);
    void bodyPart(Bytes part);
    void bodyFrameEnd();

    // Sends channel.close; from now on nothing counts but the close handshake.
    void close(const Fault& fault);
    // The reply that waited for the disk goes out, then what had to follow it.
    void sendReply(std::string_view frame);
    // A close that waited for a half sent message to be whole takes place.
    void endIfDue();
    void outboxDrained();
    // A direct reply: no queue, no ack. False: it cannot be taken, for good.
    bool reply(const engine::MessageView& message);

    // --- methods (channel_topology.cpp, channel_publish.cpp, channel_consume.cpp)
    void on(const wire::amqp::ChannelOpen& method);
    void on(const wire::amqp::ChannelClose& method);
    void on(const wire::amqp::ChannelCloseOk& method);
    void on(const wire::amqp::ChannelFlow& method);
    void on(const wire::amqp::ChannelFlowOk&) {}
    void on(const wire::amqp::AccessRequest& method);
    void on(const wire::amqp::ExchangeDeclare& method);
    void on(const wire::amqp::ExchangeDelete& method);
    void on(const wire::amqp::ExchangeBind& method);
    void on(const wire::amqp::ExchangeUnbind& method);
    void on(const wire::amqp::QueueDeclare& method);
    void on(const wire::amqp::QueueBind& method);
    void on(const wire::amqp::QueueUnbind& method);
    void on(const wire::amqp::QueuePurge& method);
    void on(const wire::amqp::QueueDelete& method);
    void on(const wire::amqp::BasicPublish& method);
    void on(const wire::amqp::ConfirmSelect& method);
    void on(const wire::amqp::TxSelect& method);
    void on(const wire::amqp::TxCommit& method);
    void on(const wire::amqp::TxRollback& method);
    void on(const wire::amqp::BasicQos& method);
    void on(const wire::amqp::BasicConsume& method);
    void on(const wire::amqp::BasicCancel& method);
    void on(const wire::amqp::BasicCancelOk& method);
    void on(const wire::amqp::BasicGet& method);
    void on(const wire::amqp::BasicAck& method);
    void on(const wire::amqp::BasicNack& method);
    void on(const wire::amqp::BasicReject& method);
    void on(const wire::amqp::BasicRecover& method);
    void on(const wire::amqp::BasicRecoverAsync& method);
    // A method of the connection on a channel.
    template <typename Method> void on(const Method&) {
        link_.refuse({base::ReplyCode::commandInvalid, "unimplemented method"});
    }

    // --- effects, by the engine
    engine::Appetite deliver(const engine::Delivery& delivery) override;
    engine::Appetite piece(Bytes bytes, bool last) override;
    void confirmed(std::uint64_t from, std::uint64_t to, bool accepted) override;
    void returned(const engine::Returned& returned) override;
    void cancelled(std::string_view consumerTag) override;
    void resumed(std::uint64_t ticket, const base::Refusal* refused) override;

  private:
    enum class State : std::uint8_t { open, closing, over };
    struct ReplyConsumer {
        std::string tag;  // the client's
        std::string name; // in DirectReplies
        std::uint64_t lastDelivery = 0;
    };
    // Sends now, or behind the message that is half sent.
    template <typename Method> void send(const Method& method) {
        if (contentOpen_) {
            hold(method);
        } else {
            link_.send(number_, method);
        }
    }
    template <typename Method> void hold(const Method& method) {
        const std::size_t before = held_.size();
        wire::amqp::StringSink held(held_);
        wire::amqp::writeMethod(held, number_, method);
        link_.heldBytes += held_.size() - before;
    }
    // Sends when `index` is durable; until then the connection takes no input.
    template <typename Method> void sendWhen(base::LogIndex index, const Method& method) {
        if (!mustWait(index)) {
            send(method);
            return;
        }
        wire::amqp::StringSink reply(link_.waiting.reply);
        wire::amqp::writeMethod(reply, number_, method);
    }
    // The reply to a command of the topology.
    template <typename Value, typename Method>
    void answer(engine::Answer<Value> outcome, bool noWait, const Method& method) {
        if (!outcome) {
            link_.refuse(outcome.refusal());
        } else if (!noWait) {
            sendWhen(outcome->visibleAt, method);
        }
    }
    bool mustWait(base::LogIndex index);
    void releaseHeld();
    void leave();
    engine::Appetite appetite();
    bool answersGet() const {
        return link_.waiting.what == Waiting::For::message && link_.waiting.channel == number_;
    }
    ContentTarget target() const { return {link_.outbox, number_, link_.frameMax}; }

    // True: `name` is the queue meant, with the last declared one for an empty name.
    bool meansQueue(std::string_view& name);
    bool publishWhole(const wire::amqp::BasicPublish& method);
    void finishContent();
    void publish(const engine::Channel::Publish& message, std::optional<std::string_view> replyTo);
    void publishRequest(const engine::Channel::Publish& message);
    void publishReply(const engine::Channel::Publish& message);
    void consumeReplies(const wire::amqp::BasicConsume& method);
    void stopReplies();
    void declareReplyQueue(const wire::amqp::QueueDeclare& method);
    void returnMessage(const engine::Channel::Publish& message);
    void settle(std::uint64_t tag, bool multiple, engine::Settlement how);

    Link& link_;
    std::unique_ptr<engine::Channel> engine_;
    std::unique_ptr<PublishAssembler> content_; // a message that comes in parts
    std::unique_ptr<ReplyConsumer> replies_;
    std::string lastQueue_; // declared last: what an empty queue name means
    std::string held_;      // frames behind the message that is half sent, or behind a held reply
    std::uint16_t number_;
    State state_ = State::open;
    bool leaving_ = false;     // the engine's channel ends as soon as no message is half sent
    bool closeOkSent_ = false; // ... and the number is free then
    bool contentOpen_ = false; // a message is half sent: pieces are still to come
    bool cancelsHeld_ = false; // until the reply to queue.delete is out
};

} // namespace millrace::session::amqp
