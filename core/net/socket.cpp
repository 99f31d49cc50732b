// SPDX-License-Identifier: Apache-2.0
// Sockets and addresses by the POSIX calls. Any thread.
#include "net/socket.h"

#include "base/check.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace millrace::net {

namespace {

// Many clients may arrive in one turn (a restart under load); the kernel caps it by
// net.core.somaxconn.
constexpr int kBacklog = 4096;

const sockaddr_in& v4(const sockaddr* raw) {
    return *reinterpret_cast<const sockaddr_in*>(raw);
}
const sockaddr_in6& v6(const sockaddr* raw) {
    return *reinterpret_cast<const sockaddr_in6*>(raw);
}

void setOption(const Socket& socket, int level, int name, int value) {
    // Refused only for options that this kind of socket lacks, which harms nothing.
    (void)::setsockopt(socket.descriptor(), level, name, &value, sizeof value);
}

Address addressBy(int (*call)(int, sockaddr*, socklen_t*), int descriptor) {
    sockaddr_storage storage{};
    socklen_t length = sizeof storage;
    if (call(descriptor, reinterpret_cast<sockaddr*>(&storage), &length) != 0) {
        return {};
    }
    return {reinterpret_cast<const sockaddr*>(&storage), length};
}

base::Result<Socket> makeSocket(const Address& address) {
    Socket socket(
        ::socket(address.raw()->sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    if (!socket) {
        return systemError("cannot create a socket for " + address.text());
    }
    return socket;
}

} // namespace

base::Error systemError(std::string_view what) {
    const int number = errno;
    return {base::ErrorCode::io, std::string(what) + ": " + std::strerror(number)};
}

Address::Address(const sockaddr* raw, socklen_t length) : length_(length) {
    MILLRACE_CHECK(length <= sizeof storage_);
    std::memcpy(&storage_, raw, length);
}

base::Result<Address> Address::parse(std::string_view host, std::uint16_t port) {
    const std::string text(host);
    sockaddr_in four{};
    if (::inet_pton(AF_INET, text.c_str(), &four.sin_addr) == 1) {
        four.sin_family = AF_INET;
        four.sin_port = htons(port);
        return Address(reinterpret_cast<const sockaddr*>(&four), sizeof four);
    }
    sockaddr_in6 six{};
    if (::inet_pton(AF_INET6, text.c_str(), &six.sin6_addr) == 1) {
        six.sin6_family = AF_INET6;
        six.sin6_port = htons(port);
        return Address(reinterpret_cast<const sockaddr*>(&six), sizeof six);
    }
    return base::Error{base::ErrorCode::invalid,
                       "'" + text +
                           "' is not an IPv4 or IPv6 address; write it like 127.0.0.1 or ::1"};
}

bool Address::isLoopback() const {
    if (storage_.ss_family == AF_INET) {
        return (ntohl(v4(raw()).sin_addr.s_addr) >> 24) == 127;
    }
    if (storage_.ss_family != AF_INET6) {
        return false;
    }
    const in6_addr& address = v6(raw()).sin6_addr;
    return IN6_IS_ADDR_LOOPBACK(&address) ||
           (IN6_IS_ADDR_V4MAPPED(&address) && address.s6_addr[12] == 127);
}

bool Address::isAny() const {
    if (storage_.ss_family == AF_INET6) {
        return IN6_IS_ADDR_UNSPECIFIED(&v6(raw()).sin6_addr);
    }
    return storage_.ss_family == AF_INET && v4(raw()).sin_addr.s_addr == INADDR_ANY;
}

std::uint16_t Address::port() const {
    return ntohs(isV6() ? v6(raw()).sin6_port : v4(raw()).sin_port);
}

std::string Address::host() const {
    char text[INET6_ADDRSTRLEN] = "";
    const void* bytes = isV6() ? static_cast<const void*>(&v6(raw()).sin6_addr)
                               : static_cast<const void*>(&v4(raw()).sin_addr);
    if (length_ != 0) {
        ::inet_ntop(storage_.ss_family, bytes, text, sizeof text);
    }
    return text;
}

std::string Address::text() const {
    return (isV6() ? "[" + host() + "]" : host()) + ":" + std::to_string(port());
}

Socket& Socket::operator=(Socket&& other) noexcept {
    if (this != &other) {
        close();
        descriptor_ = std::exchange(other.descriptor_, -1);
    }
    return *this;
}

void Socket::close() {
    if (descriptor_ >= 0) {
        ::close(std::exchange(descriptor_, -1));
    }
}

Address Socket::localAddress() const {
    return addressBy(::getsockname, descriptor_);
}
Address Socket::peerAddress() const {
    return addressBy(::getpeername, descriptor_);
}

base::Result<Socket> listenOn(const Address& address) {
    auto made = makeSocket(address);
    if (!made) {
        return made.error();
    }
    Socket socket = std::move(*made);
    setOption(socket, SOL_SOCKET, SO_REUSEADDR, 1);
    if (address.isV6()) {
        setOption(socket, IPPROTO_IPV6, IPV6_V6ONLY, 1);
    }
    if (::bind(socket.descriptor(), address.raw(), address.length()) != 0) {
        const bool taken = errno == EADDRINUSE;
        base::Error error = systemError("cannot listen on " + address.text());
        error.code = taken ? base::ErrorCode::exists : base::ErrorCode::io;
        return error;
    }
    if (::listen(socket.descriptor(), kBacklog) != 0) {
        return systemError("cannot listen on " + address.text());
    }
    return socket;
}

base::Result<Socket> connectTo(const Address& address) {
    auto made = makeSocket(address);
    if (!made) {
        return made.error();
    }
    Socket socket = std::move(*made);
    setNoDelay(socket);
    if (::connect(socket.descriptor(), address.raw(), address.length()) != 0 &&
        errno != EINPROGRESS) {
        return systemError("cannot connect to " + address.text());
    }
    return socket;
}

base::Status connectResult(const Socket& socket) {
    int error = 0;
    socklen_t length = sizeof error;
    ::getsockopt(socket.descriptor(), SOL_SOCKET, SO_ERROR, &error, &length);
    if (error != 0) {
        errno = error;
        return systemError("cannot connect");
    }
    return {};
}

void setNoDelay(const Socket& socket) {
    setOption(socket, IPPROTO_TCP, TCP_NODELAY, 1);
}

std::uint64_t raiseDescriptorLimit() {
    rlimit limit{};
    if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) {
        return 0;
    }
    const rlimit wanted{limit.rlim_max, limit.rlim_max};
    return ::setrlimit(RLIMIT_NOFILE, &wanted) == 0 ? wanted.rlim_cur : limit.rlim_cur;
}

} // namespace millrace::net
