// SPDX-License-Identifier: Apache-2.0
// A LocalLog with its loop played by the test's thread: turns, waiting for horizons, fetching, and
// what a reopened log shows.
#pragma once

#include "log/local_log.h"
#include "support/hand_clock.h"
#include "support/wake_signal.h"

#include <QTest>

#include <map>
#include <string>
#include <vector>

namespace millrace::log {

inline std::string textOf(const Stored& stored) {
    return std::string(base::textOf(stored.payload));
}

struct Seen { // a replayed entry, copied
    MessageId id;
    EntryKind kind = 0;
    std::vector<QueueId> routes;
    std::string payload;
    std::int64_t wallMs = 0;
    bool damaged = false;
};

class LogFixture : public CommitLogListener {
  public:
    LogFixture(base::FileSystem& files, Options options)
        : files_(files), options_(std::move(options)) {
        options_.wake = signal.callback();
    }
    ~LogFixture() override { log_.reset(); }

    // Opens, replays from `from`, starts. Empty text, or what went wrong.
    std::string open(LogIndex from = 1) {
        log_.reset();
        seen.clear();
        withdrawnFrom = 0;
        base::Result<std::unique_ptr<LocalLog>> opened = LocalLog::open(files_, clock, options_);
        if (!opened) {
            return opened.error().text;
        }
        log_ = std::move(*opened);
        const base::Status replayed = log_->replay(from, [this](const Replayed& entry) {
            seen.push_back({entry.id,
                            entry.kind,
                            {entry.routes.begin(), entry.routes.end()},
                            std::string(base::textOf(entry.payload)),
                            entry.wallMs,
                            entry.damaged});
        });
        if (!replayed) {
            return replayed.error().text;
        }
        log_->start(*this);
        return {};
    }
    void close() { log_.reset(); } // as a crash
    LocalLog& log() { return *log_; }

    base::Result<MessageId> tryAppend(const std::string& payload, std::uint32_t references = 1,
                                      std::vector<QueueId> routes = {7},
                                      Waiting waiting = Waiting::somebody) {
        const base::Bytes part = base::bytesOf(payload);
        Entry entry;
        entry.kind = 1;
        entry.waiting = waiting;
        entry.routes = routes;
        entry.references = references;
        entry.parts = {&part, 1};
        return log_->append(entry);
    }
    MessageId append(const std::string& payload, std::uint32_t references = 1,
                     std::vector<QueueId> routes = {7}, Waiting waiting = Waiting::somebody) {
        base::Result<MessageId> id = tryAppend(payload, references, std::move(routes), waiting);
        return id ? *id : MessageId{};
    }
    // One turn with one entry, synced.
    MessageId appendSynced(const std::string& payload, std::uint32_t references = 1) {
        const MessageId id = append(payload, references);
        return id && sync() ? id : MessageId{};
    }
    bool sync() {
        log_->submit();
        return wait([this] { return log_->horizons().synced == log_->horizons().appended; });
    }
    // Harvests until it is so.
    bool wait(const std::function<bool()>& done) {
        return signal.waitFor([&] {
            log_->harvest();
            return done();
        });
    }
    // Ticks, each `step` of the hand clock later, until it is so.
    bool tickUntil(const std::function<bool()>& done,
                   std::chrono::milliseconds step = std::chrono::milliseconds(200)) {
        return QTest::qWaitFor(
            [&] {
                clock.advance(step);
                log_->tick();
                return done();
            },
            30'000);
    }
    bool sparesAreReady(std::uint64_t count) {
        return wait([this, count] { return log_->statistics().spareSegments == count; });
    }
    std::vector<Stored> fetch(std::vector<MessageId> ids) {
        const std::uint64_t token = ++lastToken_;
        log_->fetch(token, std::move(ids));
        (void)wait([&] { return answers.count(token) != 0; });
        return std::move(answers[token]);
    }
    std::string textAt(const MessageId& id) {
        Stored stored;
        if (log_->read(id, stored)) {
            return textOf(stored);
        }
        const std::vector<Stored> fetched = fetch({id});
        return fetched.empty() || fetched[0].damaged ? "<damaged>" : textOf(fetched[0]);
    }
    std::vector<std::string> payloads() const {
        std::vector<std::string> all;
        for (const Seen& entry : seen) {
            all.push_back(entry.damaged ? "<damaged>" : entry.payload);
        }
        return all;
    }

    void advanced(const Horizons& horizons) override { told.push_back(horizons); }
    void withdrawn(LogIndex from, const base::Error& why) override {
        withdrawnFrom = from;
        ++withdrawals;
        withdrawnWhy = why;
    }
    void fetched(std::uint64_t token, std::vector<Stored> entries) override {
        answers[token] = std::move(entries);
    }
    bool needed(const MessageId& id, EntryKind, std::span<const QueueId>) override {
        ++asked;
        return stillNeeded ? stillNeeded(id) : true;
    }

    support::WakeSignal signal;
    support::HandClock clock;
    std::vector<Seen> seen;
    std::vector<Horizons> told;
    std::map<std::uint64_t, std::vector<Stored>> answers;
    std::function<bool(const MessageId&)> stillNeeded;
    std::uint64_t asked = 0;
    LogIndex withdrawnFrom = 0;
    int withdrawals = 0;
    base::Error withdrawnWhy;

  private:
    base::FileSystem& files_;
    Options options_;
    std::unique_ptr<LocalLog> log_;
    std::uint64_t lastToken_ = 0;
};

inline Options smallLog(const std::string& folder = "/data/log") {
    Options options;
    options.folder = folder;
    options.segmentBytes = 256 * 1024;
    options.memoryBytes = 1024 * 1024;
    options.diskFreeLimit = 1024 * 1024;
    return options;
}

} // namespace millrace::log
