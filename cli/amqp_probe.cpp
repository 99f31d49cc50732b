// SPDX-License-Identifier: Apache-2.0
// The protocol header goes out, connection.start must come back. Blocks for at most the given time.
#include "cli/amqp_probe.h"

#include "net/socket.h"

#include <poll.h>
#include <sys/socket.h>

#include <charconv>
#include <string_view>

namespace millrace::cli {

namespace {

constexpr std::string_view kHeader{"AMQP\0\0\x09\x01", 8};
// Frame type 1 on channel 0, four bytes of size, class 10, method 10.
constexpr std::string_view kStartHead{"\x01\0\0", 3};
constexpr std::string_view kStartMethod{"\0\x0A\0\x0A", 4};
constexpr std::size_t kStartBytes = 11;

base::Result<net::Address> addressOf(std::string_view listener) {
    const std::size_t scheme = listener.find("://");
    if (scheme != std::string_view::npos) {
        listener.remove_prefix(scheme + 3);
    }
    const std::size_t colon = listener.rfind(':');
    std::uint16_t port = 0;
    if (colon != std::string_view::npos) {
        std::from_chars(listener.data() + colon + 1, listener.data() + listener.size(), port);
    }
    std::string_view host = listener.substr(0, colon);
    if (host.starts_with('[') && host.ends_with(']')) {
        host = host.substr(1, host.size() - 2);
    }
    auto address = net::Address::parse(host, port);
    if (address && address->isAny()) {
        return net::Address::parse(address->isV6() ? "::1" : "127.0.0.1", port);
    }
    return address;
}

base::Status await(const net::Socket& socket, short events,
                   std::chrono::steady_clock::time_point end) {
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(end - std::chrono::steady_clock::now());
    pollfd polled{socket.descriptor(), events, 0};
    if (::poll(&polled, 1, static_cast<int>(std::max<std::int64_t>(left.count(), 0))) <= 0) {
        return base::Error{base::ErrorCode::timeout, "no answer"};
    }
    return {};
}

} // namespace

base::Status probeAmqp(const std::string& listener, std::chrono::milliseconds longest) {
    const auto end = std::chrono::steady_clock::now() + longest;
    auto address = addressOf(listener);
    if (!address) {
        return address.error();
    }
    auto socket = net::connectTo(*address);
    if (!socket) {
        return socket.error();
    }
    if (auto ready = await(*socket, POLLOUT, end); !ready) {
        return ready;
    }
    if (auto connected = net::connectResult(*socket); !connected) {
        return connected;
    }
    if (::send(socket->descriptor(), kHeader.data(), kHeader.size(), MSG_NOSIGNAL) < 0) {
        return net::systemError("cannot send");
    }
    std::string answer;
    while (answer.size() < kStartBytes) {
        if (auto ready = await(*socket, POLLIN, end); !ready) {
            return ready;
        }
        char part[64];
        const ssize_t count = ::recv(socket->descriptor(), part, kStartBytes - answer.size(), 0);
        if (count <= 0) {
            return base::Error{base::ErrorCode::io, "closed without a greeting"};
        }
        answer.append(part, static_cast<std::size_t>(count));
    }
    if (!answer.starts_with(kStartHead) || answer.substr(7) != kStartMethod) {
        return base::Error{base::ErrorCode::invalid, "the greeting is not AMQP 0-9-1"};
    }
    return {};
}

} // namespace millrace::cli
