// SPDX-License-Identifier: Apache-2.0
// The pieces of the routing graph: queues as targets, bindings as edges, and groups of edges that
// match together. Owned by the RoutingTable; addresses are stable for as long as the object exists.
// Lives on: the engine's loop.
#pragma once

#include "base/check.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace millrace::engine {

class Queue;
class Exchange;
struct Edge;

// A queue as routing sees it. Small, because there may be ten million of them.
struct RouteTarget {
    std::uint64_t stamp =
        0; // the last route() that reached it: each queue at most once per publish
    Queue* queue = nullptr;
    std::string_view name; // the queue owns the text
    Edge* edges = nullptr; // bindings to it, newest first
    bool durable = false;  // stands in the log, hence its bindings may
};

// A binding. Exactly one of `target` and `exchange` is its destination.
struct Edge {
    RouteTarget* target = nullptr;
    Exchange* exchange = nullptr;
    Exchange* source = nullptr;
    Edge* next = nullptr; // of the same destination
    Edge* previous = nullptr;
    std::uint32_t number = 0;     // in the table's slab
    std::uint32_t place = 0;      // in the list of all edges of its source
    std::uint32_t groupPlace = 0; // in its EdgeGroup
    bool durable = false;         // both ends are
    std::string routingKey;
    std::string arguments; // fields sorted by name
};

// Edges that match together. Order means nothing; adding and removing are O(1). `Place` is where an
// edge notes its position here.
template <std::uint32_t Edge::*Place> class EdgeGroup {
  public:
    bool empty() const { return edges_.empty(); }
    std::size_t size() const { return edges_.size(); }
    Edge& front() const { return *edges_.front(); }
    auto begin() const { return edges_.begin(); }
    auto end() const { return edges_.end(); }

    void add(Edge& edge) {
        edge.*Place = static_cast<std::uint32_t>(edges_.size());
        edges_.push_back(&edge);
    }
    void remove(Edge& edge) {
        const std::uint32_t place = edge.*Place;
        MILLRACE_CHECK(place < edges_.size() && edges_[place] == &edge);
        edges_.back()->*Place = place;
        edges_[place] = edges_.back();
        edges_.pop_back();
    }

  private:
    std::vector<Edge*> edges_;
};
using AllEdges = EdgeGroup<&Edge::place>;
using MatchGroup = EdgeGroup<&Edge::groupPlace>;

} // namespace millrace::engine
