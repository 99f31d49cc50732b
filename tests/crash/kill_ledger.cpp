// SPDX-License-Identifier: Apache-2.0
#include "crash/kill_ledger.h"

namespace millrace::crash_tests {

namespace {

constexpr std::size_t kMostViolations = 50; // enough to see the pattern

} // namespace

KillLedger::KillLedger(std::vector<std::string> queueNames, std::vector<Route> publishers)
    : queueNames_(std::move(queueNames)), lives_(1) {
    for (const Route& route : publishers) {
        Publisher publisher;
        for (const std::size_t queue : route.queues) {
            Track track;
            track.queue = queue;
            publisher.tracks.push_back(std::move(track));
        }
        publishers_.push_back(std::move(publisher));
    }
}

void KillLedger::beginLife() {
    const std::lock_guard lock(mutex_);
    lives_.emplace_back();
    for (Publisher& publisher : publishers_) {
        for (Track& track : publisher.tracks) {
            track.lastInLife = 0;
        }
    }
}

void KillLedger::killed(Time when, std::chrono::milliseconds grace) {
    const std::lock_guard lock(mutex_);
    lives_.back() = Life{when, grace, true};
}

std::uint64_t KillLedger::publishing(std::size_t publisher) {
    const std::lock_guard lock(mutex_);
    Publisher& who = publishers_[publisher];
    who.confirmed.push_back(false);
    for (Track& track : who.tracks) {
        track.copies.emplace_back();
    }
    return who.confirmed.size();
}

void KillLedger::confirmed(std::size_t publisher, std::uint64_t number) {
    const std::lock_guard lock(mutex_);
    publishers_[publisher].confirmed[number - 1] = true;
    ++confirmedCount_;
}

KillLedger::Track* KillLedger::trackOf(std::size_t queue, std::size_t publisher) {
    if (publisher >= publishers_.size()) {
        return nullptr;
    }
    for (Track& track : publishers_[publisher].tracks) {
        if (track.queue == queue) {
            return &track;
        }
    }
    return nullptr;
}

void KillLedger::complain(const std::string& text) {
    if (violations_.size() < kMostViolations) {
        violations_.push_back("life " + std::to_string(lives_.size() - 1) + ": " + text);
    }
}

void KillLedger::violation(const std::string& text) {
    const std::lock_guard lock(mutex_);
    complain(text);
}

std::string KillLedger::name(const Track& track, std::size_t publisher,
                             std::uint64_t number) const {
    return "message " + std::to_string(number) + " of publisher " + std::to_string(publisher) +
           " in " + queueNames_[track.queue];
}

void KillLedger::delivered(std::size_t queue, std::size_t publisher, std::uint64_t number,
                           bool redelivered) {
    const std::lock_guard lock(mutex_);
    ++deliveredCount_;
    Track* track = trackOf(queue, publisher);
    if (!track || number == 0 || number > track->copies.size()) {
        complain("a message that nobody published to " + queueNames_[queue] + " was delivered");
        return;
    }
    Copy& copy = track->copies[number - 1];
    const std::string what = name(*track, publisher, number);
    const auto life = static_cast<std::uint32_t>(lives_.size() - 1);
    if (copy.life == life) {
        complain(what + " came twice");
    } else if (copy.life != 0) {
        checkAgain(copy, what, redelivered);
    } else if (number < track->highestFirst) {
        complain(what + " came first after number " + std::to_string(track->highestFirst) +
                 ": out of order, or back from the dead");
    } else {
        track->highestFirst = number;
    }
    if (number < track->lastInLife) {
        complain(what + " came after number " + std::to_string(track->lastInLife));
    }
    track->lastInLife = number;
    copy.life = life;
}

void KillLedger::checkAgain(const Copy& copy, const std::string& what, bool redelivered) {
    if (!redelivered) {
        complain(what + " came again without the redelivered flag");
    }
    if (copy.ackLife == 0) {
        return;
    }
    ++againAfterAck_;
    const Life& life = lives_[copy.ackLife];
    const auto before =
        std::chrono::duration_cast<std::chrono::milliseconds>(life.killed - copy.ackSent);
    if (!life.over || before > life.grace) {
        complain(what + " came again, though its ack was sent " + std::to_string(before.count()) +
                 " ms before the kill of life " + std::to_string(copy.ackLife) + " (grace " +
                 std::to_string(life.grace.count()) + " ms)");
    }
}

void KillLedger::acked(std::size_t queue, std::size_t publisher, std::uint64_t number, Time sent) {
    const std::lock_guard lock(mutex_);
    Track* track = trackOf(queue, publisher);
    if (track && number > 0 && number <= track->copies.size()) {
        Copy& copy = track->copies[number - 1];
        copy.ackLife = static_cast<std::uint32_t>(lives_.size() - 1);
        copy.ackSent = sent;
    }
}

void KillLedger::auditDrained() {
    const std::lock_guard lock(mutex_);
    for (std::size_t p = 0; p < publishers_.size(); ++p) {
        const Publisher& who = publishers_[p];
        for (std::size_t i = 0; i < who.confirmed.size(); ++i) {
            std::size_t in = 0;
            for (const Track& track : who.tracks) {
                const bool came = track.copies[i].life != 0;
                in += came ? 1 : 0;
                if (who.confirmed[i] && !came) {
                    complain(name(track, p, i + 1) + " was confirmed and is lost");
                }
            }
            if (in != 0 && in != who.tracks.size()) {
                complain("message " + std::to_string(i + 1) + " of publisher " + std::to_string(p) +
                         " reached " + std::to_string(in) + " of its " +
                         std::to_string(who.tracks.size()) + " queues");
            }
        }
    }
}

std::vector<std::string> KillLedger::violations() const {
    const std::lock_guard lock(mutex_);
    return violations_;
}

std::uint64_t KillLedger::published() const {
    const std::lock_guard lock(mutex_);
    std::uint64_t sum = 0;
    for (const Publisher& who : publishers_) {
        sum += who.confirmed.size();
    }
    return sum;
}

std::uint64_t KillLedger::confirmedCount() const {
    const std::lock_guard lock(mutex_);
    return confirmedCount_;
}

std::uint64_t KillLedger::deliveredCount() const {
    const std::lock_guard lock(mutex_);
    return deliveredCount_;
}

std::uint64_t KillLedger::redeliveredAfterAck() const {
    const std::lock_guard lock(mutex_);
    return againAfterAck_;
}

} // namespace millrace::crash_tests
