// SPDX-License-Identifier: Apache-2.0
// Bindings come and go, and are looked at. Exchanges and queues are in routing_table.cpp.
#include "engine/routing_table.h"

#include "engine/broker.h"
#include "engine/routing_refusals.h"

#include <utility>

namespace millrace::engine {
namespace {

std::uint64_t hashOf(std::string_view text) {
    return std::hash<std::string_view>{}(text);
}

std::uint64_t mixed(std::uint64_t hash, std::uint64_t more) {
    return (hash ^ more) * 0x9E3779B97F4A7C15ULL + (hash >> 29);
}

} // namespace

bool RoutingTable::Ends::durable() const {
    return source->spec().durable && (target ? target->durable : exchange->spec().durable);
}

std::uint64_t RoutingTable::Ends::hash(std::string_view routingKey,
                                       std::string_view arguments) const {
    std::uint64_t hash = mixed(hashOf(routingKey), reinterpret_cast<std::uintptr_t>(source));
    hash = mixed(hash, reinterpret_cast<std::uintptr_t>(target));
    hash = mixed(hash, reinterpret_cast<std::uintptr_t>(exchange));
    return arguments.empty() ? hash : mixed(hash, hashOf(arguments));
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
        return binding.toExchange ? noExchange(binding.destination, vhost_)
                                  : noQueue(binding.destination, vhost_);
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
