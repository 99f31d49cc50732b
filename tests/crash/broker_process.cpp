// SPDX-License-Identifier: Apache-2.0
#include "crash/broker_process.h"

#include <arpa/inet.h>
#include <chrono>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <fstream>
#include <netinet/in.h>
#include <poll.h>
#include <sstream>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

namespace millrace::crash_tests {

namespace {

using Clock = std::chrono::steady_clock;

std::uint16_t freePort() {
    const int probe = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof address;
    auto* raw = reinterpret_cast<sockaddr*>(&address);
    const bool bound =
        ::bind(probe, raw, sizeof address) == 0 && ::getsockname(probe, raw, &length) == 0;
    ::close(probe);
    return bound ? ntohs(address.sin_port) : 0;
}

// How the child ended; waits at most so long, then 'still running'.
std::string endWithin(pid_t pid, std::chrono::seconds longest, bool& ended) {
    const auto deadline = Clock::now() + longest;
    for (;;) {
        int status = 0;
        ended = ::waitpid(pid, &status, WNOHANG) == pid;
        if (ended && WIFEXITED(status)) {
            return WEXITSTATUS(status) == 0 ? ""
                                            : "exit code " + std::to_string(WEXITSTATUS(status));
        }
        if (ended) {
            return "signal " + std::to_string(WTERMSIG(status));
        }
        if (Clock::now() >= deadline) {
            return "still running";
        }
        ::poll(nullptr, 0, 5);
    }
}

} // namespace

BrokerProcess::BrokerProcess(std::string program, std::string folder)
    : program_(std::move(program)), folder_(std::move(folder)), port_(freePort()) {}

BrokerProcess::~BrokerProcess() {
    killNow();
}

void BrokerProcess::spawn() {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) {
        return;
    }
    const std::string listen = "127.0.0.1:" + std::to_string(port_);
    const std::string data = folder_ + "/data";
    const std::string log = folder_ + "/broker.log";
    pid_ = ::fork();
    if (pid_ == 0) {
        ::prctl(PR_SET_PDEATHSIG, SIGKILL);
        const int errors = ::open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0644);
        ::dup2(ends[1], STDOUT_FILENO);
        ::dup2(errors, STDERR_FILENO);
        ::execl(program_.c_str(), program_.c_str(), "serve", "--data", data.c_str(), "--listen",
                listen.c_str(), static_cast<char*>(nullptr));
        ::_exit(127);
    }
    ::close(ends[1]);
    output_ = ends[0];
}

std::string BrokerProcess::awaitReady() {
    const auto deadline = Clock::now() + std::chrono::seconds(60);
    std::string said;
    while (Clock::now() < deadline) {
        pollfd waiting{output_, POLLIN, 0};
        if (::poll(&waiting, 1, 100) <= 0) {
            continue;
        }
        char bytes[512];
        const ssize_t got = ::read(output_, bytes, sizeof bytes);
        if (got <= 0) {
            bool ended = false;
            const std::string how = endWithin(pid_, std::chrono::seconds(5), ended);
            pid_ = ended ? -1 : pid_;
            return "the broker did not start (" + how + "): " + logTail();
        }
        said.append(bytes, static_cast<std::size_t>(got));
        if (said.find("ready") != std::string::npos) {
            return {};
        }
    }
    return "the broker was not ready within 60 s: " + logTail();
}

void BrokerProcess::killNow() {
    if (pid_ > 0) {
        ::kill(pid_, SIGKILL);
        ::waitpid(pid_, nullptr, 0);
        pid_ = -1;
    }
    if (output_ >= 0) {
        ::close(output_);
        output_ = -1;
    }
}

std::string BrokerProcess::stop() {
    if (pid_ <= 0) {
        return "the broker has ended by itself: " + logTail();
    }
    ::kill(pid_, SIGTERM);
    bool ended = false;
    const std::string how = endWithin(pid_, std::chrono::seconds(60), ended);
    pid_ = ended ? -1 : pid_;
    killNow();
    return how.empty() ? how : "the orderly stop failed (" + how + "): " + logTail();
}

std::string BrokerProcess::logTail() const {
    std::ifstream log(folder_ + "/broker.log");
    std::stringstream all;
    all << log.rdbuf();
    const std::string text = all.str();
    return text.size() <= 3000 ? text : text.substr(text.size() - 3000);
}

} // namespace millrace::crash_tests
