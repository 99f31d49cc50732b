// SPDX-License-Identifier: Apache-2.0
// The methods of channel 0, channels that open, and the ways a connection ends.
#include "session/amqp/connection.h"

#include "base/diagnostics.h"
#include "session/amqp/fault_text.h"

#include <string>

namespace millrace::session::amqp {

namespace wire = wire::amqp;
using base::ReplyCode;
namespace frame_type = wire::frame_type;

struct Connection::ChannelZero {
    Connection& connection;

    void on(const wire::ConnectionStartOk& method) { step(method, Handshake::State::starting); }
    void on(const wire::ConnectionTuneOk& method) {
        step(method, Handshake::State::tuning);
        if (connection.handshake_.state() == Handshake::State::opening) {
            connection.heartbeat_.start(connection.handshake_.heartbeat(), connection.now());
        }
    }
    void on(const wire::ConnectionOpen& method) {
        step(method, Handshake::State::opening);
        if (connection.handshake_.isRunning() && !connection.link_.fault) {
            connection.deadline_ = {};
        }
    }
    void on(const wire::ConnectionClose&) {
        connection.leave();
        connection.link_.send(0, wire::ConnectionCloseOk{});
        connection.peerLeaves_ = true;
        connection.finish();
    }
    void on(const wire::ConnectionUpdateSecret& method) {
        if (connection.handshake_.isRunning()) {
            connection.link_.send(0, wire::ConnectionUpdateSecretOk{}); // passwords do not expire
        } else {
            unexpected(method);
        }
    }
    template <typename Method> void on(const Method& method) { unexpected(method); }

    template <typename Method> void step(const Method& method, Handshake::State due) {
        if (connection.handshake_.state() == due) {
            connection.handshake_.on(method);
        } else {
            unexpected(method);
        }
    }
    template <typename Method> void unexpected(const Method&) {
        connection.link_.refuse(
            {ReplyCode::channelError, "unexpected method in connection state " +
                                          std::string(connection.handshake_.stateName())});
    }
};

struct Connection::Unopened {
    Connection& connection;
    std::uint16_t number;

    void on(const wire::ChannelOpen&) { connection.openChannel(number); }
    template <typename Method> void on(const Method&) {
        connection.link_.refuse({ReplyCode::channelError, "expected 'channel.open'"});
    }
};

void Connection::handleOnZero(const wire::Frame& frame) {
    if (frame.type == frame_type::kHeartbeat) {
        return;
    }
    if (frame.type == frame_type::kMethod) {
        link_.cause = wire::methodIdOf(frame.payload);
        if (auto fault = methodFault(
                wire::ServerMethods::dispatch(frame.payload, ChannelZero{*this}), frame.payload)) {
            link_.refuse(std::move(*fault));
        }
    } else {
        link_.cause = kNoMethod;
        link_.refuse(unexpectedFrame(frame.type, frame.payload));
    }
    afterFrame(nullptr);
}

void Connection::handleWhileClosing(const wire::Frame& frame) {
    if (frame.channel != 0 || frame.type != frame_type::kMethod) {
        return;
    }
    const wire::MethodId method = wire::methodIdOf(frame.payload);
    if (method == wire::ConnectionClose::id) { // the closes have crossed
        link_.send(0, wire::ConnectionCloseOk{});
    } else if (method == wire::ConnectionCloseOk::id) {
        finish();
    }
}

void Connection::handleUnopened(const wire::Frame& frame) {
    if (frame.type != frame_type::kMethod) {
        link_.cause = kNoMethod;
        link_.refuse(
            {ReplyCode::unexpectedFrame, "expected method frame, got non method frame instead"});
        return;
    }
    link_.cause = wire::methodIdOf(frame.payload);
    if (auto fault = methodFault(
            wire::ServerMethods::dispatch(frame.payload, Unopened{*this, frame.channel}),
            frame.payload)) {
        link_.refuse(std::move(*fault));
    }
}

void Connection::openChannel(std::uint16_t number) {
    // How many, not which numbers, is what was agreed.
    if (link_.channelMax != 0 && channels_.size() >= link_.channelMax) {
        link_.cause = kNoMethod;
        link_.refuse({ReplyCode::notAllowed, "number of channels opened (" +
                                                 std::to_string(channels_.size()) +
                                                 ") has reached the negotiated channel_max (" +
                                                 std::to_string(link_.channelMax) + ")"});
        return;
    }
    channels_.emplace(number, std::make_unique<Channel>(link_, number));
    link_.send(number, wire::ChannelOpenOk{});
}

// --- faults

void Connection::answerFault(Channel* channel) {
    const Fault fault = std::move(*link_.fault);
    link_.fault.reset();
    const std::string text = replyText(fault.refusal);
    base::diagnose(base::Severity::warning,
                   "peer " + link_.peer.address + ":" + std::to_string(link_.peer.port) +
                       " user '" + link_.user + "'" +
                       (channel ? " channel " + std::to_string(channel->number()) : "") + ": " +
                       text);
    if (handshake_.state() == Handshake::State::starting) {
        // Who has not logged in is told nothing, unless it wants to know why its login failed.
        if (fault.refusal.code == ReplyCode::accessRefused && link_.hearsRefusedLogin) {
            close(fault);
        } else {
            fallSilent();
        }
        return;
    }
    if (channel && !base::closesConnection(fault.refusal.code)) {
        channel->close(fault);
        return;
    }
    close(fault);
}

// The borders of frames are lost: nothing behind can be understood.
void Connection::fatal(const base::Refusal& refusal) {
    if (state_ == State::talking) {
        link_.cause = kNoMethod;
        link_.refuse(refusal);
        answerFault(nullptr);
    }
    state_ = State::deaf;
    deadline_ = now() + limits::kSilentCloseDelay;
}

void Connection::close(const Fault& fault) {
    leave();
    const std::string text = replyText(fault.refusal);
    link_.send(0, wire::ConnectionClose{static_cast<std::uint16_t>(fault.refusal.code), text,
                                        fault.cause.classId, fault.cause.methodId});
    state_ = State::closing;
    deadline_ = now() + limits::kCloseTimeout;
}

// Consumers end, what is unacked goes back, exclusive queues go: at once, not when the peer has
// answered.
void Connection::leave() {
    recent_ = nullptr;
    channels_.clear();
    link_.waiting = {};
    link_.starving = false;
    link_.engine.reset();
    parked_.clear();
    held_ = false;
}

void Connection::fallSilent() {
    leave();
    state_ = State::deaf;
    deadline_ = now() + limits::kSilentCloseDelay;
}

void Connection::finish() {
    state_ = State::finished;
    deadline_ = now() + limits::kCloseTimeout; // for the flush
}

void Connection::forceClose(const base::Refusal& why) {
    if (state_ != State::talking) {
        return;
    }
    if (!handshake_.isRunning()) {
        leave();
        finish();
        return;
    }
    close({why, kNoMethod});
}

// --- time

void Connection::outboxDrained() {
    link_.behind = !link_.outbox.empty();
    if (!link_.behind) {
        link_.emptyAt = link_.outbox.appended();
        link_.delivered = 0;
    }
    if (choked_ && wantsInput()) {
        choked_ = false;
        link_.attention();
    }
    if (link_.starving && link_.outbox.size() <= link_.bound(limits::kOutboxBytes) / 2) {
        link_.starving = false;
        link_.engine->setFull(false);
        for (auto& [number, channel] : channels_) {
            channel->outboxDrained();
        }
    }
}

void Connection::tick() {
    const std::chrono::nanoseconds time = now();
    if (deadline_.count() != 0 && time >= deadline_) {
        leave();
        state_ = State::finished;
        dropped_ = true;
        return;
    }
    if (state_ != State::talking) {
        return;
    }
    switch (heartbeat_.tick(time, link_.outbox.appended(), received_, wantsInput())) {
    case Heartbeat::Due::nothing:
        break;
    case Heartbeat::Due::send:
        wire::writeHeartbeat(link_.outbox);
        break;
    case Heartbeat::Due::drop:
        base::diagnose(base::Severity::warning,
                       "peer " + link_.peer.address + ":" + std::to_string(link_.peer.port) +
                           " user '" + link_.user +
                           "': nothing heard for two heartbeat intervals, closing");
        leave();
        state_ = State::finished;
        dropped_ = true;
        break;
    }
}

} // namespace millrace::session::amqp
