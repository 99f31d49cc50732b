// SPDX-License-Identifier: Apache-2.0
#include "engine/journal.h"

#include "base/limits.h"
#include "engine/queue.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace millrace::engine {

using base::LogIndex;
using base::MessageId;

void Journal::noteAppended(const MessageId& id, std::size_t bytes) {
    lastRecord_ = openIndex_ = id.record;
    unsubmitted_ = true;
    bytesAppended_ += bytes;
    ++entriesAppended_;
}

base::Result<MessageId> Journal::append(EntryKind kind, log::Waiting waiting, base::Bytes payload) {
    const base::Bytes parts[] = {payload};
    log::Entry entry;
    entry.kind = raw(kind);
    entry.waiting = waiting;
    entry.parts = parts;
    auto id = durable_.append(entry);
    if (id) {
        noteAppended(*id, payload.size());
    }
    return id;
}

base::Result<MessageId> Journal::appendMessage(bool durable, const log::Entry& entry) {
    if (!durable) {
        return scratch_.append(entry);
    }
    auto id = durable_.append(entry);
    if (id) {
        std::size_t bytes = 0;
        for (const base::Bytes part : entry.parts) {
            bytes += part.size();
        }
        noteAppended(*id, bytes);
    }
    return id;
}

base::Result<MessageId> Journal::appendDecided(EntryKind kind, log::Waiting waiting,
                                               std::string payload) {
    flushKept();
    if (!kept_.empty()) {
        kept_.push_back({kind, waiting, std::move(payload)});
        return base::Error{base::ErrorCode::full, "the log takes no entries now"};
    }
    auto id = append(kind, waiting, base::bytesOf(payload));
    if (!id) {
        kept_.push_back({kind, waiting, std::move(payload)});
    }
    return id;
}

void Journal::settled(const Queue& queue, const Run& run) {
    if (!queue.logged || run.first.isScratch()) {
        releaseNow(run);
        return;
    }
    if (committed_) {
        return;
    }
    if (!gathered_.empty()) {
        Settled& last = gathered_.back();
        if (last.queue == queue.spec.id && last.record == run.first.record &&
            last.slot + last.count == run.first.slot) {
            last.count += run.count;
            return;
        }
    }
    gathered_.push_back({queue.spec.id, run.first.record, run.first.slot, run.count});
}

void Journal::releaseAfter(LogIndex record, const Run& run) {
    if (run.first.isScratch() || record <= horizons_.committed) {
        releaseNow(run);
        return;
    }
    if (due_.size() > dueHead_) {
        Due& last = due_.back();
        if (last.record == record && last.first == run.first.record &&
            last.slot + last.count == run.first.slot) {
            last.count += run.count;
            return;
        }
        // A job's release may name an older record than the settles of this turn: later is as good.
        record = std::max(record, last.record);
    }
    due_.push_back({record, run.first.record, run.first.slot, run.count});
}

void Journal::releaseNow(const Run& run) {
    if (!withdrawn_) {
        logOf(run.first).release(run.first, run.count, 1);
    }
}

void Journal::sortGathered() {
    const auto before = [](const Settled& a, const Settled& b) {
        return std::tie(a.queue, a.record, a.slot) < std::tie(b.queue, b.record, b.slot);
    };
    if (!std::is_sorted(gathered_.begin(), gathered_.end(), before)) {
        std::sort(gathered_.begin(), gathered_.end(), before);
    }
}

std::size_t Journal::writeBlocks(std::size_t begin, std::size_t bound, std::string& blocks) const {
    SettleWriter writer(blocks);
    std::size_t at = begin;
    while (at < gathered_.size() && blocks.size() < bound) {
        const base::QueueId queue = gathered_[at].queue;
        // A run is at most 30 bytes: so many fit for sure.
        const std::size_t most = std::max<std::size_t>(1, (bound - blocks.size()) / 30);
        std::size_t end = at;
        while (end < gathered_.size() && gathered_[end].queue == queue && end - at < most) {
            ++end;
        }
        writer.queue(queue, static_cast<std::uint32_t>(end - at));
        for (; at < end; ++at) {
            const Settled& item = gathered_[at];
            writer.run(Run{{item.record, item.slot}, item.count, 0});
        }
    }
    return at;
}

void Journal::dueFrom(std::size_t begin, std::size_t end, LogIndex record) {
    for (std::size_t i = begin; i < end; ++i) {
        const Settled& item = gathered_[i];
        releaseAfter(record, Run{{item.record, item.slot}, item.count, 0});
    }
}

base::Result<LogIndex> Journal::appendCommit(std::uint32_t messages, LogIndex from,
                                             std::span<const QueueRun> runs) {
    if (messages == 0 && runs.empty()) {
        return LogIndex{0};
    }
    // What was gathered before has entries of its own.
    std::vector<Settled> others = std::exchange(gathered_, {});
    for (const QueueRun& item : runs) {
        gathered_.push_back(
            {item.queue, item.run.first.record, item.run.first.slot, item.run.count});
    }
    sortGathered();
    payload_.clear();
    base::ByteWriter(payload_).little<std::uint32_t>(messages);
    writeBlocks(0, SIZE_MAX, payload_);
    const auto id = append(EntryKind::txCommit, log::Waiting::somebody, base::bytesOf(payload_));
    if (id) {
        dueFrom(0, gathered_.size(), id.value().record);
        if (messages > 0 && from < id.value().record) {
            chains_.push_back({from, id.value().record});
        }
    }
    gathered_ = std::move(others);
    return id ? base::Result<LogIndex>(id.value().record) : id.error();
}

void Journal::flushKept() {
    std::size_t done = 0;
    while (done < kept_.size()) {
        const Kept& kept = kept_[done];
        if (!append(kept.kind, kept.waiting, base::bytesOf(kept.payload))) {
            break;
        }
        ++done;
    }
    kept_.erase(kept_.begin(), kept_.begin() + static_cast<std::ptrdiff_t>(done));
}

void Journal::flush() {
    flushKept();
    sortGathered();
    std::size_t begin = 0;
    while (begin < gathered_.size()) {
        payload_.clear();
        const std::size_t end = writeBlocks(begin, limits::kSettleEntryBytes, payload_);
        const auto id = append(EntryKind::settle, log::Waiting::nobody, base::bytesOf(payload_));
        if (!id) {
            break; // the next flush tries again
        }
        dueFrom(begin, end, id.value().record);
        begin = end;
    }
    gathered_.erase(gathered_.begin(), gathered_.begin() + static_cast<std::ptrdiff_t>(begin));
    if (gathered_.empty()) {
        for (const Run& run : withSettles_) {
            releaseAfter(lastRecord_, run);
        }
        withSettles_.clear();
    }
}

void Journal::submit() {
    durable_.submit();
    scratch_.submit();
    if (unsubmitted_) {
        unsubmitted_ = false;
        lastClosed_ = lastRecord_;
        openIndex_ = lastRecord_ + 1;
    }
}

void Journal::fetch(std::uint64_t token, std::vector<MessageId> ids) {
    log::CommitLog& from = logOf(ids.front());
    from.fetch(token, std::move(ids));
}

void Journal::advanced(const log::Horizons& horizons) {
    horizons_ = horizons;
    std::erase_if(chains_, [&](const Chain& chain) { return chain.to <= horizons.committed; });
    while (dueHead_ < due_.size() && due_[dueHead_].record <= horizons_.committed) {
        const Due& due = due_[dueHead_++];
        durable_.release({due.first, due.slot}, due.count, 1);
    }
    if (dueHead_ == due_.size()) {
        due_.clear();
        dueHead_ = 0;
    } else if (dueHead_ > 4096 && dueHead_ > due_.size() / 2) {
        due_.erase(due_.begin(), due_.begin() + static_cast<std::ptrdiff_t>(dueHead_));
        dueHead_ = 0;
    }
}

bool Journal::waitsForSettle(const MessageId& id) const {
    const auto holds = [&id](LogIndex record, std::uint32_t slot, std::uint32_t count) {
        return record == id.record && id.slot >= slot && id.slot - slot < count;
    };
    for (std::size_t i = dueHead_; i < due_.size(); ++i) {
        if (holds(due_[i].first, due_[i].slot, due_[i].count)) {
            return true;
        }
    }
    return std::any_of(gathered_.begin(), gathered_.end(), [&holds](const Settled& item) {
        return holds(item.record, item.slot, item.count);
    });
}

void Journal::startAt(LogIndex last) {
    lastRecord_ = lastClosed_ = last;
    openIndex_ = last + 1;
    horizons_ = {last, last, last, last};
}

std::size_t Journal::memoryBytes() const {
    return gathered_.capacity() * sizeof(Settled) + due_.capacity() * sizeof(Due) +
           payload_.capacity();
}

} // namespace millrace::engine
