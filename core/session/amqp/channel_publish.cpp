// SPDX-License-Identifier: Apache-2.0
// Publishing: a message that lies whole in the input is handed on where it lies; any other is put
// together first. And what makes publishing safe: confirms and transactions.
#include "session/amqp/channel.h"
#include "session/amqp/direct_replies.h"

#include <array>
#include <utility>

namespace millrace::session::amqp {

namespace wire = wire::amqp;
using base::Refusal;
using base::ReplyCode;

namespace {

constexpr std::size_t kWholePieces = 16; // body frames of a message that is not put together: more
                                         // than one read holds, but for tiny ones

// As a view for its way to a client; pieces are joined in `joined`.
engine::MessageView viewOf(const engine::Channel::Publish& message, std::string& joined) {
    engine::MessageView view;
    view.exchange = message.exchange;
    view.routingKey = message.routingKey;
    view.properties = message.properties;
    if (message.body.size() == 1) {
        view.body = message.body.front();
    } else {
        for (const Bytes piece : message.body) {
            joined.append(base::textOf(piece));
        }
        view.body = base::bytesOf(joined);
    }
    view.bodySize = view.body.size();
    return view;
}

} // namespace

// --- frames

void Channel::on(const wire::BasicPublish& method) {
    if (method.immediate) {
        link_.refuse({ReplyCode::notImplemented, "immediate=true"});
        return;
    }
    link_.published = true;
    if (publishWhole(method)) {
        return;
    }
    content_ = std::make_unique<PublishAssembler>(*engine_, link_.environment.bodies,
                                                  link_.environment.options.maxMessageSize);
    content_->begin(method.exchange, method.routingKey, method.mandatory);
}

// True: header and body lay behind the method and have been taken. Whatever is unusual is left to
// the assembler, errors too.
bool Channel::publishWhole(const wire::BasicPublish& method) {
    Bytes rest = link_.ahead;
    wire::Frame frame;
    const auto next = [&](std::uint8_t type) {
        return link_.frames.next(rest, frame) == wire::FrameStatus::complete &&
               frame.type == type && frame.channel == number_;
    };
    wire::ContentHeader header;
    if (!next(wire::frame_type::kHeader) || !header.parse(frame.payload) ||
        header.classId != wire::kBasicClass ||
        header.bodySize > std::min<std::uint64_t>(limits::kWholeBodyBytes,
                                                  link_.environment.options.maxMessageSize)) {
        return false;
    }
    rest = rest.subspan(frame.totalSize);
    std::array<Bytes, kWholePieces> pieces;
    std::size_t count = 0;
    for (std::uint64_t missing = header.bodySize; missing > 0; missing -= frame.payload.size()) {
        if (count == pieces.size() || !next(wire::frame_type::kBody) ||
            frame.payload.size() > missing) {
            return false;
        }
        pieces[count++] = frame.payload;
        rest = rest.subspan(frame.totalSize);
    }
    link_.aheadTaken += link_.ahead.size() - rest.size();
    publish({method.exchange,
             method.routingKey,
             header.properties.raw(),
             {pieces.data(), count},
             header.bodySize,
             method.mandatory,
             false},
            header.properties.replyTo());
    return true;
}

void Channel::contentHeader(Bytes payload) {
    if (!content_) {
        link_.cause = kNoMethod;
        link_.refuse(
            {ReplyCode::unexpectedFrame, "expected method frame, got non method frame instead"});
        return;
    }
    if (content_->expecting() != PublishAssembler::Expecting::header) {
        link_.refuse({ReplyCode::unexpectedFrame,
                      "expected content body, got non content body frame instead"});
        return;
    }
    if (auto refusal = content_->header(payload)) {
        link_.refuse(std::move(*refusal));
        return;
    }
    finishContent();
}

void Channel::bodyFrame(std::size_t size) {
    if (content_ && content_->expecting() == PublishAssembler::Expecting::header) {
        link_.refuse(
            {ReplyCode::unexpectedFrame,
             "expected content header for class 60, got non content header frame instead"});
    } else if (!content_ || size > content_->remaining()) {
        link_.cause = content_ ? link_.cause : kNoMethod;
        link_.refuse(
            {ReplyCode::unexpectedFrame, "expected method frame, got non method frame instead"});
    }
}

void Channel::bodyPart(Bytes part) {
    if (auto refusal = content_->body(part)) {
        link_.refuse(std::move(*refusal));
    }
}

void Channel::bodyFrameEnd() {
    finishContent();
}

void Channel::finishContent() {
    if (content_->expecting() != PublishAssembler::Expecting::nothing) {
        return;
    }
    const std::unique_ptr<PublishAssembler> content = std::move(content_);
    wire::Properties properties;
    MILLRACE_CHECK(properties.parse(content->properties()));
    engine::Channel::Publish message;
    message.exchange = content->exchange();
    message.routingKey = content->routingKey();
    message.properties = content->properties();
    message.bodySize = content->size();
    message.mandatory = content->mandatory();
    // It was kept for its return; if it has found a queue meanwhile, it takes the way of others.
    const bool kept = content->mustBeCut() && !isReply(message.exchange, message.routingKey);
    if (kept && engine_->isRoutable(message)) {
        if (auto refusal = content->cut()) {
            link_.refuse(std::move(*refusal));
            return;
        }
    }
    const Bytes body = content->collected();
    message.body = {&body, body.empty() ? 0U : 1U};
    message.largeBody = content->isLarge();
    content->handedOver();
    publish(message, properties.replyTo());
}

// --- messages

void Channel::publish(const engine::Channel::Publish& message,
                      std::optional<std::string_view> replyTo) {
    if (replyTo && *replyTo == kReplyQueue) [[unlikely]] {
        publishRequest(message);
        return;
    }
    if (isReply(message.exchange, message.routingKey)) [[unlikely]] {
        publishReply(message);
        return;
    }
    auto routed = engine_->publish(message);
    if (!routed) {
        link_.refuse(routed.refusal());
    } else if (*routed == engine::Channel::Routed::unroutable && message.mandatory &&
               !engine_->transactional()) { // a transaction returns it at its commit
        returnMessage(message);
    }
}

// A request names the pseudo queue; its receiver must see where the reply is to go.
void Channel::publishRequest(const engine::Channel::Publish& message) {
    if (!replies_) {
        link_.refuse({ReplyCode::preconditionFailed, "fast reply consumer does not exist"});
        return;
    }
    const std::string properties = wire::withReplyTo(message.properties, replies_->name);
    engine::Channel::Publish named = message;
    named.properties = base::bytesOf(properties);
    publish(named, std::nullopt);
}

// No queue has this name, so the engine checks, numbers and confirms the message, and does nothing
// else with it.
void Channel::publishReply(const engine::Channel::Publish& message) {
    engine::Channel::Publish numbered = message;
    numbered.mandatory = false;
    const auto routed = engine_->publish(numbered);
    if (!routed) {
        link_.refuse(routed.refusal());
        return;
    }
    std::string joined;
    Channel* waiting = link_.environment.replies.find(message.routingKey);
    const bool taken = waiting && waiting->reply(viewOf(message, joined));
    if (!taken && message.mandatory) {
        returnMessage(message);
    }
}

// A body that went to the log in pieces (no memory was left to keep it) comes back empty.
void Channel::returnMessage(const engine::Channel::Publish& message) {
    std::string joined;
    engine::Returned unroutable;
    unroutable.message = viewOf(message, joined);
    returned(unroutable);
}

// --- confirms and transactions

void Channel::on(const wire::ConfirmSelect& method) {
    if (engine_->transactional()) {
        link_.refuse({ReplyCode::preconditionFailed, "cannot switch from tx to confirm mode"});
        return;
    }
    engine_->selectConfirms();
    if (!method.noWait) {
        send(wire::ConfirmSelectOk{});
    }
}

void Channel::on(const wire::TxSelect&) {
    if (const auto selected = engine_->txSelect(); !selected) {
        link_.refuse(selected.refusal());
        return;
    }
    send(wire::TxSelectOk{});
}

void Channel::on(const wire::TxCommit&) {
    answer(engine_->txCommit(), false, wire::TxCommitOk{});
}

void Channel::on(const wire::TxRollback&) {
    if (const auto rolledBack = engine_->txRollback(); !rolledBack) {
        link_.refuse(rolledBack.refusal());
        return;
    }
    send(wire::TxRollbackOk{});
}

} // namespace millrace::session::amqp
