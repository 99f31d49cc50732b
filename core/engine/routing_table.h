// SPDX-License-Identifier: Apache-2.0
// The routing graph of one vhost: its exchanges, its queues by name, the bindings between them, and
// the way of a message through it.
//
// Promise: a publish reaches each queue at most once, whatever the bindings, cycles and alternate
// exchanges. Routing allocates nothing once its scratch space has grown, and takes O(exchanges +
// bindings that match) - for a topic exchange O(words x patterns alive). Checks and texts are
// RabbitMQ 4.0.5's (facts of exchanges and routing). What must stand in the log comes back as
// changes: the caller appends them as they are. Lives on: the engine's loop.
#pragma once

#include "base/field_table.h"
#include "base/refusal.h"
#include "catalog/spec.h"
#include "engine/exchange.h"
#include "engine/hash_index.h"
#include "engine/routing_edge.h"
#include "engine/slab.h"

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace millrace::engine {

struct ExchangeDeclare; // engine/broker.h
struct Binding;         // engine/broker.h

// What a topology command did.
struct TopologyChange {
    bool changed =
        false; // false: it was so already (same declare, same binding, nothing to remove)
    // To be logged, in this order. Bindings go before the exchange or queue that they belong to. A
    // removed queue is not among them.
    std::vector<catalog::Change> durable;
    std::size_t bindingsRemoved = 0;
    std::size_t exchangesRemoved = 0; // auto-delete exchanges that lost their last binding included
};

// What routing looks at. Views valid during the call.
struct Routable {
    std::string_view routingKey;
    std::span<const std::string_view> moreKeys; // of CC and BCC, see routing_keys.h
    base::FieldTable headers;                   // a valid table; only headers exchanges look at it
};

class RoutingTable {
  public:
    // With the predeclared exchanges: the default one (""), amq.direct, amq.fanout, amq.topic,
    // amq.headers, amq.match and amq.rabbitmq.trace. They are never among the changes to log.
    explicit RoutingTable(std::string vhost);
    ~RoutingTable();
    RoutingTable(const RoutingTable&) = delete;
    RoutingTable& operator=(const RoutingTable&) = delete;

    // --- start-up and followers: a decided change, without checks and without cascades. Exchanges
    // and bindings only. False: it could not apply (an end of the binding does not exist, a
    // predeclared exchange ...), which is harmless.
    bool apply(const catalog::Change& change);

    // --- queues. `name` is the queue's own text and outlives its membership. `durable`: the queue
    // stands in the log (not exclusive, not volatile), so that its bindings from durable exchanges
    // stand there too. The name must be free (findQueue).
    void addQueue(std::string_view name, bool durable, Queue& queue);
    Queue* findQueue(std::string_view name) const;
    std::size_t queueCount() const { return queueNames_.size(); }
    // With its bindings; auto-delete exchanges that lose their last one go too. Must exist.
    TopologyChange removeQueue(std::string_view name);

    // --- exchanges
    // Passive too. 403 default exchange or reserved prefix, 404, 406 unknown type, inequivalent,
    // bad alternate-exchange.
    base::Outcome<TopologyChange> declareExchange(const ExchangeDeclare& declare);
    // Missing: ok, unchanged. 403 default or system exchange, 406 in use.
    base::Outcome<TopologyChange> deleteExchange(std::string_view name, bool ifUnused);
    Exchange* findExchange(std::string_view name) const;
    std::size_t exchangeCount() const { return exchangeNames_.size(); }

    // --- bindings
    // 403 default exchange, 404 no exchange / no queue (the source is looked at first), 406 bad
    // x-match. Locked (exclusive) queues are the caller's to refuse, before.
    base::Outcome<TopologyChange> bind(const Binding& binding);
    // Missing binding, queue or exchange: ok, unchanged. An auto-delete source that loses its last
    // binding goes.
    base::Outcome<TopologyChange> unbind(const Binding& binding);

    // --- routing. Replaces the contents of `out` with the distinct queues, in no particular order.
    // Default exchange or one direct binding: below 50 ns. An exchange whose bindings match nothing
    // passes the message to its alternate exchange, if it exists.
    void route(Exchange& from, const Routable& message, std::vector<Queue*>& out);

    // --- looking. Not on the hot path.
    void eachExchange(const std::function<void(const Exchange&)>& visit) const;
    // Bindings from this exchange. Implicit ones of the default exchange are not shown.
    std::vector<catalog::BindingSpec> bindingsFrom(std::string_view exchange) const;
    std::vector<catalog::BindingSpec> bindingsToExchange(std::string_view exchange) const;
    std::vector<catalog::BindingSpec> bindingsToQueue(std::string_view queue) const;

  private:
    // The two ends of a binding, as far as they exist.
    struct Ends {
        Exchange* source = nullptr;
        RouteTarget* target = nullptr; // or
        Exchange* exchange = nullptr;

        bool complete() const { return source && (target || exchange); }
        bool durable() const;
        // Of a binding between them.
        std::uint64_t hash(std::string_view routingKey, std::string_view arguments) const;
    };

    RouteTarget* findTarget(std::string_view name) const;
    Exchange& add(catalog::ExchangeSpec spec);
    void predeclare(std::string_view name, std::string_view type, bool internal);
    bool applyBinding(const catalog::BindingSpec& spec, bool put);
    Ends lookUp(const Binding& binding) const;
    Edge* findEdge(const Ends& ends, std::string_view routingKey, std::string_view arguments) const;
    Edge& connect(const Ends& ends, std::string_view routingKey, std::string arguments);
    void disconnect(Edge& edge);
    // Removes the edge, notes it, and queues its source for removal if that was auto-delete and is
    // now unused.
    void dropEdge(Edge& edge, TopologyChange& change);
    void dropExchange(Exchange& exchange, TopologyChange& change);
    void dropOrphans(TopologyChange& change);
    catalog::BindingSpec specOf(const Edge& edge) const;

    void routeGraph(Exchange& from, const Routable& message, std::vector<Queue*>& out);
    void visit(Exchange& exchange);
    void take(RouteTarget& target, std::vector<Queue*>& out) const;
    bool routeOne(Exchange& exchange, const Routable& message, std::vector<Queue*>& out);
    bool routeByName(const Routable& message, std::vector<Queue*>& out);

    std::string vhost_;
    Slab<RouteTarget> targets_;
    HashIndex queueNames_;
    Slab<std::unique_ptr<Exchange>> exchanges_;
    HashIndex exchangeNames_;
    Slab<Edge> edges_;
    HashIndex edgeIdentities_;
    Exchange* default_ = nullptr;
    std::vector<std::string>
        orphans_; // auto-delete exchanges to look at once the command has done its own work

    // Scratch of route().
    std::uint64_t stamp_ = 0;
    std::vector<Exchange*> toVisit_;
    SortedHeaders headers_;
    bool headersSorted_ = false; // of the message under way
};

} // namespace millrace::engine
