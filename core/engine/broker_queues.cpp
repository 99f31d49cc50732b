// SPDX-License-Identifier: Apache-2.0
// Commands on queues: declare, delete, purge. Texts and order of checks: RabbitMQ 4.0.5.
#include "base/diagnostics.h"
#include "catalog/queue_arguments.h"
#include "catalog/resource_text.h"
#include "engine/connection.h"
#include "engine/engine.h"
#include "engine/random_name.h"

#include <algorithm>

namespace millrace::engine {

using base::LogIndex;
using base::Refusal;
using base::ReplyCode;

namespace {

Refusal noVhost(std::string_view name) {
    return {ReplyCode::notAllowed, "vhost " + std::string(name) + " not found"};
}

Vhost* vhostOf(Engine& engine, const Connection& connection, std::string_view name) {
    return name.empty() || name == connection.vhostName() ? connection.vhost()
                                                          : engine.topology.vhost(name);
}

// Numbers are told once everything that they count is durable.
Reply<QueueDeclared> describe(const Engine& engine, const Queue& queue) {
    Reply<QueueDeclared> reply;
    reply.value.name = queue.spec.name;
    reply.value.messages = static_cast<std::uint32_t>(queue.readyCount());
    reply.value.consumers = queue.consumerCount();
    const LogIndex newest = std::max(queue.declaredAt, queue.newest.record);
    reply.visibleAt = engine.journal.isVisible(newest) ? 0 : newest;
    return reply;
}

void nameIdleArguments(const catalog::QueueSpec& spec) {
    std::string names;
    for (const std::string_view name :
         catalog::argumentsWithoutEffect(base::bytesOf(spec.arguments))) {
        names.append(names.empty() ? "" : ", ").append(name);
    }
    if (!names.empty()) {
        base::diagnose(base::Severity::warning, catalog::queueText(spec.name, spec.vhost) +
                                                    ": stored, but without effect yet: " + names);
    }
}

base::Outcome<Reply<QueueDeclared>> declareExisting(Engine& engine, const Connection& connection,
                                                    const Queue& queue,
                                                    const catalog::QueueSpec& asked) {
    const bool mine = queue.spec.exclusive && queue.owner == &connection;
    if (queue.spec.exclusive != asked.exclusive || (queue.spec.exclusive && !mine)) {
        return lockedRefusal(queue);
    }
    if (auto refusal = catalog::checkEquivalent(queue.spec, asked)) {
        return *refusal;
    }
    return describe(engine, queue);
}

} // namespace

Answer<QueueDeclared> Broker::declareQueue(Connection& connection, const QueueDeclare& declare) {
    Engine& engine = *engine_;
    Vhost* const vhost = vhostOf(engine, connection, declare.vhost);
    if (!vhost) {
        return noVhost(declare.vhost);
    }
    if (declare.passive) {
        auto queue = engine.topology.queueFor(connection, *vhost, declare.name);
        return queue ? Answer<QueueDeclared>(describe(engine, **queue)) : queue.refusal();
    }
    catalog::QueueSpec spec;
    spec.vhost = vhost->name;
    spec.name = declare.name;
    spec.durable = declare.durable;
    spec.exclusive = declare.exclusive;
    spec.autoDelete = declare.autoDelete;
    spec.arguments = base::textOf(declare.arguments);
    if (!spec.name.empty()) {
        if (auto refusal = catalog::checkQueueName(spec.name)) {
            return *refusal;
        }
        if (const Queue* const existing = vhost->routes.findQueue(spec.name)) {
            return declareExisting(engine, connection, *existing, spec);
        }
    }
    auto arguments = catalog::checkNewQueue(spec);
    if (!arguments) {
        return arguments.refusal();
    }
    if (spec.name.empty()) {
        spec.name = "amq.gen-" + randomName();
    }
    spec.type = arguments->type;
    spec.id = engine.topology.nextId(spec.durable && !spec.exclusive);
    Queue& queue = engine.topology.addQueue(std::move(spec), *vhost);
    nameIdleArguments(queue.spec);
    if (queue.spec.exclusive) {
        queue.owner = &connection;
        connection.adopt(queue.spec.id);
    }
    if (queue.logged) {
        queue.declaredAt = engine.topology.log({{true, queue.spec}}, log::Waiting::somebody);
    }
    return describe(engine, queue);
}

Answer<std::uint32_t> Broker::deleteQueue(Connection& connection, std::string_view vhostName,
                                          std::string_view name, bool ifUnused, bool ifEmpty) {
    Engine& engine = *engine_;
    Vhost* const vhost = vhostOf(engine, connection, vhostName);
    if (!vhost) {
        return noVhost(vhostName);
    }
    if (!vhost->routes.findQueue(name)) {
        return Reply<std::uint32_t>{};
    }
    auto found = engine.topology.queueFor(connection, *vhost, name);
    if (!found) {
        return found.refusal();
    }
    Queue& queue = **found;
    const std::string text = catalog::queueText(name, vhost->name);
    if (queue.isQuorum() && (ifUnused || ifEmpty)) {
        return Refusal{ReplyCode::notImplemented,
                       "cannot delete " + text + ". queue.delete operations with " +
                           (ifUnused ? "if-unused" : "if-empty") +
                           " flag set are not supported by quorum queues"};
    }
    if (ifUnused && queue.consumerCount() > 0) {
        return Refusal{ReplyCode::preconditionFailed, text + " in use"};
    }
    if (ifEmpty && queue.readyCount() > 0) {
        return Refusal{ReplyCode::preconditionFailed, text + " not empty"};
    }
    Reply<std::uint32_t> reply;
    reply.value = static_cast<std::uint32_t>(queue.readyCount());
    reply.visibleAt = engine.topology.deleteQueue(queue, log::Waiting::somebody);
    return reply;
}

Answer<std::uint32_t> Broker::purgeQueue(Connection& connection, std::string_view vhostName,
                                         std::string_view name) {
    Engine& engine = *engine_;
    Vhost* const vhost = vhostOf(engine, connection, vhostName);
    if (!vhost) {
        return noVhost(vhostName);
    }
    auto found = engine.topology.queueFor(connection, *vhost, name);
    if (!found) {
        return found.refusal();
    }
    Queue& queue = **found;
    Reply<std::uint32_t> reply;
    reply.value = static_cast<std::uint32_t>(queue.readyCount());
    if (queue.readyCount() == 0) {
        reply.visibleAt = queue.purging ? queue.purging->record : 0;
        return reply;
    }
    if (queue.logged && queue.newest) {
        Purge purge{queue.spec.id, queue.newest, engine.clearing.unacked(queue)};
        std::string payload;
        writePurge(purge, payload);
        const auto id =
            engine.journal.append(EntryKind::purge, log::Waiting::somebody, base::bytesOf(payload));
        if (!id) {
            return Refusal{ReplyCode::internalError, id.error().text};
        }
        reply.visibleAt = id.value().record;
    }
    engine.clearing.purge(queue, reply.visibleAt);
    return reply;
}

std::optional<QueueNumbers> Broker::numbers(std::string_view vhostName,
                                            std::string_view name) const {
    const Vhost* const vhost = std::as_const(engine_->topology).vhost(vhostName);
    const Queue* const queue = vhost ? vhost->routes.findQueue(name) : nullptr;
    if (!queue) {
        return std::nullopt;
    }
    QueueNumbers numbers;
    numbers.ready = queue->readyCount();
    numbers.unacked = queue->unackedCount();
    numbers.consumers = queue->consumerCount();
    numbers.memoryBytes = queue->memoryBytes();
    return numbers;
}

} // namespace millrace::engine
