// SPDX-License-Identifier: Apache-2.0
// One datagram to the service manager's socket, which may lie in the file system or in Linux's
// abstract names (@...).
#include "server/notify.h"

#include "net/socket.h"

#include <sys/socket.h>
#include <sys/un.h>

#include <cstddef>
#include <cstdlib>
#include <cstring>

namespace millrace::server {

bool notifyServiceManager(std::string_view state) {
    const char* path = std::getenv("NOTIFY_SOCKET");
    sockaddr_un address{};
    if (path == nullptr || (path[0] != '/' && path[0] != '@') ||
        std::strlen(path) >= sizeof address.sun_path) {
        return false;
    }
    const std::size_t length = std::strlen(path);
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, path, length);
    if (path[0] == '@') {
        address.sun_path[0] = '\0';
    }
    const net::Socket socket(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    return socket && ::sendto(socket.descriptor(), state.data(), state.size(), MSG_NOSIGNAL,
                              reinterpret_cast<const sockaddr*>(&address),
                              static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + length)) ==
                         static_cast<ssize_t>(state.size());
}

} // namespace millrace::server
