// SPDX-License-Identifier: Apache-2.0
// Reading, sending and ending of one connected socket. Lives on: the loop.
#include "net/stream_connection.h"

#include "base/check.h"
#include "base/limits.h"

#include <sys/socket.h>
#include <sys/uio.h>

#include <array>
#include <cerrno>
#include <cstring>

namespace millrace::net {

StreamConnection::StreamConnection(EventLoop& loop, ReadBuffer& buffer, Socket socket,
                                   Conversation& conversation)
    : loop_(loop), buffer_(buffer), socket_(std::move(socket)), conversation_(conversation) {}

StreamConnection::~StreamConnection() {
    close();
}

base::Status StreamConnection::start() {
    interest_ = Interest::read;
    if (auto watched = loop_.watch(socket_.descriptor(), interest_, *this); !watched) {
        socket_.close();
        return watched;
    }
    watched_ = true;
    return {};
}

void StreamConnection::ready(const Ready& what) {
    if (what.writable || (what.broken && blockedOutput_)) {
        blockedOutput_ = false;
        flush();
    }
    if (!isOpen()) {
        return;
    }
    if (finishing_) {
        discardInput();
    } else if (reading_ && (what.readable || what.broken)) {
        readSome();
    } else if (what.broken) {
        end("connection reset by peer");
    }
}

void StreamConnection::readSome() {
    buffer_.setRest(rest_);
    bool more = true;
    for (int i = 0; more && i < limits::kReadsPerTurn; ++i) {
        if (!readOnce(more)) {
            return;
        }
    }
    keepRest(buffer_.filled(0));
}

// False: nothing of this input is left to keep here.
bool StreamConnection::readOnce(bool& more) {
    const std::span<base::Byte> fresh = buffer_.fresh();
    const ssize_t count = ::recv(socket_.descriptor(), fresh.data(), fresh.size(), 0);
    if (count < 0) {
        more = errno == EINTR;
        if (errno == EINTR || errno == EAGAIN || errno == EWOULDBLOCK) {
            return true;
        }
        end(std::strerror(errno));
        return false;
    }
    if (count == 0) {
        end({});
        return false;
    }
    const auto size = static_cast<std::size_t>(count);
    receivedBytes_ += size;
    loop_.spent(size);
    const base::Bytes rest = offer(buffer_.filled(size));
    if (!isOpen() || finishing_) {
        return false;
    }
    if (!reading_) {
        keepRest(rest);
        return false;
    }
    if (rest.size() > buffer_.restMax()) {
        end("a frame is larger than was agreed");
        return false;
    }
    buffer_.setRest(rest);
    more = size == fresh.size() && !loop_.turnIsOver();
    return true;
}

base::Bytes StreamConnection::offer(base::Bytes input) {
    const std::size_t taken = conversation_.received(input);
    MILLRACE_CHECK(taken <= input.size());
    if (isOpen() && conversation_.queuedBytes() >= limits::kFlushBytes) {
        flush();
    }
    return input.subspan(taken);
}

void StreamConnection::keepRest(base::Bytes rest) {
    if (rest.empty() && rest_.empty()) {
        return;
    }
    std::vector<base::Byte> kept(rest.begin(), rest.end()); // rest may lie in rest_
    buffer_.kept(rest_.size(), kept.size());
    rest_.swap(kept);
}

void StreamConnection::offerRest() {
    if (!isOpen() || finishing_) {
        return;
    }
    const base::Bytes rest = offer(rest_);
    if (!isOpen() || finishing_) {
        return;
    }
    if (rest.size() != rest_.size()) {
        keepRest(rest);
    }
    if (reading_ && rest_.size() > buffer_.restMax()) {
        end("a frame is larger than was agreed");
    }
}

void StreamConnection::flush() {
    if (!isOpen() || blockedOutput_) {
        return;
    }
    while (conversation_.queuedBytes() > 0 && !blockedOutput_) {
        if (!sendOnce()) {
            return;
        }
    }
    if (finishing_ && lastWord_ == LastWord::ours && conversation_.queuedBytes() == 0) {
        sayEnd();
    }
    updateInterest();
}

bool StreamConnection::sendOnce() {
    std::array<base::Bytes, limits::kGatherParts> parts;
    std::array<iovec, limits::kGatherParts> vectors;
    const std::size_t count = conversation_.gather(parts);
    std::size_t offered = 0;
    for (std::size_t i = 0; i < count; ++i) {
        vectors[i] = {const_cast<base::Byte*>(parts[i].data()), parts[i].size()};
        offered += parts[i].size();
    }
    msghdr message{};
    message.msg_iov = vectors.data();
    message.msg_iovlen = count;
    const ssize_t sent = ::sendmsg(socket_.descriptor(), &message, MSG_NOSIGNAL);
    if (sent < 0) {
        if (errno == EAGAIN || errno == EWOULDBLOCK || errno == ENOBUFS) {
            blockedOutput_ = true;
            return true;
        }
        if (errno == EINTR) {
            return true;
        }
        end(std::strerror(errno));
        return false;
    }
    sentBytes_ += static_cast<std::uint64_t>(sent);
    blockedOutput_ = static_cast<std::size_t>(sent) < offered;
    conversation_.sent(static_cast<std::size_t>(sent));
    return true;
}

void StreamConnection::setReading(bool reading) {
    if (reading_ == reading) {
        return;
    }
    reading_ = reading;
    updateInterest();
}

void StreamConnection::finish(LastWord lastWord) {
    if (!isOpen() || finishing_) {
        return;
    }
    finishing_ = true;
    lastWord_ = lastWord;
    keepRest({});
    linger_ = loop_.after(limits::kLinger, [this] { end({}); });
    flush();
}

void StreamConnection::sayEnd() {
    if (!saidEnd_) {
        saidEnd_ = true;
        ::shutdown(socket_.descriptor(), SHUT_WR);
    }
}

void StreamConnection::discardInput() {
    const std::span<base::Byte> scrap = buffer_.fresh();
    const ssize_t count = ::recv(socket_.descriptor(), scrap.data(), scrap.size(), 0);
    if (count == 0 || (count < 0 && errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR)) {
        end({});
    } else if (count > 0) {
        loop_.spent(static_cast<std::size_t>(count));
    }
}

void StreamConnection::end(std::string_view why) {
    close();
    conversation_.ended(why);
}

void StreamConnection::close() {
    loop_.cancel(linger_);
    keepRest({});
    if (socket_) {
        if (watched_) {
            loop_.forget(socket_.descriptor());
        }
        socket_.close();
    }
}

void StreamConnection::updateInterest() {
    const Interest wanted = interestIn(reading_ || finishing_, blockedOutput_);
    if (isOpen() && wanted != interest_) {
        interest_ = wanted;
        loop_.change(socket_.descriptor(), wanted);
    }
}

} // namespace millrace::net
