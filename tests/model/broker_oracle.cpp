// SPDX-License-Identifier: Apache-2.0
#include "model/broker_oracle.h"

#include <algorithm>
#include <limits>

namespace millrace::model {

namespace {

constexpr LogIndex kNotLogged = std::numeric_limits<LogIndex>::max();

} // namespace

BrokerOracle::Queue* BrokerOracle::find(const std::string& name) {
    const auto at = queues.find(name);
    return at == queues.end() ? nullptr : &at->second;
}

BrokerOracle::Queue* BrokerOracle::find(const std::string& name, std::uint64_t incarnation) {
    Queue* const queue = find(name);
    return queue && queue->incarnation == incarnation ? queue : nullptr;
}

void BrokerOracle::note(LogIndex record, Apply apply) {
    if (!replaying_) {
        operations_.push_back({record, std::move(apply)});
    }
}

// --- topology

void BrokerOracle::declareQueue(const std::string& name, Queue queue, LogIndex record) {
    queue.logged = queue.durable && !queue.exclusive;
    queue.incarnation = ++incarnations_;
    if (queue.logged) {
        note(record, [name, queue](BrokerOracle& oracle) { oracle.queues[name] = queue; });
    }
    queues[name] = std::move(queue);
}

void BrokerOracle::dropQueue(const std::string& name) {
    queues.erase(name);
    for (auto& [other, exchange] : exchanges) {
        exchange.bound.erase(name);
    }
}

void BrokerOracle::removeQueue(const std::string& name, LogIndex record) {
    if (queues.at(name).logged) {
        note(record, [name](BrokerOracle& oracle) { oracle.dropQueue(name); });
    }
    dropQueue(name);
}

void BrokerOracle::declareExchange(const std::string& name, const Exchange& exchange,
                                   LogIndex record) {
    if (exchange.durable) {
        note(record, [name, exchange](BrokerOracle& oracle) { oracle.exchanges[name] = exchange; });
    }
    exchanges[name] = exchange;
}

void BrokerOracle::removeExchange(const std::string& name, LogIndex record) {
    if (exchanges.at(name).durable) {
        note(record, [name](BrokerOracle& oracle) { oracle.exchanges.erase(name); });
    }
    exchanges.erase(name);
}

bool BrokerOracle::bindingIsLogged(const std::string& exchange, const std::string& queue) const {
    return exchanges.at(exchange).durable && queues.at(queue).logged;
}

void BrokerOracle::bind(const std::string& exchange, const std::string& queue, bool on,
                        LogIndex record) {
    const auto change = [exchange, queue, on](BrokerOracle& oracle) {
        std::set<std::string>& bound = oracle.exchanges.at(exchange).bound;
        on ? void(bound.insert(queue)) : void(bound.erase(queue));
    };
    if (bindingIsLogged(exchange, queue)) {
        note(record, change);
    }
    change(*this);
}

std::vector<std::string> BrokerOracle::orphans(const std::string& queue) const {
    std::vector<std::string> names;
    for (const auto& [name, exchange] : exchanges) {
        if (exchange.autoDelete && exchange.bound == std::set<std::string>{queue}) {
            names.push_back(name);
        }
    }
    return names;
}

// --- messages

bool BrokerOracle::isDurable(bool persistent, const std::vector<std::string>& names) const {
    return std::any_of(names.begin(), names.end(), [&](const std::string& name) {
        const Queue& queue = queues.at(name);
        return queue.logged && (persistent || queue.quorum());
    });
}

void BrokerOracle::enter(const std::string& name, std::uint64_t body, LogIndex record,
                         bool scratch) {
    Queue& queue = queues.at(name);
    queue.places[body] = ++arrivals_;
    Message message;
    message.body = body;
    message.record = record;
    message.scratch = scratch;
    queue.messages[arrivals_] = message;
    queue.readyPlaces.insert(arrivals_);
}

void BrokerOracle::publish(std::uint64_t body, const std::vector<std::string>& names,
                           LogIndex record) {
    for (const std::string& name : names) {
        enter(name, body, record, record == 0);
        if (record != 0 && queues.at(name).logged) {
            note(record,
                 [name, body](BrokerOracle& oracle) { oracle.enter(name, body, 0, false); });
        }
    }
}

void BrokerOracle::take(const std::string& name, std::uint64_t body) {
    Queue& queue = queues.at(name);
    const auto place = queue.places.find(body);
    queue.readyPlaces.erase(place->second);
    queue.messages.erase(place->second);
    queue.places.erase(place);
}

void BrokerOracle::settle(const std::string& name, std::uint64_t body) {
    Queue& queue = queues.at(name);
    const bool logged = queue.logged && !queue.find(body)->scratch;
    take(name, body);
    if (!logged) {
        return;
    }
    LogIndex record = kNotLogged;
    if (const auto known = early_.find({name, body}); known != early_.end()) {
        record = known->second;
        early_.erase(known);
    } else {
        unlogged_[{name, body}] = operations_.size();
    }
    note(record, [name, body](BrokerOracle& oracle) { oracle.take(name, body); });
}

void BrokerOracle::settled(const std::string& name, std::uint64_t body, LogIndex record) {
    const auto waiting = unlogged_.find({name, body});
    if (waiting == unlogged_.end()) {
        early_[{name, body}] = record;
        return;
    }
    operations_[waiting->second].record = record;
    unlogged_.erase(waiting);
}

void BrokerOracle::purge(const std::string& name, LogIndex record) {
    Queue& queue = queues.at(name);
    const std::set<std::uint64_t> gone = queue.readyPlaces;
    for (const std::uint64_t place : gone) {
        const Message message = queue.messages.at(place);
        take(name, message.body);
        if (queue.logged && !message.scratch) {
            note(record,
                 [name, body = message.body](BrokerOracle& oracle) { oracle.take(name, body); });
        }
    }
}

void BrokerOracle::giveBack(const std::string& name, std::uint64_t body) {
    Queue& queue = queues.at(name);
    Message& message = *queue.find(body);
    if (queue.quorum() && ++message.returns > queue.deliveryLimit) {
        settle(name, body);
        return;
    }
    message.out = false;
    message.redelivered = message.flagKnown = true;
    queue.readyPlaces.insert(queue.places.at(body));
}

std::string BrokerOracle::deliver(const std::string& name, std::uint64_t body, bool redelivered,
                                  std::int64_t deliveryCount, LogIndex committed) {
    Queue* const queue = find(name);
    const Message* const first = queue ? queue->firstReady() : nullptr;
    if (!first || first->body != body) {
        return "not the first of '" + name + "'" +
               (first ? ", which is " + std::to_string(first->body) : std::string(": it has none"));
    }
    if (first->record > committed) {
        return "not committed yet";
    }
    if (first->flagKnown && first->redelivered != redelivered) {
        return redelivered ? "flagged redelivered, but is new" : "not flagged redelivered";
    }
    if (deliveryCount != (queue->quorum() && first->returns > 0 ? first->returns : -1)) {
        return "came back " + std::to_string(first->returns) + " times, not " +
               std::to_string(deliveryCount);
    }
    Message& message = *queue->find(body);
    message.out = true;
    message.redelivered = redelivered;
    message.flagKnown = true;
    queue->readyPlaces.erase(queue->readyPlaces.begin());
    delivered_.insert({name, body});
    return {};
}

std::uint64_t BrokerOracle::scratchMessages() const {
    std::set<std::uint64_t> bodies;
    for (const auto& [name, queue] : queues) {
        for (const auto& [place, message] : queue.messages) {
            if (message.scratch) {
                bodies.insert(message.body);
            }
        }
    }
    return bodies.size();
}

// --- crash

void BrokerOracle::crash(LogIndex synced, bool exact) {
    const std::map<std::string, Queue> before = std::move(queues);
    std::vector<Operation> kept;
    for (Operation& operation : operations_) {
        if (operation.record <= synced) {
            kept.push_back(std::move(operation));
        }
    }
    operations_.clear();
    unlogged_.clear();
    early_.clear();
    queues.clear();
    exchanges.clear();
    replaying_ = true;
    for (const Operation& operation : kept) {
        operation.apply(*this);
    }
    replaying_ = false;
    operations_ = std::move(kept);
    noteFlags(exact, before);
}

void BrokerOracle::noteFlags(bool exact, const std::map<std::string, Queue>& before) {
    for (auto& [name, queue] : queues) {
        const auto old = before.find(name);
        for (auto& [place, message] : queue.messages) {
            message.redelivered = message.flagKnown = delivered_.contains({name, message.body});
            if (exact && old != before.end() && old->second.places.contains(message.body)) {
                const Message& was = old->second.messages.at(old->second.places.at(message.body));
                message.flagKnown = was.flagKnown;
                message.redelivered = was.redelivered;
            }
        }
    }
}

} // namespace millrace::model
