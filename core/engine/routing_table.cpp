// SPDX-License-Identifier: Apache-2.0
// Declaring, binding and removing. The way of a message is in routing_walk.cpp.
#include "engine/routing_table.h"

#include "base/check.h"
#include "catalog/resource_text.h"
#include "engine/broker.h"

#include <utility>

namespace millrace::engine {
namespace {

using base::Refusal;
using base::ReplyCode;

std::uint64_t hashOf(std::string_view text) {
    return std::hash<std::string_view>{}(text);
}

std::uint64_t mixed(std::uint64_t hash, std::uint64_t more) {
    return (hash ^ more) * 0x9E3779B97F4A7C15ULL + (hash >> 29);
}

Refusal notOnDefaultExchange() {
    return {ReplyCode::accessRefused, "operation not permitted on the default exchange"};
}

Refusal noExchange(std::string_view name, std::string_view vhost) {
    return {ReplyCode::notFound, "no " + catalog::exchangeText(name, vhost)};
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

// The two ends of a binding. Source and one destination are set where they exist.
struct RoutingTable::Ends {
    Exchange* source = nullptr;
    RouteTarget* target = nullptr;
    Exchange* exchange = nullptr;

    bool complete() const {
        return source != nullptr && (target != nullptr || exchange != nullptr);
    }
    bool durable() const {
        return source->spec().durable && (target ? target->durable : exchange->spec().durable);
    }
    std::uint64_t hash(std::string_view routingKey, std::string_view arguments) const {
        std::uint64_t hash = mixed(hashOf(routingKey), reinterpret_cast<std::uintptr_t>(source));
        hash = mixed(hash, reinterpret_cast<std::uintptr_t>(target));
        hash = mixed(hash, reinterpret_cast<std::uintptr_t>(exchange));
        return arguments.empty() ? hash : mixed(hash, hashOf(arguments));
    }
};

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

bool RoutingTable::applyBinding(const catalog::BindingSpec& spec, bool put) {
    Binding binding;
    binding.source = spec.source;
    binding.destination = spec.destination;
    binding.toExchange = spec.toExchange;
    const Ends ends = lookUp(binding);
    if (!ends.complete() || ends.source->isDefault() || ends.exchange == default_) {
        return false;
    }
    std::string arguments = catalog::sortedArguments(base::bytesOf(spec.arguments));
    Edge* edge = findEdge(ends, spec.routingKey, arguments);
    if (put && edge == nullptr) {
        connect(ends, spec.routingKey, std::move(arguments));
    } else if (!put && edge != nullptr) {
        disconnect(*edge);
    } else {
        return false;
    }
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

// --- bindings

RoutingTable::Ends RoutingTable::lookUp(const Binding& binding) const {
    Ends ends;
    ends.source = findExchange(binding.source);
    if (binding.toExchange) {
        ends.exchange = findExchange(binding.destination);
    } else {
        ends.target = findTarget(binding.destination);
    }
    return ends;
}

Edge* RoutingTable::findEdge(const Ends& ends, std::string_view routingKey,
                             std::string_view arguments) const {
    const std::uint32_t number =
        edgeIdentities_.find(ends.hash(routingKey, arguments), [&](std::uint32_t candidate) {
            const Edge& edge = edges_[candidate];
            return edge.source == ends.source && edge.target == ends.target &&
                   edge.exchange == ends.exchange && edge.routingKey == routingKey &&
                   edge.arguments == arguments;
        });
    return number == HashIndex::kNone ? nullptr : &edges_[number];
}

Edge& RoutingTable::connect(const Ends& ends, std::string_view routingKey, std::string arguments) {
    const std::uint32_t number = edges_.add();
    Edge& edge = edges_[number];
    edge.number = number;
    edge.source = ends.source;
    edge.target = ends.target;
    edge.exchange = ends.exchange;
    edge.durable = ends.durable();
    edge.routingKey = routingKey;
    edge.arguments = std::move(arguments);
    Edge*& head = edge.target ? edge.target->edges : edge.exchange->incoming_;
    edge.next = head;
    if (head != nullptr) {
        head->previous = &edge;
    }
    head = &edge;
    edgeIdentities_.insert(ends.hash(edge.routingKey, edge.arguments), number);
    ends.source->add(edge);
    return edge;
}

void RoutingTable::disconnect(Edge& edge) {
    edge.source->remove(edge);
    const Ends ends{edge.source, edge.target, edge.exchange};
    edgeIdentities_.erase(ends.hash(edge.routingKey, edge.arguments), edge.number);
    if (edge.next != nullptr) {
        edge.next->previous = edge.previous;
    }
    if (edge.previous != nullptr) {
        edge.previous->next = edge.next;
    } else {
        (edge.target ? edge.target->edges : edge.exchange->incoming_) = edge.next;
    }
    edges_.remove(edge.number);
}

void RoutingTable::dropEdge(Edge& edge, TopologyChange& change) {
    if (edge.durable) {
        change.durable.push_back({false, specOf(edge)});
    }
    ++change.bindingsRemoved;
    const Exchange& source = *edge.source;
    disconnect(edge);
    if (source.spec().autoDelete && source.bindings().empty()) {
        orphans_.emplace_back(source.name());
    }
}

base::Outcome<TopologyChange> RoutingTable::bind(const Binding& binding) {
    if (binding.source.empty() || (binding.toExchange && binding.destination.empty())) {
        return notOnDefaultExchange();
    }
    const Ends ends = lookUp(binding);
    if (ends.source == nullptr) {
        return noExchange(binding.source, vhost_);
    }
    if (!ends.complete()) {
        return binding.toExchange
                   ? noExchange(binding.destination, vhost_)
                   : Refusal{ReplyCode::notFound,
                             "no " + catalog::queueText(binding.destination, vhost_)};
    }
    if (ends.source->type() == catalog::ExchangeType::headers) {
        if (auto refusal = catalog::checkHeadersBinding(binding.arguments)) {
            return *std::move(refusal);
        }
    }
    TopologyChange change;
    std::string arguments = catalog::sortedArguments(binding.arguments);
    if (findEdge(ends, binding.routingKey, arguments) != nullptr) {
        return change;
    }
    const Edge& edge = connect(ends, binding.routingKey, std::move(arguments));
    change.changed = true;
    if (edge.durable) {
        change.durable.push_back({true, specOf(edge)});
    }
    return change;
}

base::Outcome<TopologyChange> RoutingTable::unbind(const Binding& binding) {
    if (binding.source.empty() || (binding.toExchange && binding.destination.empty())) {
        return notOnDefaultExchange();
    }
    TopologyChange change;
    const Ends ends = lookUp(binding);
    Edge* edge = ends.complete() ? findEdge(ends, binding.routingKey,
                                            catalog::sortedArguments(binding.arguments))
                                 : nullptr;
    if (edge != nullptr) {
        change.changed = true;
        dropEdge(*edge, change);
        dropOrphans(change);
    }
    return change;
}

// --- looking

catalog::BindingSpec RoutingTable::specOf(const Edge& edge) const {
    catalog::BindingSpec spec;
    spec.vhost = vhost_;
    spec.source = edge.source->name();
    spec.destination = edge.target ? edge.target->name : edge.exchange->name();
    spec.routingKey = edge.routingKey;
    spec.toExchange = edge.exchange != nullptr;
    spec.arguments = edge.arguments;
    return spec;
}

void RoutingTable::eachExchange(const std::function<void(const Exchange&)>& visit) const {
    exchanges_.each([&](const std::unique_ptr<Exchange>& exchange) {
        if (exchange) {
            visit(*exchange);
        }
    });
}

std::vector<catalog::BindingSpec> RoutingTable::bindingsFrom(std::string_view exchange) const {
    std::vector<catalog::BindingSpec> out;
    if (const Exchange* source = findExchange(exchange)) {
        for (const Edge* edge : source->bindings()) {
            out.push_back(specOf(*edge));
        }
    }
    return out;
}

std::vector<catalog::BindingSpec>
RoutingTable::bindingsToExchange(std::string_view exchange) const {
    std::vector<catalog::BindingSpec> out;
    const Exchange* destination = findExchange(exchange);
    for (const Edge* edge = destination ? destination->incoming_ : nullptr; edge;
         edge = edge->next) {
        out.push_back(specOf(*edge));
    }
    return out;
}

std::vector<catalog::BindingSpec> RoutingTable::bindingsToQueue(std::string_view queue) const {
    std::vector<catalog::BindingSpec> out;
    const RouteTarget* target = findTarget(queue);
    for (const Edge* edge = target ? target->edges : nullptr; edge; edge = edge->next) {
        out.push_back(specOf(*edge));
    }
    return out;
}

} // namespace millrace::engine
