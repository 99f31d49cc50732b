// SPDX-License-Identifier: Apache-2.0
// A node in small: turns that append and settle, a log, a checkpointer by the rules of
// message_index.h, a store that shows after a crash any version of a page since the last finished
// round.
#pragma once

#include "engine/message_index.h"
#include "support/seed.h"
#include "unit/engine_index/index_oracle.h"

#include <QString>

#include <algorithm>
#include <deque>
#include <functional>
#include <limits>
#include <map>
#include <string>
#include <vector>

namespace millrace::engine_test {

using engine::MessageIndex;

inline constexpr LogIndex kNoLimit = std::numeric_limits<LogIndex>::max();

struct LogEntry {
    enum class What { append, settle, mark } what = What::append;
    MessageId id;
    std::uint64_t mark = 0;
};

// A store of pages that may show, of each key alone, any version since the last finished round.
struct PageStore {
    struct Version {
        bool present = false;
        std::string bytes;
    };
    struct HeadVersion {
        MessageIndex::Head head;
        LogIndex reflects = 0;
    };
    std::map<MessageId, std::vector<Version>> versions; // the first is the last that is safe
    std::vector<HeadVersion> heads{{}};
    LogIndex replayFrom = 1;

    void put(const MessageId& key, Version version) {
        auto& all = versions[key];
        if (all.empty()) {
            all.emplace_back();
        }
        all.push_back(std::move(version));
    }
    void finish(LogIndex from) {
        for (auto& [key, all] : versions) {
            all.erase(all.begin(), all.end() - 1);
        }
        std::erase_if(versions, [](const auto& entry) { return !entry.second.back().present; });
        heads.erase(heads.begin(), heads.end() - 1);
        replayFrom = from;
    }
    void crash(support::Random& random) {
        for (auto& [key, all] : versions) {
            all = {all[random.below(all.size())]};
        }
        heads = {heads[random.below(heads.size())]};
        std::erase_if(versions, [](const auto& entry) { return !entry.second.back().present; });
    }
};

// The broker's part in small: turns that append and settle, a log, a checkpointer by the rules of
// message_index.h.
class Node {
  public:
    explicit Node(support::Random& random) : random_(random) {}

    void turn() {
        const LogIndex open = closed_ + 1;
        std::vector<LogEntry>& record = log_[open];
        const std::uint64_t appends = random_.chance(10) ? random_.below(600) : random_.below(8);
        for (std::uint64_t i = 0; i < appends; ++i) {
            slot_ += static_cast<std::uint32_t>(1 + random_.below(2));
            const MessageId id{open, slot_};
            index_.append(id);
            record.push_back({LogEntry::What::append, id, 0});
            if (random_.chance(20)) {
                index_.append({++scratchRecord_ | base::kScratchBit, 0});
            }
        }
        slot_ = 0;
        const std::uint64_t delivers = random_.below(random_.chance(10) ? 400 : 8);
        for (std::uint64_t i = 0; i < delivers; ++i) {
            deliver(record);
        }
        settleSome(record, open);
        closed_ = open;
        if (random_.chance(30)) { // the turn's last settles went to a record of their own
            closed_ = open + 1;
            log_[closed_] = {};
        }
    }
    void checkpointStep() {
        if (round_ == 0) {
            if (!random_.chance(30)) {
                return;
            }
            round_ = closed_ + 1;
        }
        takeRemoved();
        if (index_.headDirty(round_)) {
            const auto head = index_.takeHead();
            actions_.push_back({closed_, [this, head, at = closed_] {
                                    store_.heads.push_back({head, at});
                                }});
        }
        for (std::uint64_t i = random_.below(4); i > 0; --i) {
            std::string page;
            if (const auto key = index_.takeDirtyChunk(round_, page)) {
                actions_.push_back({closed_, [this, key, page] {
                                        store_.put(*key, {true, page});
                                    }});
            }
        }
        takeRemoved();
        const LogIndex since = index_.dirtySince();
        if (since == 0 || since >= round_) {
            actions_.push_back({closed_, [this, from = round_] { store_.finish(from); }});
            round_ = 0;
        }
    }
    void sync() {
        synced_ += random_.below(closed_ - synced_ + 1);
        while (!actions_.empty() && actions_.front().needs <= synced_) {
            actions_.front().run();
            actions_.pop_front();
        }
    }
    // Power cut and start. `finished` is false where the recovered index is not what the log says.
    QString crash() {
        log_.erase(log_.upper_bound(synced_), log_.end());
        closed_ = synced_;
        actions_.clear();
        round_ = 0;
        outIds_.clear();
        scratchRecord_ = 0;
        store_.crash(random_);
        index_ = MessageIndex();
        index_.loadHead(store_.heads[0].head, store_.heads[0].reflects);
        std::vector<MessageId> keys;
        for (const auto& [key, all] : store_.versions) {
            keys.insert(keys.begin() + static_cast<std::ptrdiff_t>(random_.below(keys.size() + 1)),
                        key);
        }
        for (const MessageId& key : keys) {
            const auto status = index_.loadChunk(key, base::bytesOf(store_.versions[key][0].bytes),
                                                 store_.replayFrom);
            if (!status.ok()) {
                return QString::fromStdString(status.error().text);
            }
        }
        for (auto at = log_.lower_bound(store_.replayFrom); at != log_.end(); ++at) {
            for (const LogEntry& entry : at->second) {
                replay(entry, at->first);
            }
        }
        const auto status = index_.finishRecovery();
        return status.ok() ? differenceToLog() : QString::fromStdString(status.error().text);
    }
    MessageIndex& index() { return index_; }
    std::size_t pages() const { return store_.versions.size(); }
    bool settled() const { return round_ == 0 && actions_.empty() && index_.dirtySince() == 0; }
    void quiet() { // nothing but checkpoints and syncs from now on
        synced_ = closed_;
        for (int i = 0; i < 10'000 && !settled(); ++i) {
            checkpointStep();
            sync();
        }
    }

  private:
    struct Action {
        LogIndex needs;
        std::function<void()> run;
    };

    void takeRemoved() {
        std::vector<MessageId> keys;
        index_.takeRemoved(keys);
        for (const MessageId& key : keys) {
            actions_.push_back({closed_, [this, key] { store_.put(key, {}); }});
        }
    }
    void deliver(std::vector<LogEntry>& record) {
        const auto ready = index_.nextReady(kNoLimit);
        if (!ready) {
            return;
        }
        if (ready->ordinal > index_.deliveredMark()) {
            const std::uint64_t mark = ready->ordinal + random_.below(50);
            index_.setDeliveredMark(mark, closed_ + 1);
            record.push_back({LogEntry::What::mark, {}, mark});
        }
        index_.markOut(ready->id);
        outIds_.push_back(ready->id);
    }
    void settleSome(std::vector<LogEntry>& record, LogIndex open) {
        const std::uint64_t settles = random_.below(random_.chance(10) ? 400 : 8);
        for (std::uint64_t i = 0; i < settles && !outIds_.empty(); ++i) {
            const std::size_t at = random_.chance(60) ? 0 : random_.below(outIds_.size());
            const MessageId id = outIds_[at];
            outIds_.erase(outIds_.begin() + static_cast<std::ptrdiff_t>(at));
            if (random_.chance(5)) {
                index_.giveBack(id);
                continue;
            }
            index_.settle(id, open);
            if (!id.isScratch()) {
                record.push_back({LogEntry::What::settle, id, 0});
            }
        }
    }
    void replay(const LogEntry& entry, LogIndex at) {
        switch (entry.what) {
        case LogEntry::What::append:
            index_.applyAppend(entry.id);
            break;
        case LogEntry::What::settle:
            index_.settle(entry.id, at);
            break;
        case LogEntry::What::mark:
            index_.applyMark(entry.mark, at);
            break;
        }
    }
    QString differenceToLog() {
        IndexOracle oracle;
        std::uint64_t mark = 0;
        for (const auto& [at, record] : log_) {
            for (const LogEntry& entry : record) {
                if (entry.what == LogEntry::What::append) {
                    oracle.append(entry.id);
                } else if (entry.what == LogEntry::What::settle) {
                    oracle.settle(entry.id);
                } else {
                    mark = entry.mark;
                }
            }
        }
        if (unsettledIds(index_) != oracle.ids(false)) {
            return QStringLiteral("other messages than the log says");
        }
        if (index_.ordinals() != oracle.ordinals() || index_.deliveredMark() != mark) {
            return QStringLiteral("other ordinals or mark than the log says");
        }
        std::vector<MessageId> taken;
        for (const auto& [place, message] : oracle.messages()) {
            const auto ready = index_.nextReady(kNoLimit);
            if (!ready || ready->id != message.id || ready->ordinal != message.ordinal ||
                ready->redelivered != (message.ordinal <= mark)) {
                return QStringLiteral("another order, ordinal or flag than the log says");
            }
            index_.markOut(ready->id);
            taken.push_back(ready->id);
        }
        for (const MessageId& id : taken) {
            index_.giveBack(id, false);
        }
        return {};
    }

    support::Random& random_;
    MessageIndex index_;
    std::map<LogIndex, std::vector<LogEntry>> log_;
    LogIndex closed_ = 0;
    LogIndex synced_ = 0;
    std::uint32_t slot_ = 0;
    LogIndex scratchRecord_ = 0;
    std::deque<MessageId> outIds_;
    PageStore store_;
    std::deque<Action> actions_;
    LogIndex round_ = 0;
};

} // namespace millrace::engine_test
