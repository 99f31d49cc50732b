// SPDX-License-Identifier: Apache-2.0
// What exists at run time: vhosts with their routing tables, queues by id, users; and the changes
// of it that stand in the log.
//
// Durable: a change of something durable is one catalog entry, with everything that goes with it
// (bindings of a deleted queue). Queues that are exclusive or not durable never stand in the log.
// Owner of all queues. Lives on: the engine's loop.
#pragma once

#include "base/refusal.h"
#include "catalog/snapshot.h"
#include "catalog/spec.h"
#include "engine/queue.h"
#include "engine/routing_table.h"
#include "log/commit_log.h"

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

namespace millrace::engine {

class Connection;
struct Engine;
struct CatalogBatch;

struct Vhost {
    explicit Vhost(std::string vhostName) : name(vhostName), routes(std::move(vhostName)) {}
    std::string name;
    RoutingTable routes;
};

// 405 `cannot obtain exclusive access to locked queue ...`
base::Refusal lockedRefusal(const Queue& queue);

class Topology final {
  public:
    explicit Topology(Engine& engine) : engine_(engine) {}

    // --- looking
    Vhost* vhost(std::string_view name);
    const Vhost* vhost(std::string_view name) const;
    Queue* queue(base::QueueId id) const;
    // 404 or 405, or the queue that this connection may use.
    base::Outcome<Queue*> queueFor(const Connection& connection, Vhost& vhost,
                                   std::string_view name) const;
    const catalog::UserSpec* user(std::string_view name) const;
    bool hasUsers() const { return !users_.empty(); }
    template <typename Visitor> void eachQueue(const Visitor& visitor) {
        for (auto& [id, queue] : queues_) {
            visitor(*queue);
        }
    }

    // Whether a queue that is not logged refers to the entry of the durable log.
    bool heldByUnlogged(const base::MessageId& id) const;
    void noteHolder(Queue& unlogged);

    // --- changes
    Queue& addQueue(catalog::QueueSpec spec, Vhost& vhost);
    base::QueueId nextId(bool logged) {
        return logged ? nextQueueId_++ : kUnloggedBit | nextUnloggedId_++;
    }
    // With its bindings, consumers and contents. Returns the record of the entry that says so; 0:
    // none.
    base::LogIndex deleteQueue(Queue& queue, log::Waiting waiting);
    void putUser(catalog::UserSpec spec);
    Vhost& putVhost(const std::string& name);
    // A consumer or the like has gone: an auto-delete queue without consumers goes, too.
    void deleteIfUnused(Queue& queue);
    // One entry for all of them; returns its record, 0: nothing to log. Where the log takes nothing
    // now, it is logged as soon as it does.
    base::LogIndex log(std::vector<catalog::Change> changes, log::Waiting waiting);
    base::LogIndex lastChange() const { return lastChange_; }

    // --- start-up
    void load(catalog::Snapshot snapshot);
    // A change as decided. Returns the queue that it drops, with its contents.
    std::unique_ptr<Queue> apply(const catalog::Change& change);
    base::LogIndex stamp() const { return stamp_; }

    // --- catalog store
    void noteReplayed(catalog::Change change, base::LogIndex record);
    std::optional<CatalogBatch> takeChanges(base::LogIndex committed);
    void stored(base::LogIndex upTo);
    // The lowest record with a change that the store does not have safely; 0: none.
    base::LogIndex unstoredSince() const { return pending_.empty() ? 0 : pending_.front().record; }

  private:
    static constexpr base::QueueId kUnloggedBit = base::QueueId{1} << 63;
    struct Pending {
        base::LogIndex record = 0;
        catalog::Change change;
        bool taken = false;
    };

    std::unique_ptr<Queue> applyQueue(const catalog::QueueSpec& spec, bool put);

    Engine& engine_;
    std::vector<Queue*> unloggedHolders_;
    std::map<std::string, std::unique_ptr<Vhost>, std::less<>> vhosts_;
    std::map<std::string, catalog::UserSpec, std::less<>> users_;
    std::unordered_map<base::QueueId, std::unique_ptr<Queue>> queues_;
    base::QueueId nextQueueId_ = 1;
    base::QueueId nextUnloggedId_ = 1;
    base::LogIndex stamp_ = 0;
    base::LogIndex lastChange_ = 0;
    std::vector<Pending> pending_; // in order of record
};

} // namespace millrace::engine
