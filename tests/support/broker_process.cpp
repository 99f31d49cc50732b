// SPDX-License-Identifier: Apache-2.0
#include "support/broker_process.h"

#include <arpa/inet.h>
#include <csignal>
#include <fcntl.h>
#include <fstream>
#include <netinet/in.h>
#include <poll.h>
#include <sstream>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

namespace millrace::support {

namespace {

using Clock = std::chrono::steady_clock;

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

std::vector<char*> pointersTo(std::vector<std::string>& texts) {
    std::vector<char*> pointers;
    for (std::string& text : texts) {
        pointers.push_back(text.data());
    }
    pointers.push_back(nullptr);
    return pointers;
}

std::vector<std::string> environmentWith(const std::vector<std::string>& more) {
    std::vector<std::string> all;
    for (char** variable = environ; *variable != nullptr; ++variable) {
        const std::string text = *variable;
        const std::string name = text.substr(0, text.find('=') + 1);
        bool replaced = false;
        for (const std::string& other : more) {
            replaced = replaced || other.starts_with(name);
        }
        if (!replaced) {
            all.push_back(text);
        }
    }
    all.insert(all.end(), more.begin(), more.end());
    return all;
}

} // namespace

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

BrokerProcess::BrokerProcess(std::string program, std::string folder, BrokerSettings settings)
    : program_(std::move(program)), folder_(std::move(folder)), settings_(std::move(settings)),
      port_(freePort()) {}

BrokerProcess::~BrokerProcess() {
    killNow();
}

void BrokerProcess::spawn() {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) {
        return;
    }
    // Everything is made before the fork: behind it only calls that a signal handler may make.
    const std::string log = folder_ + "/broker.log";
    std::vector<std::string> words{program_,        "serve",    "--data",
                                   dataDirectory(), "--listen", address()};
    words.insert(words.end(), settings_.arguments.begin(), settings_.arguments.end());
    std::vector<std::string> variables = environmentWith(settings_.environment);
    const std::vector<char*> arguments = pointersTo(words);
    const std::vector<char*> environment = pointersTo(variables);
    said_.clear();
    pid_ = ::fork();
    if (pid_ == 0) {
        ::prctl(PR_SET_PDEATHSIG, SIGKILL);
        const rlimit limit{settings_.descriptors, settings_.descriptors};
        if (settings_.descriptors != 0 && ::setrlimit(RLIMIT_NOFILE, &limit) != 0) {
            ::_exit(126);
        }
        const int errors = ::open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0644);
        ::dup2(ends[1], STDOUT_FILENO);
        ::dup2(errors, STDERR_FILENO);
        ::close(errors);
        ::execve(program_.c_str(), arguments.data(), environment.data());
        ::_exit(127);
    }
    ::close(ends[1]);
    output_ = ends[0];
}

std::string BrokerProcess::awaitReady() {
    const auto deadline = Clock::now() + std::chrono::seconds(60);
    while (Clock::now() < deadline) {
        pollfd waiting{output_, POLLIN, 0};
        if (::poll(&waiting, 1, 100) <= 0) {
            continue;
        }
        char bytes[512];
        const ssize_t got = ::read(output_, bytes, sizeof bytes);
        if (got <= 0) {
            return "the broker did not start (" + awaitEnd(std::chrono::seconds(5)) +
                   "): " + logTail();
        }
        said_.append(bytes, static_cast<std::size_t>(got));
        if (said_.find("ready") != std::string::npos && said_.ends_with('\n')) {
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
    signal(SIGTERM);
    const std::string how = awaitEnd(std::chrono::seconds(60));
    killNow();
    return how.empty() ? how : "the orderly stop failed (" + how + "): " + logTail();
}

void BrokerProcess::signal(int number) const {
    if (pid_ > 0) {
        ::kill(pid_, number);
    }
}

std::string BrokerProcess::awaitEnd(std::chrono::seconds longest) {
    if (pid_ <= 0) {
        return "not running";
    }
    bool ended = false;
    const std::string how = endWithin(pid_, longest, ended);
    pid_ = ended ? -1 : pid_;
    return how;
}

std::string BrokerProcess::log() const {
    std::ifstream log(folder_ + "/broker.log");
    std::stringstream all;
    all << log.rdbuf();
    return all.str();
}

std::string BrokerProcess::logTail() const {
    const std::string text = log();
    return text.size() <= 3000 ? text : text.substr(text.size() - 3000);
}

} // namespace millrace::support
