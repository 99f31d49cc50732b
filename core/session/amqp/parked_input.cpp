// SPDX-License-Identifier: Apache-2.0
// Raw frames, worked off later by the same code as any input.
#include "session/amqp/parked_input.h"

#include "base/limits.h"
#include "wire/amqp/methods.h"

#include <algorithm>
#include <utility>

namespace millrace::session::amqp {

namespace wire = wire::amqp;

bool ParkedInput::concerns(std::uint16_t channel) const {
    return std::find(channels_.begin(), channels_.end(), channel) != channels_.end();
}

ParkedInput::Fate ParkedInput::park(const wire::Frame& frame, base::Bytes whole) {
    if (bytes_.size() + whole.size() > limits::kParkedPublishBytes) {
        return Fate::wait;
    }
    bytes_.append(base::textOf(whole));
    if (!concerns(frame.channel)) {
        channels_.push_back(frame.channel);
    }
    return Fate::parked;
}

ParkedInput::Fate ParkedInput::judge(const wire::Frame& frame, base::Bytes whole, bool hasUnacked) {
    const bool behind = concerns(frame.channel);
    if (frame.type == wire::frame_type::kHeader || frame.type == wire::frame_type::kBody) {
        return behind ? park(frame, whole) : Fate::takeNow;
    }
    if (frame.type != wire::frame_type::kMethod) {
        return Fate::takeNow;
    }
    const wire::MethodId method = wire::methodIdOf(frame.payload);
    if (method == wire::BasicPublish::id) {
        return hasUnacked ? park(frame, whole) : Fate::wait;
    }
    if (method == wire::BasicAck::id || method == wire::BasicNack::id ||
        method == wire::BasicReject::id) {
        return Fate::takeNow;
    }
    // A close of the connection would lose what is parked.
    const bool closes = frame.channel == 0 && !empty();
    return behind || closes ? Fate::wait : Fate::takeNow;
}

std::string ParkedInput::takeOut() {
    return std::exchange(bytes_, {});
}

void ParkedInput::putBack(base::Bytes rest) {
    bytes_.insert(0, base::textOf(rest));
    if (bytes_.empty()) {
        channels_.clear();
    }
}

void ParkedInput::clear() {
    bytes_.clear();
    channels_.clear();
}

} // namespace millrace::session::amqp
