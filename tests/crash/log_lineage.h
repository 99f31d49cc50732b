// SPDX-License-Identifier: Apache-2.0
// What a log was given, in order, and whether what a reopened one shows is a beginning of it that
// holds everything reported synced.
#pragma once

#include "support/random.h"
#include "unit/log/log_fixture.h"

#include <algorithm>
#include <string>
#include <vector>

namespace millrace::crash_tests {

class Lineage {
  public:
    struct Appended {
        base::MessageId id;
        std::string payload;
    };

    // A payload that no other entry has or will have: nothing cut off can be taken for something
    // new.
    std::string nextPayload(support::Random& random) {
        std::size_t size = random.below(600);
        if (random.chance(4)) {
            size = random.below(150'000); // a record of its own
        }
        return std::to_string(++made_) + ":" + random.bytes(size);
    }
    void add(const base::MessageId& id, std::string payload) {
        entries_.push_back({id, std::move(payload)});
    }
    std::size_t size() const { return entries_.size(); }
    const std::vector<Appended>& entries() const { return entries_; }
    void keepFirst(std::size_t count) { entries_.resize(count); }
    std::size_t countUpTo(base::LogIndex index) const {
        return static_cast<std::size_t>(
            std::count_if(entries_.begin(), entries_.end(),
                          [&](const Appended& entry) { return entry.id.record <= index; }));
    }

    // Empty, or what is wrong.
    std::string check(const std::vector<log::Seen>& seen, base::LogIndex told) const {
        if (seen.size() > entries_.size()) {
            return std::to_string(seen.size()) + " entries, but only " +
                   std::to_string(entries_.size()) + " were appended";
        }
        for (std::size_t i = 0; i < seen.size(); ++i) {
            if (const std::string wrong = difference(seen[i], entries_[i]); !wrong.empty()) {
                return "entry " + std::to_string(i) + " " + wrong;
            }
        }
        if (seen.size() < countUpTo(told)) {
            return "told synced up to record " + std::to_string(told) + ", that is " +
                   std::to_string(countUpTo(told)) + " entries, but only " +
                   std::to_string(seen.size()) + " are there";
        }
        if (seen.size() < entries_.size() && !seen.empty() &&
            entries_[seen.size()].id.record == seen.back().id.record) {
            return "half a record is there";
        }
        return {};
    }

  private:
    static std::string difference(const log::Seen& seen, const Appended& appended) {
        const std::string where =
            "at " + std::to_string(seen.id.record) + "." + std::to_string(seen.id.slot) + ": ";
        if (seen.damaged) {
            return where + "is damaged";
        }
        if (seen.id != appended.id) {
            return where + "has the id of another, not " + std::to_string(appended.id.record) +
                   "." + std::to_string(appended.id.slot);
        }
        return seen.payload == appended.payload ? std::string() : where + "has another payload";
    }

    std::vector<Appended> entries_;
    std::uint64_t made_ = 0;
};

} // namespace millrace::crash_tests
