// SPDX-License-Identifier: Apache-2.0
#include "engine/topology.h"

#include "catalog/change_codec.h"
#include "catalog/queue_arguments.h"
#include "catalog/resource_text.h"
#include "engine/connection.h"
#include "engine/engine.h"

#include <algorithm>

namespace millrace::engine {

using base::LogIndex;
using base::ReplyCode;
using catalog::Change;

namespace {

constexpr std::int32_t kDeliveryLimit = 20; // of quorum queues (RabbitMQ 4.0.5)

std::int32_t deliveryLimitOf(const catalog::QueueSpec& spec) {
    if (spec.type != catalog::QueueType::quorum) {
        return -1;
    }
    const auto limit = catalog::readQueueArguments(base::bytesOf(spec.arguments)).deliveryLimit;
    return static_cast<std::int32_t>(
        std::clamp<std::int64_t>(limit.value_or(kDeliveryLimit), -1, INT32_MAX));
}

} // namespace

Vhost* Topology::vhost(std::string_view name) {
    const auto at = vhosts_.find(name);
    return at == vhosts_.end() ? nullptr : at->second.get();
}

const Vhost* Topology::vhost(std::string_view name) const {
    const auto at = vhosts_.find(name);
    return at == vhosts_.end() ? nullptr : at->second.get();
}

Queue* Topology::queue(base::QueueId id) const {
    const auto at = queues_.find(id);
    return at == queues_.end() ? nullptr : at->second.get();
}

const catalog::UserSpec* Topology::user(std::string_view name) const {
    const auto at = users_.find(name);
    return at == users_.end() ? nullptr : &at->second;
}

base::Outcome<Queue*> Topology::queueFor(const Connection& connection, Vhost& vhost,
                                         std::string_view name) const {
    Queue* const queue = vhost.routes.findQueue(name);
    if (!queue) {
        return base::Refusal{ReplyCode::notFound, "no " + catalog::queueText(name, vhost.name)};
    }
    if (queue->spec.exclusive && queue->owner != &connection) {
        return lockedRefusal(*queue);
    }
    return queue;
}

base::Refusal lockedRefusal(const Queue& queue) {
    return {ReplyCode::resourceLocked,
            "cannot obtain exclusive access to locked " +
                catalog::queueText(queue.spec.name, queue.spec.vhost) +
                ". It could be originally declared on another connection or the exclusive property "
                "value does not match that of the original declaration."};
}

bool Topology::heldByUnlogged(const base::MessageId& id) const {
    return std::any_of(unloggedHolders_.begin(), unloggedHolders_.end(),
                       [&id](Queue* queue) { return queue->index.contains(id); });
}

void Topology::noteHolder(Queue& unlogged) {
    unlogged.holdsLogged = true;
    unloggedHolders_.push_back(&unlogged);
}

Queue& Topology::addQueue(catalog::QueueSpec spec, Vhost& home) {
    const base::QueueId id = spec.id;
    auto queue = std::make_unique<Queue>(std::move(spec), home);
    queue->deliveryLimit = deliveryLimitOf(queue->spec);
    Queue& added = *queue;
    queues_.emplace(id, std::move(queue));
    home.routes.addQueue(added.spec.name, added.logged, added);
    if (added.logged) {
        nextQueueId_ = std::max(nextQueueId_, id + 1);
    }
    return added;
}

LogIndex Topology::log(std::vector<Change> changes, log::Waiting waiting) {
    if (changes.empty()) {
        return 0;
    }
    std::string payload;
    std::string one;
    for (const Change& change : changes) {
        one.clear();
        catalog::encode(change, one);
        base::ByteWriter(payload).text32(one);
    }
    const auto id = engine_.journal.appendDecided(EntryKind::catalog, waiting, std::move(payload));
    lastChange_ = id ? id.value().record : engine_.journal.openIndex();
    for (Change& change : changes) {
        pending_.push_back({lastChange_, std::move(change), false});
    }
    return lastChange_;
}

LogIndex Topology::deleteQueue(Queue& queue, log::Waiting waiting) {
    std::vector<Change> changes = queue.vhost.routes.removeQueue(queue.spec.name).durable;
    if (queue.logged) {
        changes.push_back({false, queue.spec});
    }
    const LogIndex logged = log(std::move(changes), waiting);
    const LogIndex record = queue.logged ? logged : 0;
    if (queue.serving) {
        const std::vector<Consumer*> consumers = queue.serving->consumers();
        for (Consumer* consumer : consumers) {
            engine_.waits.cancelled(consumer->channel, consumer->tag, record);
            consumer->channel.ledger.detach(consumer->owner);
            consumer->channel.consumers.erase(consumer->tag);
        }
        for (const Serving::Get& get : queue.serving->gets) {
            get.channel->getting = nullptr;
            engine_.waits.cancelled(*get.channel, {}, 0);
        }
        engine_.dispatch.stopServing(queue);
    }
    if (queue.index.out() > 0) {
        for (ChannelState* channel : engine_.channels) {
            channel->ledger.forgetQueue(&queue);
        }
    }
    queue.deleted = true;
    if (queue.holdsLogged) {
        std::erase(unloggedHolders_, &queue);
    }
    auto node = queues_.extract(queue.spec.id);
    engine_.clearing.bury(std::move(node.mapped()), record);
    return logged;
}

void Topology::deleteIfUnused(Queue& queue) {
    if (queue.spec.autoDelete && queue.hadConsumer && queue.consumerCount() == 0) {
        deleteQueue(queue, log::Waiting::nobody);
    }
}

Vhost& Topology::putVhost(const std::string& name) {
    std::unique_ptr<Vhost>& vhost = vhosts_[name];
    if (!vhost) {
        vhost = std::make_unique<Vhost>(name);
    }
    return *vhost;
}

void Topology::putUser(catalog::UserSpec spec) {
    users_[spec.name] = std::move(spec);
}

// --- start-up

void Topology::load(catalog::Snapshot snapshot) {
    stamp_ = snapshot.stamp;
    nextQueueId_ = snapshot.nextQueueId;
    for (const catalog::VhostSpec& spec : snapshot.vhosts) {
        putVhost(spec.name);
    }
    for (catalog::UserSpec& spec : snapshot.users) {
        putUser(std::move(spec));
    }
    const auto put = [this](auto& specs) {
        for (auto& spec : specs) {
            apply({true, std::move(spec)});
        }
    };
    put(snapshot.exchanges);
    put(snapshot.queues);
    put(snapshot.bindings);
}

std::unique_ptr<Queue> Topology::apply(const Change& change) {
    if (const auto* spec = std::get_if<catalog::VhostSpec>(&change.object)) {
        if (change.put) {
            putVhost(spec->name);
        }
    } else if (const auto* user = std::get_if<catalog::UserSpec>(&change.object)) {
        if (change.put) {
            putUser(*user);
        } else {
            users_.erase(user->name);
        }
    } else if (const auto* queue = std::get_if<catalog::QueueSpec>(&change.object)) {
        return applyQueue(*queue, change.put);
    } else if (Vhost* const home = vhost(std::visit(
                   [](const auto& object) -> std::string_view {
                       if constexpr (requires { object.vhost; }) {
                           return object.vhost;
                       } else {
                           return object.name;
                       }
                   },
                   change.object))) {
        home->routes.apply(change);
    }
    return nullptr;
}

std::unique_ptr<Queue> Topology::applyQueue(const catalog::QueueSpec& spec, bool put) {
    const auto at = queues_.find(spec.id);
    nextQueueId_ = std::max(nextQueueId_, spec.id + 1);
    if (put) {
        Vhost* const home = vhost(spec.vhost);
        if (home && at == queues_.end() && !home->routes.findQueue(spec.name)) {
            addQueue(spec, *home);
        }
        return nullptr;
    }
    if (at == queues_.end()) {
        return nullptr;
    }
    at->second->vhost.routes.removeQueue(at->second->spec.name);
    at->second->deleted = true;
    return std::move(queues_.extract(at).mapped());
}

// --- catalog store

void Topology::noteReplayed(Change change, LogIndex record) {
    lastChange_ = record;
    pending_.push_back({record, std::move(change), false});
}

std::optional<CatalogBatch> Topology::takeChanges(LogIndex committed) {
    CatalogBatch batch;
    for (Pending& pending : pending_) {
        if (pending.record > committed) {
            break;
        }
        if (!pending.taken) {
            pending.taken = true;
            batch.changes.push_back(pending.change);
        }
    }
    if (batch.changes.empty()) {
        return std::nullopt;
    }
    batch.upTo = committed;
    return batch;
}

void Topology::stored(LogIndex upTo) {
    std::erase_if(pending_, [upTo](const Pending& pending) {
        return pending.taken && pending.record <= upTo;
    });
}

} // namespace millrace::engine
