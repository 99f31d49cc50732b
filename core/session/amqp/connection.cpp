// SPDX-License-Identifier: Apache-2.0
// Input: what becomes of bytes, frame by frame. The methods of channel 0 and the ends are in
// connection_methods.cpp.
#include "session/amqp/connection.h"

#include "session/amqp/fault_text.h"

#include <algorithm>
#include <string>

namespace millrace::session::amqp {

namespace wire = wire::amqp;
using base::ReplyCode;
using wire::FrameStatus;
namespace frame_type = wire::frame_type;

Connection::Connection(const Environment& environment, PeerInfo peer,
                       std::function<void()> attention)
    : link_(environment, std::move(peer), std::move(attention)), handshake_(link_),
      deadline_(environment.clock.now() + environment.options.handshakeTimeout) {}

Connection::~Connection() {
    leave();
}

bool Connection::wantsInput() const {
    const bool waits = link_.waiting.what != Waiting::For::nothing && !link_.waiting.over;
    return state_ != State::finished && !waits && !held_ && link_.hasRoomForReplies();
}

std::size_t Connection::feed(Bytes input) {
    received_ += input.size() > leftover_ ? 1 : 0;
    finishWaiting();
    if (held_ && hasUnacked()) {
        held_ = false; // there are acks to be heard now: judge again
    }
    takeParked();
    std::size_t taken = 0;
    while (taken < input.size() && wantsInput()) {
        const std::size_t step = take(input.subspan(taken));
        if (step == 0) {
            break;
        }
        taken += step;
        finishWaiting();
        if (!parked_.empty()) [[unlikely]] {
            takeParked();
        }
    }
    leftover_ = input.size() - taken;
    choked_ = !link_.hasRoomForReplies();
    return taken;
}

std::size_t Connection::take(Bytes input) {
    if (state_ == State::deaf || state_ == State::finished) {
        return input.size();
    }
    if (handshake_.state() == Handshake::State::header) {
        return takeOpening(input);
    }
    if (body_.active) {
        return takeBodyRest(input);
    }
    wire::Frame frame;
    switch (link_.frames.next(input, frame)) {
    case FrameStatus::needMore:
        return input.size() < wire::kFrameHead ? 0 : takeBodyStart(input, frame);
    case FrameStatus::tooLarge:
        fatal(frameError(frame.type, {},
                         "{frame_too_large," + std::to_string(frame.payloadSize) + "," +
                             std::to_string(link_.frameMax - wire::kFrameOverhead) + "}"));
        return input.size();
    case FrameStatus::badEnd:
        fatal(frameError(frame.type, frame.payload,
                         "{invalid_frame_end_marker," + std::to_string(frame.endByte) + "}"));
        return input.size();
    case FrameStatus::unknownType:
        link_.cause = kNoMethod;
        if (state_ == State::talking) {
            link_.refuse(frameError(frame.type, frame.payload, "unknown_frame"));
            answerFault(nullptr);
        }
        return frame.totalSize;
    case FrameStatus::complete:
        break;
    }
    bool parked = false;
    if (!link_.environment.gate.open && isHeld(frame, input.first(frame.totalSize), parked))
        [[unlikely]] {
        return parked ? frame.totalSize : 0;
    }
    link_.ahead = input.subspan(frame.totalSize);
    link_.aheadTaken = 0;
    handle(frame);
    return frame.totalSize + link_.aheadTaken;
}

std::size_t Connection::takeOpening(Bytes input) {
    switch (wire::judgeOpening(input)) {
    case wire::Opening::needMore:
        return 0;
    case wire::Opening::other:
        link_.outbox.append(base::bytesOf(wire::kProtocolHeader));
        finish();
        return input.size();
    case wire::Opening::amqp091:
        break;
    }
    handshake_.begin();
    return wire::kProtocolHeader.size();
}

// --- body frames that have not come whole

std::size_t Connection::takeBodyStart(Bytes input, const wire::Frame& frame) {
    Channel* channel =
        frame.type == frame_type::kBody && state_ == State::talking ? find(frame.channel) : nullptr;
    if (!channel || !channel->isOpen() || !channel->expectsBody()) {
        return 0; // small enough to be waited for, and then treated like any frame
    }
    link_.cause = wire::BasicPublish::id;
    channel->bodyFrame(frame.payloadSize);
    if (link_.fault) {
        answerFault(channel);
        return 0; // its rest is waited for and ignored
    }
    body_ = {};
    body_.active = true;
    body_.channel = frame.channel;
    body_.left = frame.payloadSize;
    return wire::kFrameHead + takeBodyRest(input.subspan(wire::kFrameHead));
}

std::size_t Connection::takeBodyRest(Bytes input) {
    link_.cause = wire::BasicPublish::id;
    Channel* channel = find(body_.channel);
    const Bytes part = input.first(std::min(input.size(), body_.left));
    const std::size_t shown = std::min(part.size(), body_.shown.size() - body_.shownSize);
    std::copy_n(part.begin(), shown, body_.shown.begin() + body_.shownSize);
    body_.shownSize = static_cast<std::uint8_t>(body_.shownSize + shown);
    body_.left -= part.size();
    if (channel && channel->isOpen() && !part.empty()) {
        channel->bodyPart(part);
        afterFrame(channel);
        channel = find(body_.channel); // the connection may have ended
    }
    if (body_.left > 0 || part.size() == input.size()) {
        return part.size();
    }
    body_.active = false;
    if (const Byte end = input[part.size()]; end != wire::kFrameEnd) {
        fatal(frameError(frame_type::kBody, {body_.shown.data(), body_.shownSize},
                         "{invalid_frame_end_marker," + std::to_string(end) + "}"));
        return input.size();
    }
    if (channel && channel->isOpen()) {
        channel->bodyFrameEnd();
        afterFrame(channel);
    }
    return part.size() + 1;
}

// --- waiting

void Connection::finishWaiting() {
    if (link_.endsDue) {
        link_.endsDue = false;
        for (auto& [number, channel] : channels_) {
            channel->endIfDue();
        }
        std::erase_if(channels_, [](const auto& entry) { return entry.second->isOver(); });
        recent_ = nullptr;
    }
    for (const Link::Failure& failure : std::exchange(link_.failures, {})) {
        Channel* const failed = find(failure.channel);
        if (failed && failed->isOpen() && state_ == State::talking) {
            link_.cause = kNoMethod;
            link_.refuse(failure.refusal);
            answerFault(failed);
        }
    }
    if (!link_.waiting.over) {
        return;
    }
    const Waiting done = std::exchange(link_.waiting, {});
    Channel* channel = find(done.channel);
    if (!channel || done.what != Waiting::For::disk) {
        return;
    }
    if (done.refused) {
        link_.cause = done.cause;
        link_.refuse(*done.refused);
        answerFault(channel);
        return;
    }
    channel->sendReply(done.reply);
}

// True: the frame is not to be handled now.
bool Connection::isHeld(const wire::Frame& frame, Bytes whole, bool& parked) {
    if (!isOpen()) {
        return false;
    }
    const bool publishes = frame.type == frame_type::kMethod &&
                           wire::methodIdOf(frame.payload) == wire::BasicPublish::id;
    const ParkedInput::Fate fate = parked_.judge(frame, whole, publishes && hasUnacked());
    if (fate == ParkedInput::Fate::takeNow) {
        return false;
    }
    parked = fate == ParkedInput::Fate::parked;
    held_ = !parked;
    link_.published = true;
    tellBlocked();
    return true;
}

// Not into the middle of another channel's body frame: that one is read to its end first.
void Connection::takeParked() {
    if (parked_.empty() || !link_.environment.gate.open || body_.active) {
        return;
    }
    const std::string bytes = parked_.takeOut();
    Bytes rest = base::bytesOf(bytes);
    while (!rest.empty() && wantsInput()) {
        const std::size_t step = take(rest);
        if (step == 0) {
            break;
        }
        rest = rest.subspan(step);
        finishWaiting();
    }
    parked_.putBack(state_ == State::talking ? rest : Bytes{});
}

void Connection::gateChanged() {
    const PublishGate& gate = link_.environment.gate;
    if (link_.toldBlocked && (gate.open || gate.reason.empty())) {
        link_.toldBlocked = false;
        if (isOpen()) {
            link_.send(0, wire::ConnectionUnblocked{});
        }
    }
    if (gate.open) {
        held_ = false;
    } else if (link_.published) {
        tellBlocked();
    }
    link_.attention();
}

void Connection::tellBlocked() {
    const PublishGate& gate = link_.environment.gate;
    if (!isOpen() || gate.reason.empty() || !link_.hearsBlocked || link_.toldBlocked) {
        return;
    }
    link_.toldBlocked = true;
    link_.send(0, wire::ConnectionBlocked{gate.reason});
}

bool Connection::hasUnacked() const {
    return std::any_of(channels_.begin(), channels_.end(),
                       [](const auto& entry) { return entry.second->hasUnacked(); });
}

// --- frames

Channel* Connection::find(std::uint16_t number) {
    if (recent_ && recent_->number() == number) [[likely]] {
        return recent_;
    }
    const auto found = channels_.find(number);
    if (found == channels_.end()) {
        return nullptr;
    }
    recent_ = found->second.get();
    return recent_;
}

void Connection::handle(const wire::Frame& frame) {
    if (state_ == State::closing) {
        handleWhileClosing(frame);
        return;
    }
    if (frame.channel == 0) {
        handleOnZero(frame);
        return;
    }
    Channel* channel = nullptr;
    if (!handshake_.isRunning() || frame.type == frame_type::kHeartbeat) {
        link_.cause = kNoMethod;
        link_.refuse(unexpectedFrame(frame.type, frame.payload));
    } else if (channel = find(frame.channel); channel) [[likely]] {
        toChannel(*channel, frame);
    } else {
        handleUnopened(frame);
    }
    afterFrame(channel);
}

void Connection::toChannel(Channel& channel, const wire::Frame& frame) {
    if (frame.type == frame_type::kMethod) {
        link_.cause = wire::methodIdOf(frame.payload);
        channel.method(frame.payload);
        return;
    }
    if (!channel.isOpen()) {
        return;
    }
    link_.cause = wire::BasicPublish::id;
    if (frame.type == frame_type::kHeader) {
        channel.contentHeader(frame.payload);
        return;
    }
    channel.bodyFrame(frame.payload.size());
    if (!link_.fault) {
        channel.bodyPart(frame.payload);
    }
    if (!link_.fault) {
        channel.bodyFrameEnd();
    }
}

void Connection::afterFrame(Channel* channel) {
    if (link_.fault) [[unlikely]] {
        answerFault(channel);
    }
    if (channel && state_ == State::talking && channel->isOver()) {
        recent_ = nullptr;
        channels_.erase(channel->number());
    }
}

} // namespace millrace::session::amqp
