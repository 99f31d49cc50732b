// SPDX-License-Identifier: Apache-2.0
// A log::CommitLog in memory that commits late: its horizons move only when the test says so, in
// order, and its uncommitted tail can be withdrawn. Strict: it complains about what a file log
// would forgive by luck (over-release, reads of what was released, views used after their time,
// replay from below what was reclaimed). Lives on: the test's thread. What it does to the listener
// happens in harvest().
#pragma once

#include "base/clock.h"
#include "log/commit_log.h"

#include <deque>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace millrace::support {

class DelayedLog final : public log::CommitLog {
  public:
    enum class Kind {
        durable,
        scratch, // ids carry base::kScratchBit; a closed record is at every horizon; gone after
                 // restart()
    };
    // Without a clock every record has log time 0.
    explicit DelayedLog(Kind kind = Kind::durable, const base::Clock* clock = nullptr);
    ~DelayedLog() override;

    base::Result<base::MessageId> append(const log::Entry& entry) override;
    void submit() override;
    bool read(const base::MessageId& id, log::Stored& out) override;
    void fetch(std::uint64_t token, std::vector<base::MessageId> ids) override;
    void release(const base::MessageId& first, std::uint32_t slots, std::uint32_t count) override;
    void covered(base::LogIndex below) override;

    // --- as LocalLog's verbs of the same names
    base::Status replay(base::LogIndex from, const log::ReplayVisitor& visitor);
    void hold(const base::MessageId& first, std::uint32_t slots, std::uint32_t count);
    void start(log::CommitLogListener& listener);
    void harvest();
    log::Horizons horizons() const { return horizons_; }

    // --- the test's hand. An index counts closed records (without kScratchBit); see appended().
    base::LogIndex appended() const { return horizons_.appended; }
    void advanceTo(base::LogIndex index); // written, synced and committed
    void advanceAll() { advanceTo(horizons_.appended); }
    void writeTo(base::LogIndex index);
    void syncTo(base::LogIndex index);
    void commitTo(base::LogIndex index);
    // Records from `from` on, which must be above committed, are gone; told with the next
    // harvest(). Appends are then refused (ErrorCode::stopped) until restart().
    void withdraw(base::LogIndex from, base::Error why);
    // Power cut and start: what is not synced is lost, holders are forgotten. Replay (with hold())
    // and start() follow.
    void restart();
    // Appends are refused (ErrorCode::full), as by a full disk.
    void refuse(bool on) { refusing_ = on; }
    // Records at or below are only on "disk": read() says false, fetch() brings them.
    void evictTo(base::LogIndex index) { evicted_ = index; }
    // Fetches are not answered by harvest() while held.
    void holdFetches(bool on) { fetchesHeld_ = on; }
    void damage(const base::MessageId& id);

    // --- the test's eye
    std::uint32_t holders(const base::MessageId& id) const; // 0 also for what is gone
    std::uint64_t heldEntries() const;                      // entries with a holder
    std::size_t records() const { return records_.size(); }
    std::size_t pendingFetches() const { return fetches_.size(); }
    // Asks listener.needed() of every entry with references; the differences to the holders, in
    // words.
    std::vector<std::string> differencesToNeeded();
    // What the user of the log did wrong. Without a handler the program ends with the text.
    std::function<void(const std::string&)> onFault;
    // Everything that is appended, with the id that it got.
    std::function<void(const log::Entry&, const base::MessageId&)> onAppend;

  private:
    struct Slot {
        log::EntryKind kind = 0;
        std::vector<base::QueueId> routes;
        std::uint32_t references = 0;
        std::uint32_t holders = 0;
        bool damaged = false;
        std::string payload;
    };
    struct Record {
        std::vector<Slot> slots;
        std::size_t bytes = 0;
        std::int64_t wallMs = 0;
    };
    struct Fetch {
        std::uint64_t token;
        std::vector<base::MessageId> ids;
    };

    base::LogIndex openIndex() const { return horizons_.appended + 1; }
    const Record* recordOf(const base::MessageId& id) const;
    const Slot* find(const base::MessageId& id) const;
    Slot* find(const base::MessageId& id);
    bool readable(const base::MessageId& id, const char* verb);
    base::Bytes lend(const std::string& payload);
    void expireLent();
    void reclaim();
    void fault(const std::string& text) const;
    log::Stored storedCopy(const base::MessageId& id);

    Kind kind_;
    const base::Clock* clock_;
    log::CommitLogListener* listener_ = nullptr;
    std::map<base::LogIndex, Record> records_; // closed ones
    Record open_;
    log::Horizons horizons_;
    log::Horizons told_;
    std::int64_t lastWallMs_ = 0;
    base::LogIndex covered_ = 1;
    base::LogIndex evicted_ = 0;
    std::deque<Fetch> fetches_;
    base::LogIndex withdrawnFrom_ = 0;
    base::Error withdrawnWhy_;
    bool withdrawalTold_ = true;
    bool stopped_ = false;
    bool refusing_ = false;
    bool fetchesHeld_ = false;
    // Views given out by read() since the last call that ends their time; then overwritten, and
    // freed one call later.
    std::deque<std::string> lent_;
    std::deque<std::string> expired_;
};

} // namespace millrace::support
