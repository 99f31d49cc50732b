// SPDX-License-Identifier: Apache-2.0
// The accepting side: accept4 in small batches, and a rest by timer when descriptors run out.
#include "net/listener.h"

#include "base/diagnostics.h"
#include "base/limits.h"

#include <sys/socket.h>

#include <cerrno>
#include <cstring>

namespace millrace::net {

namespace {

bool isShortage(int error) {
    return error == EMFILE || error == ENFILE || error == ENOBUFS || error == ENOMEM;
}

} // namespace

base::Result<std::unique_ptr<Listener>> Listener::open(EventLoop& loop, const Address& address,
                                                       Accepted accepted, Welcome welcome) {
    auto socket = listenOn(address);
    if (!socket) {
        return socket.error();
    }
    std::unique_ptr<Listener> listener(
        new Listener(loop, std::move(*socket), std::move(accepted), std::move(welcome)));
    if (auto watched = loop.watch(listener->socket_.descriptor(), Interest::read, *listener);
        !watched) {
        return watched.error();
    }
    return listener;
}

Listener::Listener(EventLoop& loop, Socket socket, Accepted accepted, Welcome welcome)
    : loop_(loop), socket_(std::move(socket)), address_(socket_.localAddress()),
      accepted_(std::move(accepted)), welcome_(std::move(welcome)) {}

Listener::~Listener() {
    loop_.cancel(restTimer_);
    loop_.forget(socket_.descriptor());
}

void Listener::ready(const Ready&) {
    for (int i = 0; i < limits::kAcceptsPerTurn; ++i) {
        if (!welcome_()) {
            rest(EMFILE);
            return;
        }
        Socket peer(
            ::accept4(socket_.descriptor(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
        if (peer) {
            restReported_ = false;
            setNoDelay(peer);
            accepted_(std::move(peer));
            continue;
        }
        const int error = errno;
        if (isShortage(error)) {
            rest(error);
        }
        if (error != ECONNABORTED && error != EINTR) {
            return;
        }
    }
}

void Listener::rest(int reason) {
    if (!restReported_) {
        base::diagnose(base::Severity::warning, "no more connections for now on " +
                                                    address_.text() + ": " + std::strerror(reason) +
                                                    "; raise the limit of open files (ulimit -n)");
        restReported_ = true;
    }
    resting_ = true;
    loop_.change(socket_.descriptor(), Interest::none);
    restTimer_ = loop_.after(limits::kAcceptRest, [this] {
        resting_ = false;
        loop_.change(socket_.descriptor(), Interest::read);
    });
}

} // namespace millrace::net
