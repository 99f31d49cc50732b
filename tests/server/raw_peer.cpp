// SPDX-License-Identifier: Apache-2.0
#include "server/raw_peer.h"

#include "base/field_table.h"

#include <arpa/inet.h>
#include <cerrno>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

namespace millrace::server_tests {

using namespace wire::amqp;

RawPeer::RawPeer(std::uint16_t port, Way way) {
    descriptor_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    const int on = 1;
    ::setsockopt(descriptor_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    if (way == Way::narrow) {
        // The sender's buffer grows with the segments of its peer, which are huge on loopback.
        const int segment = 536;
        const int buffer = 4096;
        ::setsockopt(descriptor_, IPPROTO_TCP, TCP_MAXSEG, &segment, sizeof segment);
        ::setsockopt(descriptor_, SOL_SOCKET, SO_RCVBUF, &buffer, sizeof buffer);
    }
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const int begun =
        ::connect(descriptor_, reinterpret_cast<const sockaddr*>(&address), sizeof address);
    int error = begun == 0 ? 0 : errno;
    if (error == EINPROGRESS && wait(POLLOUT, Clock::now() + kPatience)) {
        socklen_t size = sizeof error;
        ::getsockopt(descriptor_, SOL_SOCKET, SO_ERROR, &error, &size);
    }
    if (error != 0) {
        close();
    }
}

RawPeer::~RawPeer() {
    close();
}

void RawPeer::close() {
    if (descriptor_ >= 0) {
        ::close(std::exchange(descriptor_, -1));
    }
}

bool RawPeer::wait(short events, Clock::time_point deadline) const {
    pollfd one{descriptor_, events, 0};
    return ::poll(&one, 1, static_cast<int>(left(deadline).count())) > 0;
}

std::int64_t RawPeer::sendSome(std::string_view bytes) {
    const ssize_t done = ::send(descriptor_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    return done < 0 && (errno == EAGAIN || errno == EINTR) ? 0 : done;
}

bool RawPeer::send(std::string_view bytes) {
    const auto deadline = Clock::now() + kPatience;
    while (!bytes.empty()) {
        const std::int64_t done = sendSome(bytes);
        if (done < 0 || (done == 0 && !wait(POLLOUT, deadline))) {
            return false;
        }
        bytes.remove_prefix(static_cast<std::size_t>(done));
    }
    return true;
}

bool RawPeer::readFrame(std::chrono::milliseconds longest) {
    const auto deadline = Clock::now() + longest;
    const FrameReader reader(0);
    for (;;) {
        if (reader.next(base::bytesOf(input_).subspan(taken_), frame_) == FrameStatus::complete) {
            taken_ += frame_.totalSize;
            return true;
        }
        input_.erase(0, taken_);
        taken_ = 0;
        const std::size_t before = input_.size();
        input_.resize(std::max(before + 4096, frame_.totalSize));
        const ssize_t got = ::recv(descriptor_, input_.data() + before, input_.size() - before, 0);
        input_.resize(before + static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
        const bool nothingYet = got < 0 && (errno == EAGAIN || errno == EINTR);
        if (got == 0 || (got < 0 && !nothingYet) || (nothingYet && !wait(POLLIN, deadline))) {
            return false;
        }
    }
}

bool RawPeer::takeToTheEnd(std::string* kept, std::chrono::milliseconds longest) {
    const auto deadline = Clock::now() + longest;
    char bytes[4096];
    for (;;) {
        const ssize_t got = ::recv(descriptor_, bytes, sizeof bytes, 0);
        if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR)) {
            return true;
        }
        if (got > 0 && kept) {
            kept->append(bytes, static_cast<std::size_t>(got));
        }
        if (got < 0 && !wait(POLLIN, deadline)) {
            return false;
        }
    }
}

bool RawPeer::awaitEnd(std::chrono::milliseconds longest) {
    return takeToTheEnd(nullptr, longest);
}

std::string RawPeer::readToTheEnd(std::chrono::milliseconds longest) {
    std::string all;
    return takeToTheEnd(&all, longest) ? all : all + " and no end";
}

bool RawPeer::hasEnded() const {
    pollfd one{descriptor_, POLLRDHUP, 0};
    return ::poll(&one, 1, 0) > 0;
}

bool RawPeer::open(std::uint16_t heartbeat) {
    return isConnected() && send(openingBytes(heartbeat)) && await<ChannelOpenOk>().has_value();
}

bool RawPeer::closeInOrder() {
    return say(0, ConnectionClose{200, "Goodbye", 0, 0}) && await<ConnectionCloseOk>().has_value();
}

std::string openingBytes(std::uint16_t heartbeat, std::string_view password) {
    std::string known;
    base::FieldTableWriter writer(known);
    for (const char* name :
         {"connection.blocked", "consumer_cancel_notify", "authentication_failure_close"}) {
        writer.boolean(name, true);
    }
    std::string properties;
    base::FieldTableWriter(properties).table("capabilities", known);
    const std::string response = std::string("\0guest\0", 7).append(password);
    return std::string(kProtocolHeader) +
           RawPeer::bytesOf(0, ConnectionStartOk{properties, "PLAIN", response, "en_US"}) +
           RawPeer::bytesOf(0, ConnectionTuneOk{2047, limits::kFrameMax, heartbeat}) +
           RawPeer::bytesOf(0, ConnectionOpen{"/", "", false}) + RawPeer::bytesOf(1, ChannelOpen{});
}

std::string publishBytes(std::uint16_t channel, std::string_view queue, std::string_view body,
                         bool persistent) {
    PropertyValues values;
    values.deliveryMode = persistent ? 2 : 1;
    const std::string properties = values.encode();
    BasicPublish publish;
    publish.routingKey = queue;
    std::string out;
    StringSink sink(out);
    writeContent(sink, channel, publish, base::bytesOf(properties), base::bytesOf(body),
                 body.size(), limits::kFrameMax);
    return out;
}

} // namespace millrace::server_tests
