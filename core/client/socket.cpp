// SPDX-License-Identifier: Apache-2.0
// Non-blocking descriptors and poll(2).
#include "client/socket.h"

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>
#include <fcntl.h>
#include <memory>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>
#include <utility>

namespace millrace::client {

namespace {

base::Error failed(const std::string& what, int number) {
    return {base::ErrorCode::io, what + ": " + std::strerror(number)};
}

struct FreeAddresses {
    void operator()(addrinfo* list) const { ::freeaddrinfo(list); }
};

// Waits for one of `events`; true if one came before the deadline. Signals do not end it.
bool pollFor(int descriptor, short events, Clock::time_point deadline) {
    for (;;) {
        const auto left =
            std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
        pollfd one{descriptor, events, 0};
        const int ready =
            ::poll(&one, 1, static_cast<int>(std::clamp<std::int64_t>(left, 0, INT_MAX)));
        if (ready > 0) {
            return true;
        }
        if (ready == 0 || errno != EINTR) {
            return false;
        }
    }
}

// errno of the attempt, 0 when connected.
int tryConnect(const Socket& socket, const addrinfo& address, Clock::time_point deadline) {
    if (::connect(socket.descriptor(), address.ai_addr, address.ai_addrlen) == 0) {
        return 0;
    }
    if (errno != EINPROGRESS && errno != EINTR) {
        return errno;
    }
    if (!pollFor(socket.descriptor(), POLLOUT, deadline)) {
        return ETIMEDOUT;
    }
    int error = 0;
    socklen_t size = sizeof error;
    ::getsockopt(socket.descriptor(), SOL_SOCKET, SO_ERROR, &error, &size);
    return error;
}

} // namespace

Socket::Socket(int descriptor) : descriptor_(descriptor) {
    ::fcntl(descriptor_, F_SETFL, ::fcntl(descriptor_, F_GETFL) | O_NONBLOCK);
    const int on = 1; // what is not TCP refuses this, and need not have it
    ::setsockopt(descriptor_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

Socket::Socket(Socket&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}

Socket::~Socket() {
    if (descriptor_ >= 0) {
        ::close(descriptor_);
    }
}

base::Result<Socket> Socket::connect(const std::string& host, std::uint16_t port,
                                     Clock::time_point deadline) {
    const std::string where = "cannot connect to " + host + " port " + std::to_string(port);
    addrinfo wanted{};
    wanted.ai_socktype = SOCK_STREAM;
    wanted.ai_family = AF_UNSPEC;
    addrinfo* found = nullptr;
    const int error = ::getaddrinfo(host.c_str(), std::to_string(port).c_str(), &wanted, &found);
    if (error != 0) {
        return base::Error{base::ErrorCode::io, where + ": " + ::gai_strerror(error)};
    }
    const std::unique_ptr<addrinfo, FreeAddresses> addresses(found);
    int last = ETIMEDOUT;
    for (const addrinfo* address = found; address != nullptr; address = address->ai_next) {
        const int descriptor = ::socket(address->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (descriptor < 0) {
            last = errno;
            continue;
        }
        Socket socket(descriptor);
        last = tryConnect(socket, *address, deadline);
        if (last == 0) {
            return socket;
        }
    }
    base::Error refused = failed(where, last);
    refused.code = last == ETIMEDOUT ? base::ErrorCode::timeout : base::ErrorCode::io;
    return refused;
}

base::Result<std::size_t> Socket::send(base::Bytes bytes) {
    for (;;) {
        const ssize_t done = ::send(descriptor_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
        if (done >= 0) {
            return static_cast<std::size_t>(done);
        }
        if (errno == EAGAIN || errno == EWOULDBLOCK) {
            return std::size_t{0};
        }
        if (errno != EINTR) {
            return failed("the connection to the broker is lost", errno);
        }
    }
}

base::Result<std::size_t> Socket::receive(std::span<base::Byte> into) {
    for (;;) {
        const ssize_t got = ::recv(descriptor_, into.data(), into.size(), 0);
        if (got > 0) {
            return static_cast<std::size_t>(got);
        }
        if (got == 0) {
            return base::Error{base::ErrorCode::stopped, "the broker has closed the connection"};
        }
        if (errno == EAGAIN || errno == EWOULDBLOCK) {
            return std::size_t{0};
        }
        if (errno != EINTR) {
            return failed("the connection to the broker is lost", errno);
        }
    }
}

void Socket::waitFor(bool room, Clock::time_point deadline) const {
    pollFor(descriptor_, static_cast<short>(room ? POLLIN | POLLOUT : POLLIN), deadline);
}

} // namespace millrace::client
