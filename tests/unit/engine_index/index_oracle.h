// SPDX-License-Identifier: Apache-2.0
// What MessageIndex promises, in the plainest way: a map in order of arrival.
#pragma once

#include "engine/message_index.h"
#include "support/seed.h"

#include <map>
#include <optional>
#include <vector>

namespace millrace::engine_test {

using base::LogIndex;
using base::MessageId;

class IndexOracle {
  public:
    struct Message {
        MessageId id;
        bool out = false;
        bool redelivered = false;
        std::uint64_t ordinal = 0;
    };

    void append(const MessageId& id) {
        const std::uint64_t ordinal = id.isScratch() ? 0 : ++ordinals_;
        places_[id] = ++arrivals_;
        messages_[arrivals_] = {id, false, false, ordinal};
    }
    Message* find(const MessageId& id) {
        const auto place = places_.find(id);
        return place == places_.end() ? nullptr : &messages_.at(place->second);
    }
    Message* firstReady() {
        for (auto& [place, message] : messages_) {
            if (!message.out) {
                return &message;
            }
        }
        return nullptr;
    }
    bool settle(const MessageId& id) {
        const auto place = places_.find(id);
        if (place == places_.end()) {
            return false;
        }
        messages_.erase(place->second);
        places_.erase(place);
        return true;
    }
    std::vector<MessageId> ids(bool readyOnly) const {
        std::vector<MessageId> all;
        for (const auto& [place, message] : messages_) {
            if (!readyOnly || !message.out) {
                all.push_back(message.id);
            }
        }
        return all;
    }
    // Up to `most` messages in a row of arrival, from a random one on (or the first).
    std::vector<MessageId> some(support::Random& random, bool onlyOut, std::size_t most) const {
        std::vector<MessageId> found;
        if (messages_.empty()) {
            return found;
        }
        const std::uint64_t first = messages_.begin()->first;
        const std::uint64_t from = random.chance(50) ? first : random.between(first, arrivals_);
        for (auto at = messages_.lower_bound(from); at != messages_.end() && found.size() < most;
             ++at) {
            if (at->second.out || !onlyOut) {
                found.push_back(at->second.id);
            }
        }
        return found;
    }
    std::uint64_t total() const { return messages_.size(); }
    std::uint64_t ordinals() const { return ordinals_; }
    const std::map<std::uint64_t, Message>& messages() const { return messages_; }

  private:
    std::map<std::uint64_t, Message> messages_; // by arrival
    std::map<MessageId, std::uint64_t> places_;
    std::uint64_t arrivals_ = 0;
    std::uint64_t ordinals_ = 0;
};

inline std::vector<MessageId> unsettledIds(const engine::MessageIndex& index) {
    std::vector<MessageId> ids;
    index.forEachUnsettled([&](const engine::Run& run) {
        for (std::uint32_t i = 0; i < run.count; ++i) {
            ids.push_back(run.at(i));
        }
    });
    return ids;
}

} // namespace millrace::engine_test
