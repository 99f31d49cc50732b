// SPDX-License-Identifier: Apache-2.0
// Exchanges and queues come and go. Bindings are in routing_bindings.cpp, the way of a message in
// routing_walk.cpp.
#include "engine/routing_table.h"

#include "base/check.h"
#include "catalog/resource_text.h"
#include "engine/broker.h"
#include "engine/routing_refusals.h"

#include <utility>

namespace millrace::engine {
namespace {

using base::Refusal;
using base::ReplyCode;

std::uint64_t hashOf(std::string_view text) {
    return std::hash<std::string_view>{}(text);
}

catalog::ExchangeSpec askedBy(const ExchangeDeclare& declare, const std::string& vhost) {
    catalog::ExchangeSpec spec;
    spec.vhost = vhost;
    spec.name = declare.name;
    spec.type = declare.type;
    spec.durable = declare.durable;
    spec.autoDelete = declare.autoDelete;
    spec.internal = declare.internal;
    spec.arguments = base::textOf(declare.arguments);
    return spec;
}

} // namespace

RoutingTable::RoutingTable(std::string vhost) : vhost_(std::move(vhost)) {
    predeclare("", "direct", false);
    predeclare("amq.direct", "direct", false);
    predeclare("amq.fanout", "fanout", false);
    predeclare("amq.topic", "topic", false);
    predeclare("amq.headers", "headers", false);
    predeclare("amq.match", "headers", false);
    predeclare("amq.rabbitmq.trace", "topic", true);
    default_ = findExchange("");
}

RoutingTable::~RoutingTable() = default;

void RoutingTable::predeclare(std::string_view name, std::string_view type, bool internal) {
    catalog::ExchangeSpec spec;
    spec.vhost = vhost_;
    spec.name = name;
    spec.type = type;
    spec.internal = internal;
    add(std::move(spec)).predeclared_ = true;
}

Exchange& RoutingTable::add(catalog::ExchangeSpec spec) {
    const auto type = catalog::exchangeTypeOf(spec.type);
    MILLRACE_CHECK(type.has_value());
    const std::uint32_t number = exchanges_.add();
    exchanges_[number] = std::make_unique<Exchange>(std::move(spec), *type);
    Exchange& exchange = *exchanges_[number];
    exchange.number_ = number;
    exchangeNames_.insert(hashOf(exchange.name()), number);
    return exchange;
}

// --- start-up

bool RoutingTable::apply(const catalog::Change& change) {
    if (const auto* binding = std::get_if<catalog::BindingSpec>(&change.object)) {
        return applyBinding(*binding, change.put);
    }
    const auto* spec = std::get_if<catalog::ExchangeSpec>(&change.object);
    if (spec == nullptr) {
        return false;
    }
    Exchange* exchange = findExchange(spec->name);
    if (change.put) {
        if (exchange != nullptr || !catalog::exchangeTypeOf(spec->type)) {
            return false;
        }
        add(*spec);
        return true;
    }
    if (exchange == nullptr || exchange->isPredeclared()) {
        return false;
    }
    // Bindings that stood in the log went before; what is left never stood there.
    TopologyChange ignored;
    dropExchange(*exchange, ignored);
    orphans_.clear();
    return true;
}

// --- queues

RouteTarget* RoutingTable::findTarget(std::string_view name) const {
    const std::uint32_t number = queueNames_.find(
        hashOf(name), [&](std::uint32_t candidate) { return targets_[candidate].name == name; });
    return number == HashIndex::kNone ? nullptr : &targets_[number];
}

void RoutingTable::addQueue(std::string_view name, bool durable, Queue& queue) {
    MILLRACE_CHECK(findTarget(name) == nullptr);
    const std::uint32_t number = targets_.add();
    RouteTarget& target = targets_[number];
    target.queue = &queue;
    target.name = name;
    target.durable = durable;
    queueNames_.insert(hashOf(name), number);
}

Queue* RoutingTable::findQueue(std::string_view name) const {
    const RouteTarget* target = findTarget(name);
    return target ? target->queue : nullptr;
}

TopologyChange RoutingTable::removeQueue(std::string_view name) {
    const std::uint64_t hash = hashOf(name);
    const std::uint32_t number = queueNames_.find(
        hash, [&](std::uint32_t candidate) { return targets_[candidate].name == name; });
    MILLRACE_CHECK(number != HashIndex::kNone);
    TopologyChange change;
    change.changed = true;
    while (Edge* edge = targets_[number].edges) {
        dropEdge(*edge, change);
    }
    queueNames_.erase(hash, number);
    targets_.remove(number);
    dropOrphans(change);
    return change;
}

// --- exchanges

Exchange* RoutingTable::findExchange(std::string_view name) const {
    const std::uint32_t number = exchangeNames_.find(hashOf(name), [&](std::uint32_t candidate) {
        return exchanges_[candidate]->name() == name;
    });
    return number == HashIndex::kNone ? nullptr : exchanges_[number].get();
}

base::Outcome<TopologyChange> RoutingTable::declareExchange(const ExchangeDeclare& declare) {
    const Exchange* current = findExchange(declare.name);
    if (declare.passive) {
        if (declare.name.empty()) {
            return notOnDefaultExchange();
        }
        return current ? base::Outcome<TopologyChange>(TopologyChange{})
                       : noExchange(declare.name, vhost_);
    }
    if (const auto type = catalog::checkExchangeType(declare.type); !type) {
        return type.refusal();
    }
    if (declare.name.empty()) {
        return notOnDefaultExchange();
    }
    catalog::ExchangeSpec spec = askedBy(declare, vhost_);
    const auto refusal =
        current ? catalog::checkEquivalent(current->spec(), spec) : catalog::checkNewExchange(spec);
    if (refusal) {
        return *refusal;
    }
    TopologyChange change;
    if (!current) {
        const Exchange& added = add(std::move(spec));
        change.changed = true;
        if (added.spec().durable) {
            change.durable.push_back({true, added.spec()});
        }
    }
    return change;
}

base::Outcome<TopologyChange> RoutingTable::deleteExchange(std::string_view name, bool ifUnused) {
    if (name.empty()) {
        return notOnDefaultExchange();
    }
    if (name.starts_with("amq.")) {
        return Refusal{ReplyCode::accessRefused, "deletion of system " +
                                                     catalog::exchangeText(name, vhost_) +
                                                     " not allowed"};
    }
    TopologyChange change;
    Exchange* exchange = findExchange(name);
    if (exchange == nullptr) {
        return change;
    }
    if (ifUnused && !exchange->bindings().empty()) {
        return Refusal{ReplyCode::preconditionFailed,
                       catalog::exchangeText(name, vhost_) + " in use"};
    }
    change.changed = true;
    dropExchange(*exchange, change);
    dropOrphans(change);
    return change;
}

void RoutingTable::dropExchange(Exchange& exchange, TopologyChange& change) {
    while (!exchange.all_.empty()) {
        dropEdge(exchange.all_.front(), change);
    }
    while (Edge* edge = exchange.incoming_) {
        dropEdge(*edge, change);
    }
    if (exchange.spec().durable) {
        change.durable.push_back({false, exchange.spec()});
    }
    ++change.exchangesRemoved;
    exchangeNames_.erase(hashOf(exchange.name()), exchange.number_);
    exchanges_.remove(exchange.number_);
}

// One exchange after the other, so that a long chain of them needs no stack.
void RoutingTable::dropOrphans(TopologyChange& change) {
    while (!orphans_.empty()) {
        const std::string name = std::move(orphans_.back());
        orphans_.pop_back();
        Exchange* exchange = findExchange(name);
        if (exchange != nullptr && exchange->bindings().empty()) {
            dropExchange(*exchange, change);
        }
    }
}

void RoutingTable::eachExchange(const std::function<void(const Exchange&)>& visit) const {
    exchanges_.each([&](const std::unique_ptr<Exchange>& exchange) {
        if (exchange) {
            visit(*exchange);
        }
    });
}

} // namespace millrace::engine
