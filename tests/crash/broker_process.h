// SPDX-License-Identifier: Apache-2.0
// A broker of the test's own as a child process on a free loopback port, so that it can be killed.
#pragma once

#include <cstdint>
#include <string>
#include <sys/types.h>

namespace millrace::crash_tests {

class BrokerProcess {
  public:
    BrokerProcess(std::string program, std::string folder);
    ~BrokerProcess(); // kills
    BrokerProcess(const BrokerProcess&) = delete;
    BrokerProcess& operator=(const BrokerProcess&) = delete;

    // Starts; its log is appended to folder/broker.log.
    void spawn();
    // Waits for the ready line. Empty, or why it does not come.
    std::string awaitReady();
    void killNow(); // SIGKILL, and waits
    // SIGTERM; empty, or how it did not end in order.
    std::string stop();
    std::uint16_t port() const { return port_; }
    std::string logTail() const;

  private:
    std::string program_;
    std::string folder_;
    std::uint16_t port_ = 0;
    pid_t pid_ = -1;
    int output_ = -1;
};

} // namespace millrace::crash_tests
