// SPDX-License-Identifier: Apache-2.0
#include "server/flood.h"

#include "server/raw_peer.h"

#include <poll.h>

namespace millrace::server_tests {

using namespace wire::amqp;

namespace {

constexpr std::size_t kBlockBytes = 1024 * 1024; // what is repeated
constexpr int kLookMs = 20;                      // how often the end is looked for

} // namespace

std::string floodOf(const FloodKind& kind) {
    const std::string message =
        publishBytes(1, kind.queue, std::string(kind.bodyBytes, 'f'), kind.persistent);
    std::string publishes;
    while (publishes.size() < kBlockBytes) {
        publishes += message;
    }
    return publishes;
}

Flood::Flood(std::uint16_t port, std::string publishes) : publishes_(std::move(publishes)) {
    thread_ = std::thread([this, port] { run(port); });
}

void Flood::stop() {
    over_ = true;
    if (thread_.joinable()) {
        thread_.join();
    }
}

void Flood::run(std::uint16_t port) {
    RawPeer peer(port);
    if (!peer.open()) {
        fault_ = "no handshake";
        return;
    }
    std::size_t at = 0;
    while (!over_) {
        pollfd one{peer.descriptor(), POLLIN | POLLOUT, 0};
        ::poll(&one, 1, kLookMs);
        while ((one.revents & POLLIN) != 0 && peer.readFrame(std::chrono::milliseconds{0})) {
            if (const auto blocked = peer.as<ConnectionBlocked>()) {
                reason_ = blocked->reason.view();
                ++timesBlocked_;
            } else if (peer.as<ConnectionUnblocked>()) {
                ++timesUnblocked_;
            }
        }
        const std::int64_t done = (one.revents & POLLOUT) != 0
                                      ? peer.sendSome(std::string_view(publishes_).substr(at))
                                      : 0;
        if (done < 0 || peer.hasEnded()) {
            fault_ = "the broker has ended the connection";
            return;
        }
        at = (at + static_cast<std::size_t>(done)) % publishes_.size();
        sentBytes_ += static_cast<std::uint64_t>(done);
    }
}

} // namespace millrace::server_tests
