// SPDX-License-Identifier: Apache-2.0
// Queues, exchanges and bindings come and go.
#include "model/broker_world.h"

#include "base/field_table.h"

#include <algorithm>

namespace millrace::model {

namespace {

std::string quorumArguments(std::int64_t deliveryLimit) {
    std::string table;
    base::FieldTableWriter writer(table);
    writer.text("x-queue-type", "quorum");
    writer.long64("x-delivery-limit", deliveryLimit);
    return table;
}

constexpr std::int64_t kDeliveryLimit = 3;

} // namespace

void BrokerWorld::await(LogIndex visibleAt, LogIndex at) {
    if (at > 0 && visibleAt < at) {
        fail("a reply does not wait for record " + std::to_string(at));
    }
    if (peers.empty()) {
        return;
    }
    Peer& peer = *peers[random.below(peers.size())];
    const std::uint64_t ticket = peer.lastTicket + 1;
    if (broker->await(*peer.channel, visibleAt, ticket)) {
        peer.awaited[++peer.lastTicket] = visibleAt;
    } else if (visibleAt > committed()) {
        fail("a reply does not wait for its record");
    }
}

bool BrokerWorld::mayUse(const std::string& name, int connection) {
    const BrokerOracle::Queue* const queue = oracle.find(name);
    return queue && (!queue->exclusive || queue->owner == connection);
}

std::uint64_t BrokerWorld::consumersOf(const std::string& name) const {
    std::uint64_t count = 0;
    for (const auto& peer : peers) {
        count += static_cast<std::uint64_t>(
            std::count_if(peer->consumers.begin(), peer->consumers.end(),
                          [&](const auto& entry) { return entry.second.queue == name; }));
    }
    return count;
}

void BrokerWorld::declareQueue(const std::string& name) {
    const auto number = static_cast<int>(random.below(kConnections));
    engine::QueueDeclare declare;
    declare.name = name;
    declare.durable = name != "transient" && name != "other";
    declare.exclusive = name == "mine";
    declare.autoDelete = name == "fading" || name == "other";
    const std::string arguments =
        name == "agreed" ? quorumArguments(kDeliveryLimit) : std::string();
    declare.arguments = base::bytesOf(arguments);
    declare.passive = random.chance(20);
    const BrokerOracle::Queue* const existing = oracle.find(name);
    note((declare.passive ? "look at " : "declare ") + name);
    auto answer = broker->declareQueue(*connections[static_cast<std::size_t>(number)], declare);
    const bool allowed = existing ? mayUse(name, number) : !declare.passive;
    if (!answered(answer, allowed, "declare of '" + name + "'")) {
        return;
    }
    LogIndex record = 0;
    if (existing) {
        if (answer->value.messages != existing->ready()) {
            fail("declare of '" + name + "' counts " + std::to_string(answer->value.messages));
        }
    } else {
        BrokerOracle::Queue queue;
        queue.durable = declare.durable;
        queue.exclusive = declare.exclusive;
        queue.autoDelete = declare.autoDelete;
        queue.deliveryLimit = name == "agreed" ? kDeliveryLimit : -1;
        queue.owner = declare.exclusive ? number : -1;
        record = queue.durable && !queue.exclusive ? loggedAt("queue " + name, true) : 0;
        oracle.declareQueue(name, queue, record);
    }
    await(answer->visibleAt, record);
}

// The broker has dropped it: with its bindings, and the exchanges that lived by them.
void BrokerWorld::queueHasGone(const std::string& name) {
    const BrokerOracle::Queue queue = oracle.queues.at(name);
    for (const auto& [exchange, state] : oracle.exchanges) {
        if (state.bound.contains(name) && oracle.bindingIsLogged(exchange, name)) {
            loggedAt("binding " + exchange + " " + name, true);
        }
    }
    for (const std::string& exchange : oracle.orphans(name)) {
        const bool logged = oracle.exchanges.at(exchange).durable;
        oracle.removeExchange(exchange, logged ? loggedAt("exchange " + exchange, true) : 0);
    }
    const LogIndex record = queue.logged ? loggedAt("queue " + name, true) : 0;
    oracle.removeQueue(name, record);
    for (const auto& peer : peers) {
        for (auto at = peer->consumers.begin(); at != peer->consumers.end();) {
            if (at->second.queue == name) {
                peer->cancels[at->first] = record;
                at = peer->consumers.erase(at);
            } else {
                ++at;
            }
        }
    }
}

void BrokerWorld::consumerHasLeft(const std::string& name) {
    const BrokerOracle::Queue* const queue = oracle.find(name);
    if (queue && queue->autoDelete && queue->hadConsumer && consumersOf(name) == 0) {
        queueHasGone(name);
    }
}

void BrokerWorld::removeQueue(const std::string& name) {
    const bool ifUnused = random.chance(20), ifEmpty = random.chance(20);
    const auto number = static_cast<int>(random.below(kConnections));
    note("delete " + name + (ifUnused ? " if unused" : "") + (ifEmpty ? " if empty" : ""));
    const BrokerOracle::Queue* const queue = oracle.find(name);
    const bool allowed =
        !queue || (mayUse(name, number) && !(queue->quorum() && (ifUnused || ifEmpty)) &&
                   !(ifUnused && consumersOf(name) > 0) && !(ifEmpty && queue->ready() > 0));
    auto answer = broker->deleteQueue(*connections[static_cast<std::size_t>(number)], "/", name,
                                      ifUnused, ifEmpty);
    if (!answered(answer, allowed, "delete of '" + name + "'")) {
        return;
    }
    if (answer->value != (queue ? queue->ready() : 0)) {
        fail("delete counts " + std::to_string(answer->value));
    }
    const bool logged = queue && queue->logged;
    const auto at = logged_.find("queue " + name);
    const LogIndex record = logged && at != logged_.end() ? at->second : 0;
    if (queue) {
        queueHasGone(name);
    }
    await(answer->visibleAt, record);
}

void BrokerWorld::purge(const std::string& name) {
    const auto number = static_cast<int>(random.below(kConnections));
    note("purge " + name);
    if (random.chance(50)) { // more than a slice is worked off in several turns
        clock.step = std::chrono::microseconds(600);
    }
    BrokerOracle::Queue* const queue = oracle.find(name);
    auto answer = broker->purgeQueue(*connections[static_cast<std::size_t>(number)], "/", name);
    if (!answered(answer, mayUse(name, number), "purge of '" + name + "'")) {
        return;
    }
    if (answer->value != queue->ready()) {
        fail("purge counts " + std::to_string(answer->value) + ", not " +
             std::to_string(queue->ready()));
    }
    const auto logged = logged_.find("purge " + name);
    const LogIndex record = logged == logged_.end() ? 0 : loggedAt("purge " + name, true);
    const bool must =
        queue->logged && std::any_of(queue->readyPlaces.begin(), queue->readyPlaces.end(),
                                     [&](auto at) { return !queue->messages.at(at).scratch; });
    if (must && record == 0) {
        fail("a purge of durable messages is not in the log");
    }
    oracle.purge(name, record);
    await(answer->visibleAt, record);
}

void BrokerWorld::declareExchange(const std::string& name) {
    engine::ExchangeDeclare declare;
    declare.name = name;
    declare.type = "fanout";
    declare.durable = name != "loose";
    declare.autoDelete = name == "passing";
    note("declare exchange " + name);
    auto answer = broker->declareExchange(*connections[0], declare);
    if (!answered(answer, true, "declare of exchange '" + name + "'")) {
        return;
    }
    LogIndex record = 0;
    if (!oracle.exchanges.contains(name)) {
        record = declare.durable ? loggedAt("exchange " + name, true) : 0;
        oracle.declareExchange(name, {declare.durable, declare.autoDelete, {}}, record);
    }
    await(answer->visibleAt, record);
}

void BrokerWorld::removeExchange(const std::string& name) {
    const bool ifUnused = random.chance(30);
    note("delete exchange " + name + (ifUnused ? " if unused" : ""));
    const auto exchange = oracle.exchanges.find(name);
    const bool exists = exchange != oracle.exchanges.end();
    const bool allowed = !exists || !ifUnused || exchange->second.bound.empty();
    auto answer = broker->deleteExchange(*connections[0], "/", name, ifUnused);
    if (!answered(answer, allowed, "delete of exchange '" + name + "'")) {
        return;
    }
    LogIndex record = 0;
    if (exists) {
        for (const std::string& queue : exchange->second.bound) {
            if (oracle.bindingIsLogged(name, queue)) {
                loggedAt("binding " + name + " " + queue, true);
            }
        }
        record = exchange->second.durable ? loggedAt("exchange " + name, true) : 0;
        oracle.removeExchange(name, record);
    }
    await(answer->visibleAt, record);
}

void BrokerWorld::bind(const std::string& exchange, const std::string& queue, bool on) {
    const auto number = static_cast<int>(random.below(kConnections));
    note((on ? "bind " : "unbind ") + queue + (on ? " to " : " from ") + exchange);
    const engine::Binding binding{{}, exchange, queue, {}, false, {}};
    engine::Connection& connection = *connections[static_cast<std::size_t>(number)];
    auto answer = on ? broker->bind(connection, binding) : broker->unbind(connection, binding);
    const auto source = oracle.exchanges.find(exchange);
    const bool complete = source != oracle.exchanges.end() && oracle.find(queue);
    const bool locked = oracle.find(queue) && !mayUse(queue, number);
    if (!answered(answer, !locked && (complete || !on), "bind of '" + queue + "'")) {
        return;
    }
    LogIndex record = 0;
    if (complete && source->second.bound.contains(queue) != on) {
        const bool logged = oracle.bindingIsLogged(exchange, queue);
        record = logged ? loggedAt("binding " + exchange + " " + queue, true) : 0;
        const bool orphaned = !on && source->second.autoDelete && source->second.bound.size() == 1;
        oracle.bind(exchange, queue, on, record);
        if (orphaned) {
            const bool durableOne = oracle.exchanges.at(exchange).durable;
            record = durableOne ? loggedAt("exchange " + exchange, true) : 0;
            oracle.removeExchange(exchange, record);
        }
    }
    await(answer->visibleAt, record);
}

void BrokerWorld::commandOfTopology() {
    const std::string& name = kQueues[random.below(kQueues.size())];
    const std::string& exchange = kExchanges[random.below(kExchanges.size())];
    const auto verb = random.below(100);
    if (verb < 45) {
        declareQueue(name);
    } else if (verb < 51) {
        removeQueue(name);
    } else if (verb < 60) {
        purge(name);
    } else if (verb < 67) {
        declareExchange(exchange);
    } else if (verb < 69) {
        removeExchange(exchange);
    } else if (verb < 90) {
        bind(exchange, name, random.chance(75));
    } else if (verb < 96) {
        closeChannel(random.below(peers.size()));
    } else {
        closeConnection(static_cast<int>(random.below(kConnections)));
    }
}

} // namespace millrace::model
