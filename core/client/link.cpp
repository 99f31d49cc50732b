// SPDX-License-Identifier: Apache-2.0
// One exchange: send what is waiting, wait, receive what is there.
#include "client/link.h"

#include "wire/amqp/writer.h"

#include <algorithm>
#include <cstring>

namespace millrace::client {

namespace {

constexpr std::size_t kInputBytes =
    256 * 1024; // two of the largest frames that are negotiated by default

} // namespace

Link::Link(Socket socket, std::uint32_t frameMax)
    : socket_(std::move(socket)), reader_(frameMax), input_(kInputBytes) {}

void Link::setHeartbeat(std::chrono::seconds interval) {
    heartbeat_ = interval;
    lastSent_ = lastReceived_ = Clock::now();
}

void Link::keepAlive(Clock::time_point now) {
    if (heartbeat_.count() == 0) {
        return;
    }
    if (now - lastReceived_ >= 2 * heartbeat_) {
        lost_ = base::Error{base::ErrorCode::timeout,
                            "the broker has been silent for two heartbeat intervals"};
    } else if (unsent() == 0 && now - lastSent_ >= heartbeat_ / 2) {
        wire::amqp::StringSink sink(output_);
        wire::amqp::writeHeartbeat(sink);
    }
}

base::Result<bool> Link::exchange(Clock::time_point deadline) {
    if (!lost_) {
        keepAlive(Clock::now());
    }
    if (lost_) {
        return *lost_;
    }
    bool moved = sendSome();
    if (receiveSome() || moved || lost_) {
        return true;
    }
    const auto wake =
        heartbeat_.count() == 0
            ? deadline
            : std::min(deadline,
                       Clock::now() + std::chrono::duration_cast<Clock::duration>(heartbeat_) / 4);
    socket_.waitFor(unsent() > 0, wake);
    moved = sendSome();
    return receiveSome() || moved || lost_.has_value();
}

bool Link::sendSome() {
    if (unsent() == 0) {
        return false;
    }
    const base::Result<std::size_t> done = socket_.send(base::bytesOf(output_).subspan(sent_));
    if (!done) {
        lost_ = done.error();
        return false;
    }
    if (done.value() == 0) {
        return false;
    }
    sent_ += done.value();
    lastSent_ = Clock::now();
    if (unsent() == 0) {
        output_.clear();
        sent_ = 0;
    } else if (sent_ > output_.size() / 2) {
        output_.erase(0, sent_);
        sent_ = 0;
    }
    return true;
}

bool Link::receiveSome() {
    if (begin_ > 0) {
        std::memmove(input_.data(), input_.data() + begin_, end_ - begin_);
        end_ -= begin_;
        begin_ = 0;
    }
    if (end_ == input_.size()) {
        return false; // full of frames that nobody has taken yet
    }
    const base::Result<std::size_t> got = socket_.receive(std::span(input_).subspan(end_));
    if (!got) {
        lost_ = got.error();
        return false;
    }
    end_ += got.value();
    if (got.value() > 0) {
        lastReceived_ = Clock::now();
    }
    return got.value() > 0;
}

base::Result<bool> Link::next(wire::amqp::Frame& frame) {
    const base::Bytes waiting = base::Bytes(input_).subspan(begin_, end_ - begin_);
    const wire::amqp::FrameStatus status = reader_.next(waiting, frame);
    if (status == wire::amqp::FrameStatus::complete) {
        begin_ += frame.totalSize;
        return true;
    }
    if (base::textOf(waiting).starts_with("AMQP")) {
        return base::Error{base::ErrorCode::unsupported,
                           "the server speaks another protocol than AMQP 0-9-1"};
    }
    if (status != wire::amqp::FrameStatus::needMore) {
        return strange(status, frame);
    }
    if (frame.totalSize > input_.size()) {
        input_.resize(frame.totalSize);
    }
    return false;
}

base::Error Link::strange(wire::amqp::FrameStatus status, const wire::amqp::Frame& frame) const {
    const std::string type = " (type " + std::to_string(frame.type) + ")";
    switch (status) {
    case wire::amqp::FrameStatus::tooLarge:
        return {base::ErrorCode::invalid,
                "the broker sent a frame of " + std::to_string(frame.payloadSize) +
                    " bytes, more than " + std::to_string(reader_.payloadLimit())};
    case wire::amqp::FrameStatus::badEnd:
        return {base::ErrorCode::invalid, "the broker sent a frame without its end marker" + type};
    default:
        return {base::ErrorCode::invalid,
                "the broker sent a frame that is not of AMQP 0-9-1" + type};
    }
}

} // namespace millrace::client
