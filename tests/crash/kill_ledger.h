// SPDX-License-Identifier: Apache-2.0
// What publishers were told and what consumers got, over many lives of a broker, and every broken
// promise among it.
//
// The rules: no confirmed message is lost; per publisher and queue the first deliveries rise, over
// all lives (order is kept, and what was passed over because it was cut off never comes back); in
// one life nothing comes twice; an acked message comes again only if its ack was sent less than the
// grace before the kill; what comes again says redelivered; a message routed to two queues is in
// both or in none. Any thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

namespace millrace::crash_tests {

class KillLedger {
  public:
    using Time = std::chrono::steady_clock::time_point;

    // A publisher and the queues that take what it publishes.
    struct Route {
        std::vector<std::size_t> queues;
    };
    KillLedger(std::vector<std::string> queueNames, std::vector<Route> publishers);

    // --- lives
    void beginLife();
    // `grace`: acks sent later than this before the kill may be lost.
    void killed(Time when, std::chrono::milliseconds grace);

    // --- publishers; numbers count from 1 for each
    std::uint64_t publishing(std::size_t publisher);
    void confirmed(std::size_t publisher, std::uint64_t number);

    // --- consumers
    void delivered(std::size_t queue, std::size_t publisher, std::uint64_t number,
                   bool redelivered);
    void acked(std::size_t queue, std::size_t publisher, std::uint64_t number, Time sent);
    void violation(const std::string& text);

    // --- the audit. All queues are drained: what is missing now is lost.
    void auditDrained();
    std::vector<std::string> violations() const;
    std::uint64_t published() const;
    std::uint64_t confirmedCount() const;
    std::uint64_t deliveredCount() const;
    std::uint64_t redeliveredAfterAck() const;

  private:
    struct Copy {                  // of one message in one queue
        std::uint32_t life = 0;    // of its last delivery; 0: none
        std::uint32_t ackLife = 0; // 0: none
        Time ackSent;
    };
    struct Track { // of one publisher in one queue
        std::size_t queue = 0;
        std::uint64_t highestFirst = 0;
        std::uint64_t lastInLife = 0;
        std::vector<Copy> copies; // by number - 1
    };
    struct Publisher {
        std::vector<Track> tracks;
        std::vector<bool> confirmed; // by number - 1
    };
    struct Life {
        Time killed;
        std::chrono::milliseconds grace{0};
        bool over = false;
    };

    Track* trackOf(std::size_t queue, std::size_t publisher);
    void complain(const std::string& text);
    std::string name(const Track& track, std::size_t publisher, std::uint64_t number) const;
    void checkAgain(const Copy& copy, const std::string& what, bool redelivered);

    mutable std::mutex mutex_;
    std::vector<std::string> queueNames_;
    std::vector<Publisher> publishers_;
    std::vector<Life> lives_; // [0] unused
    std::vector<std::string> violations_;
    std::uint64_t confirmedCount_ = 0;
    std::uint64_t deliveredCount_ = 0;
    std::uint64_t againAfterAck_ = 0;
};

} // namespace millrace::crash_tests
