// SPDX-License-Identifier: Apache-2.0
// A log::CommitLog in memory that commits when the test says so; see the header for what it
// complains about.
#include "support/delayed_log.h"

#include "base/limits.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

namespace millrace::support {

using base::LogIndex;
using base::MessageId;

namespace {

std::string nameOf(const MessageId& id) {
    return (id.isScratch() ? "scratch " : "") + std::to_string(id.record & ~base::kScratchBit) +
           "." + std::to_string(id.slot);
}

} // namespace

DelayedLog::DelayedLog(Kind kind, const base::Clock* clock) : kind_(kind), clock_(clock) {}

DelayedLog::~DelayedLog() = default;

void DelayedLog::fault(const std::string& text) const {
    if (onFault) {
        onFault(text);
        return;
    }
    std::fprintf(stderr, "DelayedLog: %s\n", text.c_str());
    std::abort();
}

base::Result<MessageId> DelayedLog::append(const log::Entry& entry) {
    expireLent();
    if (stopped_) {
        return base::Error{base::ErrorCode::stopped, "the log has stopped"};
    }
    if (refusing_) {
        return base::Error{base::ErrorCode::full, "the log takes nothing now"};
    }
    if (entry.kind == 0) {
        fault("append: entry kind 0 is the log's own");
    }
    if (!std::is_sorted(entry.routes.begin(), entry.routes.end())) {
        fault("append: routes are not ascending");
    }
    Slot slot;
    slot.kind = entry.kind;
    slot.routes.assign(entry.routes.begin(), entry.routes.end());
    slot.references = slot.holders = entry.references;
    for (const base::Bytes part : entry.parts) {
        slot.payload.append(base::textOf(part));
    }
    if (open_.bytes + slot.payload.size() > limits::kRecordBytes) {
        submit();
    }
    if (open_.slots.empty() && clock_) {
        lastWallMs_ = std::max<std::int64_t>(lastWallMs_, clock_->wallNow().count());
    }
    open_.wallMs = lastWallMs_;
    open_.bytes += slot.payload.size();
    open_.slots.push_back(std::move(slot));
    const LogIndex bit = kind_ == Kind::scratch ? base::kScratchBit : 0;
    const MessageId id{openIndex() | bit, static_cast<std::uint32_t>(open_.slots.size() - 1)};
    if (onAppend) {
        onAppend(entry, id);
    }
    return id;
}

void DelayedLog::submit() {
    expireLent();
    if (open_.slots.empty()) {
        return;
    }
    records_.emplace(openIndex(), std::move(open_));
    open_ = Record{};
    ++horizons_.appended;
    if (kind_ == Kind::scratch) {
        horizons_.written = horizons_.synced = horizons_.committed = horizons_.appended;
    }
}

const DelayedLog::Record* DelayedLog::recordOf(const MessageId& id) const {
    if (id.isScratch() != (kind_ == Kind::scratch)) {
        return nullptr;
    }
    const LogIndex index = id.record & ~base::kScratchBit;
    if (index == openIndex()) {
        return &open_;
    }
    const auto found = records_.find(index);
    return found == records_.end() ? nullptr : &found->second;
}

const DelayedLog::Slot* DelayedLog::find(const MessageId& id) const {
    const Record* record = recordOf(id);
    return record && id.slot < record->slots.size() ? &record->slots[id.slot] : nullptr;
}

DelayedLog::Slot* DelayedLog::find(const MessageId& id) {
    return const_cast<Slot*>(std::as_const(*this).find(id));
}

bool DelayedLog::readable(const MessageId& id, const char* verb) {
    const Slot* slot = find(id);
    if (!slot) {
        fault(std::string(verb) + " of " + nameOf(id) + ", which the log does not have");
        return false;
    }
    if (slot->references > 0 && slot->holders == 0) {
        fault(std::string(verb) + " of " + nameOf(id) + ", which all its holders have released");
        return false;
    }
    return true;
}

base::Bytes DelayedLog::lend(const std::string& payload) {
    lent_.push_back(payload);
    return base::bytesOf(lent_.back());
}

// Overwritten first and freed one call later: a stale view reads nonsense, and a sanitizer sees it
// soon.
void DelayedLog::expireLent() {
    expired_.clear();
    expired_.swap(lent_);
    for (std::string& bytes : expired_) {
        std::fill(bytes.begin(), bytes.end(), '\xDD');
    }
}

bool DelayedLog::read(const MessageId& id, log::Stored& out) {
    if (!readable(id, "read")) {
        return false;
    }
    if ((id.record & ~base::kScratchBit) <= evicted_) {
        return false;
    }
    const Slot& slot = *find(id);
    out = log::Stored{id, slot.kind, {}, nullptr, slot.damaged};
    if (!slot.damaged) {
        out.payload = lend(slot.payload);
    }
    return true;
}

void DelayedLog::fetch(std::uint64_t token, std::vector<MessageId> ids) {
    for (const MessageId& id : ids) {
        readable(id, "fetch");
    }
    fetches_.push_back(Fetch{token, std::move(ids)});
}

log::Stored DelayedLog::storedCopy(const MessageId& id) {
    const Slot* slot = find(id);
    log::Stored stored{
        id, slot ? slot->kind : log::EntryKind{0}, {}, nullptr, !slot || slot->damaged};
    if (!stored.damaged) {
        auto copy = std::make_shared<const std::string>(slot->payload);
        stored.payload = base::bytesOf(*copy);
        stored.owner = copy;
    }
    return stored;
}

void DelayedLog::release(const MessageId& first, std::uint32_t slots, std::uint32_t count) {
    for (std::uint32_t i = 0; i < slots; ++i) {
        const MessageId id{first.record, first.slot + i};
        Slot* slot = find(id);
        if (!slot) {
            fault("release of " + nameOf(id) + ", which the log does not have");
            return;
        }
        if (slot->holders < count) {
            fault("over-release of " + nameOf(id) + ": " + std::to_string(count) + " of " +
                  std::to_string(slot->holders) + " holders");
            slot->holders = 0;
            continue;
        }
        slot->holders -= count;
    }
    reclaim();
}

void DelayedLog::covered(LogIndex below) {
    if (below > horizons_.synced + 1) {
        fault("covered below " + std::to_string(below) + ", but synced is only " +
              std::to_string(horizons_.synced));
        return;
    }
    covered_ = std::max(covered_, below);
    reclaim();
}

void DelayedLog::reclaim() {
    if (!listener_) {
        return; // during recovery holders are not complete
    }
    const auto dead = [](const Record& record) {
        return std::all_of(record.slots.begin(), record.slots.end(),
                           [](const Slot& slot) { return slot.holders == 0; });
    };
    // Scratch records have no checkpoint: they go with their last holder.
    const LogIndex below = kind_ == Kind::scratch ? openIndex() : covered_;
    for (auto at = records_.begin(); at != records_.end() && at->first < below;) {
        at = dead(at->second) ? records_.erase(at) : std::next(at);
    }
}

base::Status DelayedLog::replay(LogIndex from, const log::ReplayVisitor& visitor) {
    if (from < covered_) {
        fault("replay from " + std::to_string(from) + ", but everything below " +
              std::to_string(covered_) + " was said to be covered");
    }
    for (auto at = records_.lower_bound(from); at != records_.end(); ++at) {
        Record& record = at->second;
        // Held before the visitor sees any of them: a settle of the same record releases.
        for (Slot& slot : record.slots) {
            slot.holders = slot.references;
        }
        for (std::size_t i = 0; i < record.slots.size(); ++i) {
            const Slot& slot = record.slots[i];
            log::Replayed shown{MessageId{at->first, static_cast<std::uint32_t>(i)},
                                slot.kind,
                                slot.routes,
                                base::bytesOf(slot.payload),
                                record.wallMs,
                                slot.damaged};
            if (slot.damaged) {
                shown.payload = {};
            }
            visitor(shown);
        }
    }
    return {};
}

void DelayedLog::hold(const MessageId& first, std::uint32_t slots, std::uint32_t count) {
    for (std::uint32_t i = 0; i < slots; ++i) {
        Slot* slot = find(MessageId{first.record, first.slot + i});
        if (!slot) {
            fault("hold of " + nameOf({first.record, first.slot + i}) + ", which was reclaimed");
            return;
        }
        slot->holders += count;
    }
}

void DelayedLog::start(log::CommitLogListener& listener) {
    listener_ = &listener;
    reclaim();
}

void DelayedLog::harvest() {
    expireLent();
    if (!listener_) {
        return;
    }
    if (!withdrawalTold_) {
        withdrawalTold_ = true;
        listener_->withdrawn(withdrawnFrom_, withdrawnWhy_);
    }
    const auto changed = [this] {
        return horizons_.appended != told_.appended || horizons_.written != told_.written ||
               horizons_.synced != told_.synced || horizons_.committed != told_.committed;
    };
    if (changed()) {
        told_ = horizons_;
        listener_->advanced(told_);
    }
    std::deque<Fetch> due;
    if (!fetchesHeld_) {
        due.swap(fetches_);
    }
    for (const Fetch& fetch : due) {
        std::vector<log::Stored> entries;
        for (const MessageId& id : fetch.ids) {
            entries.push_back(storedCopy(id));
        }
        listener_->fetched(fetch.token, std::move(entries));
    }
}

void DelayedLog::advanceTo(LogIndex index) {
    writeTo(std::max(index, horizons_.written));
    syncTo(std::max(index, horizons_.synced));
    commitTo(index);
}

void DelayedLog::writeTo(LogIndex index) {
    MILLRACE_CHECK(index >= horizons_.written && index <= horizons_.appended);
    horizons_.written = index;
}

void DelayedLog::syncTo(LogIndex index) {
    MILLRACE_CHECK(index >= horizons_.synced && index <= horizons_.written);
    horizons_.synced = index;
}

void DelayedLog::commitTo(LogIndex index) {
    MILLRACE_CHECK(index >= horizons_.committed && index <= horizons_.synced);
    horizons_.committed = index;
}

void DelayedLog::withdraw(LogIndex from, base::Error why) {
    MILLRACE_CHECK(from > horizons_.committed);
    records_.erase(records_.lower_bound(from), records_.end());
    open_ = Record{};
    horizons_.appended = std::min(horizons_.appended, from - 1);
    horizons_.written = std::min(horizons_.written, horizons_.appended);
    horizons_.synced = std::min(horizons_.synced, horizons_.appended);
    told_ = horizons_;
    withdrawnFrom_ = from;
    withdrawnWhy_ = std::move(why);
    withdrawalTold_ = false;
    stopped_ = true;
}

void DelayedLog::restart() {
    expireLent();
    listener_ = nullptr;
    stopped_ = refusing_ = fetchesHeld_ = false;
    withdrawalTold_ = true;
    fetches_.clear();
    open_ = Record{};
    records_.erase(kind_ == Kind::scratch ? records_.begin()
                                          : records_.upper_bound(horizons_.synced),
                   records_.end());
    for (auto& [index, record] : records_) {
        for (Slot& slot : record.slots) {
            slot.holders = 0;
        }
    }
    if (kind_ == Kind::durable) {
        const LogIndex end = horizons_.synced;
        horizons_ = {end, end, end, end};
    }
    told_ = horizons_;
    evicted_ = kind_ == Kind::scratch ? 0 : horizons_.synced;
}

void DelayedLog::damage(const MessageId& id) {
    Slot* slot = find(id);
    MILLRACE_CHECK(slot);
    slot->damaged = true;
}

std::uint32_t DelayedLog::holders(const MessageId& id) const {
    const Slot* slot = find(id);
    return slot ? slot->holders : 0;
}

std::uint64_t DelayedLog::heldEntries() const {
    const auto held = [](const Record& record) {
        return std::count_if(record.slots.begin(), record.slots.end(),
                             [](const Slot& slot) { return slot.holders > 0; });
    };
    auto count = held(open_);
    for (const auto& [index, record] : records_) {
        count += held(record);
    }
    return static_cast<std::uint64_t>(count);
}

std::vector<std::string> DelayedLog::differencesToNeeded() {
    std::vector<std::string> out;
    const LogIndex bit = kind_ == Kind::scratch ? base::kScratchBit : 0;
    for (const auto& [index, record] : records_) {
        for (std::size_t i = 0; i < record.slots.size(); ++i) {
            const Slot& slot = record.slots[i];
            const MessageId id{index | bit, static_cast<std::uint32_t>(i)};
            if (slot.references == 0) {
                continue;
            }
            const bool needed = listener_->needed(id, slot.kind, slot.routes);
            if (needed != (slot.holders > 0)) {
                out.push_back(nameOf(id) + (needed ? " is needed" : " is not needed") +
                              " but has " + std::to_string(slot.holders) + " holders");
            }
        }
    }
    return out;
}

} // namespace millrace::support
