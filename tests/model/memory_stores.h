// SPDX-License-Identifier: Apache-2.0
// A checkpoint store and a catalog store in memory with the promises of the real ones: whole by
// rounds, one round to fall back to; the catalog with its stamp in one piece.
#pragma once

#include "catalog/snapshot.h"
#include "log/checkpoint_store.h"

#include <algorithm>
#include <map>
#include <string>
#include <variant>

namespace millrace::model {

class MemoryPages final : public log::CheckpointStore {
  public:
    base::Status load(base::LogIndex synced,
                      const std::function<void(const Page&)>& visitor) override {
        for (const auto& [key, page] : last_.pages) {
            if (page.reflects > synced) {
                return base::Error{base::ErrorCode::damaged, "a page is ahead of the log"};
            }
            visitor({key, page.reflects, base::bytesOf(page.bytes)});
        }
        return {};
    }
    base::LogIndex replayFrom() const override { return last_.replayFrom; }
    void start() override {}
    bool ready() const override { return isReady; }
    void put(const log::PageKey& key, base::LogIndex reflects, base::Bytes bytes) override {
        next_.pages[key] = {reflects, std::string(base::textOf(bytes))};
    }
    void drop(const log::PageKey& key) override { next_.pages.erase(key); }
    void finishRound(base::LogIndex replayFrom) override {
        next_.replayFrom = replayFrom;
        asked_ = next_;
        isAsked_ = true;
    }
    base::LogIndex finished() const override { return last_.replayFrom; }
    base::LogIndex logNeededFrom() const override { return before_.replayFrom; }
    base::Status failure() const override { return {}; }
    base::Status stop() override { return {}; }

    // --- the test's hand
    bool isReady = true;
    bool finishAsked() { // the round that was asked for is safe
        if (isAsked_) {
            before_ = std::move(last_);
            last_ = asked_;
            isAsked_ = false;
        }
        return last_.replayFrom > 1;
    }
    // What is not in a finished round is gone; `fallBack`: a page of the last one turned out to be
    // damaged.
    void crash(bool fallBack) {
        if (fallBack) {
            last_ = before_;
        }
        before_ = last_;
        next_ = last_;
        isAsked_ = false;
        isReady = true;
    }

  private:
    struct Stored {
        base::LogIndex reflects = 0;
        std::string bytes;
    };
    struct Round {
        base::LogIndex replayFrom = 1;
        std::map<log::PageKey, Stored> pages;
    };
    Round before_, last_, asked_, next_;
    bool isAsked_ = false;
};

class MemoryCatalog {
  public:
    catalog::Snapshot snapshot;

    void apply(const catalog::Change& change) {
        std::visit([&](const auto& spec) { put(change.put, spec); }, change.object);
    }

  private:
    template <typename Specs, typename Spec, typename Same>
    static void replace(Specs& specs, bool putIt, const Spec& spec, const Same& same) {
        std::erase_if(specs, same);
        if (putIt) {
            specs.push_back(spec);
        }
    }
    void put(bool putIt, const catalog::VhostSpec& spec) {
        replace(snapshot.vhosts, putIt, spec,
                [&](const auto& other) { return other.name == spec.name; });
    }
    void put(bool putIt, const catalog::UserSpec& spec) {
        replace(snapshot.users, putIt, spec,
                [&](const auto& other) { return other.name == spec.name; });
    }
    void put(bool putIt, const catalog::ExchangeSpec& spec) {
        replace(snapshot.exchanges, putIt, spec, [&](const auto& other) {
            return other.vhost == spec.vhost && other.name == spec.name;
        });
    }
    void put(bool putIt, const catalog::QueueSpec& spec) {
        snapshot.nextQueueId = std::max(snapshot.nextQueueId, spec.id + 1);
        replace(snapshot.queues, putIt, spec,
                [&](const auto& other) { return other.id == spec.id; });
    }
    void put(bool putIt, const catalog::BindingSpec& spec) {
        replace(snapshot.bindings, putIt, spec, [&](const auto& other) {
            return other.vhost == spec.vhost && other.source == spec.source &&
                   other.destination == spec.destination && other.routingKey == spec.routingKey &&
                   other.toExchange == spec.toExchange && other.arguments == spec.arguments;
        });
    }
};

} // namespace millrace::model
