// SPDX-License-Identifier: Apache-2.0
// A broker of the test's own as a child process on a free loopback port, so that it can be killed,
// stopped, and measured from outside. It dies with the test. One thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <sys/types.h>
#include <vector>

namespace millrace::support {

struct BrokerSettings {
    std::vector<std::string> arguments;   // behind `serve --data ... --listen ...`
    std::vector<std::string> environment; // NAME=value, on top of the test's own
    std::uint64_t descriptors = 0;        // the child's limit, soft and hard; 0: the test's own
};

class BrokerProcess {
  public:
    // Data go to folder/data, the log is appended to folder/broker.log.
    BrokerProcess(std::string program, std::string folder, BrokerSettings settings = {});
    ~BrokerProcess(); // kills
    BrokerProcess(const BrokerProcess&) = delete;
    BrokerProcess& operator=(const BrokerProcess&) = delete;

    // For the next life.
    void set(BrokerSettings settings) { settings_ = std::move(settings); }
    void spawn();
    // Waits for the ready line. Empty, or why it does not come.
    std::string awaitReady();
    void killNow(); // SIGKILL, and waits
    // SIGTERM; empty, or how it did not end in order.
    std::string stop();
    void signal(int number) const;
    // How it ended by itself: empty is exit code 0, else "exit code 73", "signal 6", "still
    // running".
    std::string awaitEnd(std::chrono::seconds longest);

    pid_t pid() const { return pid_; } // -1: not running
    std::uint16_t port() const { return port_; }
    std::string address() const { return "127.0.0.1:" + std::to_string(port_); }
    std::string dataDirectory() const { return folder_ + "/data"; }
    const std::string& said() const { return said_; } // on standard output, until it was ready
    std::string log() const;
    std::string logTail() const;

  private:
    std::string program_;
    std::string folder_;
    BrokerSettings settings_;
    std::uint16_t port_ = 0;
    pid_t pid_ = -1;
    int output_ = -1;
    std::string said_;
};

// A port of 127.0.0.1 that nobody listens on now.
std::uint16_t freePort();

} // namespace millrace::support
