// SPDX-License-Identifier: Apache-2.0
// Commands on exchanges and bindings, vhosts and users. The checks are RoutingTable's; here stands
// what goes to the log.
#include "engine/connection.h"
#include "engine/engine.h"

namespace millrace::engine {

using base::LogIndex;
using base::Refusal;
using base::ReplyCode;

namespace {

Vhost* vhostOf(Engine& engine, const Connection& connection, std::string_view name) {
    return name.empty() || name == connection.vhostName() ? connection.vhost()
                                                          : engine.topology.vhost(name);
}

// What was so already may rest on a change that is not synced yet.
Reply<Nothing> logged(Engine& engine, TopologyChange change) {
    Reply<Nothing> reply;
    if (!change.durable.empty()) {
        reply.visibleAt = engine.topology.log(std::move(change.durable), log::Waiting::somebody);
    } else if (!change.changed && !engine.journal.isVisible(engine.topology.lastChange())) {
        reply.visibleAt = engine.topology.lastChange();
    }
    return reply;
}

Answer<Nothing> answer(Engine& engine, base::Outcome<TopologyChange> outcome) {
    if (!outcome) {
        return outcome.refusal();
    }
    return logged(engine, std::move(*outcome));
}

Refusal noVhost(std::string_view name) {
    return {ReplyCode::notAllowed, "vhost " + std::string(name) + " not found"};
}

// 405 where the destination is another connection's exclusive queue.
std::optional<Refusal> lockedDestination(const Connection& connection, const Vhost& vhost,
                                         const Binding& binding) {
    const Queue* const queue =
        binding.toExchange ? nullptr : vhost.routes.findQueue(binding.destination);
    if (queue && queue->spec.exclusive && queue->owner != &connection) {
        return lockedRefusal(*queue);
    }
    return std::nullopt;
}

} // namespace

Answer<Nothing> Broker::declareExchange(Connection& connection, const ExchangeDeclare& declare) {
    Vhost* const vhost = vhostOf(*engine_, connection, declare.vhost);
    return vhost ? answer(*engine_, vhost->routes.declareExchange(declare))
                 : Answer<Nothing>(noVhost(declare.vhost));
}

Answer<Nothing> Broker::deleteExchange(Connection& connection, std::string_view vhostName,
                                       std::string_view name, bool ifUnused) {
    Vhost* const vhost = vhostOf(*engine_, connection, vhostName);
    return vhost ? answer(*engine_, vhost->routes.deleteExchange(name, ifUnused))
                 : Answer<Nothing>(noVhost(vhostName));
}

Answer<Nothing> Broker::bind(Connection& connection, const Binding& binding) {
    Vhost* const vhost = vhostOf(*engine_, connection, binding.vhost);
    if (!vhost) {
        return noVhost(binding.vhost);
    }
    if (auto refusal = lockedDestination(connection, *vhost, binding)) {
        return *refusal;
    }
    return answer(*engine_, vhost->routes.bind(binding));
}

Answer<Nothing> Broker::unbind(Connection& connection, const Binding& binding) {
    Vhost* const vhost = vhostOf(*engine_, connection, binding.vhost);
    if (!vhost) {
        return noVhost(binding.vhost);
    }
    if (auto refusal = lockedDestination(connection, *vhost, binding)) {
        return *refusal;
    }
    return answer(*engine_, vhost->routes.unbind(binding));
}

// --- vhosts and users

bool Broker::vhostExists(std::string_view name) const {
    return engine_->topology.vhost(name) != nullptr;
}

const catalog::UserSpec* Broker::user(std::string_view name) const {
    return engine_->topology.user(name);
}

bool Broker::hasUsers() const {
    return engine_->topology.hasUsers();
}

Reply<Nothing> Broker::putUser(catalog::UserSpec spec) {
    Reply<Nothing> reply;
    reply.visibleAt = engine_->topology.log({{true, spec}}, log::Waiting::somebody);
    engine_->topology.putUser(std::move(spec));
    return reply;
}

Reply<Nothing> Broker::putVhost(catalog::VhostSpec spec) {
    Reply<Nothing> reply;
    if (!engine_->topology.vhost(spec.name)) {
        engine_->topology.putVhost(spec.name);
        reply.visibleAt = engine_->topology.log({{true, std::move(spec)}}, log::Waiting::somebody);
    }
    return reply;
}

} // namespace millrace::engine
