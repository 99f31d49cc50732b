// SPDX-License-Identifier: Apache-2.0
// A publisher at full speed, without confirms, in a thread of its own: it sends whatever the socket
// takes until it is stopped, and listens for connection.blocked.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <thread>

namespace millrace::server_tests {

struct FloodKind {
    std::string queue;
    std::size_t bodyBytes = 100;
    bool persistent = true;
};
// About a MiB of such publishes.
std::string floodOf(const FloodKind& kind);

class Flood {
  public:
    // `publishes` are whole, of channel 1; they are sent again and again.
    Flood(std::uint16_t port, std::string publishes);
    ~Flood() { stop(); }
    Flood(const Flood&) = delete;
    Flood& operator=(const Flood&) = delete;

    // At most one message is cut off in the middle, and lost.
    void stop();
    // The broker has said connection.blocked, and not yet connection.unblocked.
    bool isBlocked() const { return timesBlocked_ > timesUnblocked_; }
    int timesBlocked() const { return timesBlocked_; }
    int timesUnblocked() const { return timesUnblocked_; }
    std::uint64_t sentBytes() const { return sentBytes_; }
    // For after stop().
    const std::string& reason() const { return reason_; } // of the last connection.blocked
    const std::string& fault() const { return fault_; }   // empty: it could send to the end

  private:
    void run(std::uint16_t port);

    const std::string publishes_;
    std::string reason_;
    std::string fault_;
    std::atomic<bool> over_{false};
    std::atomic<int> timesBlocked_{0};
    std::atomic<int> timesUnblocked_{0};
    std::atomic<std::uint64_t> sentBytes_{0};
    std::thread thread_;
};

} // namespace millrace::server_tests
