// SPDX-License-Identifier: Apache-2.0
// The way of a message through the graph. Declaring and binding is in routing_table.cpp.
#include "engine/routing_table.h"

namespace millrace::engine {

void RoutingTable::route(Exchange& from, const Routable& message, std::vector<Queue*>& out) {
    out.clear();
    // The two commonest ways: a queue by its name, and one key of a direct exchange that leads to
    // one queue.
    if (message.moreKeys.empty()) {
        if (&from == default_) {
            if (Queue* queue = findQueue(message.routingKey)) {
                out.push_back(queue);
            }
            return;
        }
        if (const KeyIndex* index = std::get_if<KeyIndex>(&from.index_)) {
            const MatchGroup* group = index->find(message.routingKey);
            if (group && group->size() == 1 && group->front().target) {
                out.push_back(group->front().target->queue);
                return;
            }
        }
    }
    routeGraph(from, message, out);
}

void RoutingTable::routeGraph(Exchange& from, const Routable& message, std::vector<Queue*>& out) {
    ++stamp_;
    headersSorted_ = false;
    toVisit_.clear();
    visit(from);
    while (!toVisit_.empty()) {
        Exchange& exchange = *toVisit_.back();
        toVisit_.pop_back();
        if (routeOne(exchange, message, out) || !exchange.alternate()) {
            continue;
        }
        if (Exchange* alternate = findExchange(*exchange.alternate())) {
            visit(*alternate);
        }
    }
}

// Each exchange once per message: cycles end here.
void RoutingTable::visit(Exchange& exchange) {
    if (exchange.stamp_ != stamp_) {
        exchange.stamp_ = stamp_;
        toVisit_.push_back(&exchange);
    }
}

void RoutingTable::take(RouteTarget& target, std::vector<Queue*>& out) const {
    if (target.stamp != stamp_) {
        target.stamp = stamp_;
        out.push_back(target.queue);
    }
}

// Follows the bindings of one exchange that match. False: none did, wherever they lead.
bool RoutingTable::routeOne(Exchange& exchange, const Routable& message, std::vector<Queue*>& out) {
    if (&exchange == default_) {
        return routeByName(message, out);
    }
    bool any = false;
    const auto follow = [&](Edge& edge) {
        any = true;
        if (edge.target) {
            take(*edge.target, out);
        } else {
            visit(*edge.exchange);
        }
    };
    const auto eachKey = [&message](const auto& use) {
        use(message.routingKey);
        for (const std::string_view key : message.moreKeys) {
            use(key);
        }
    };
    switch (exchange.type()) {
    case catalog::ExchangeType::fanout:
        for (Edge* edge : exchange.bindings()) {
            follow(*edge);
        }
        break;
    case catalog::ExchangeType::direct:
        eachKey([&](std::string_view key) {
            if (const MatchGroup* group = std::get<KeyIndex>(exchange.index_).find(key)) {
                for (Edge* edge : *group) {
                    follow(*edge);
                }
            }
        });
        break;
    case catalog::ExchangeType::topic:
        eachKey(
            [&](std::string_view key) { std::get<TopicTrie>(exchange.index_).match(key, follow); });
        break;
    case catalog::ExchangeType::headers:
        if (!headersSorted_) {
            headers_.assign(message.headers);
            headersSorted_ = true;
        }
        std::get<HeadersIndex>(exchange.index_).match(headers_, follow);
        break;
    }
    return any;
}

bool RoutingTable::routeByName(const Routable& message, std::vector<Queue*>& out) {
    const auto byName = [&](std::string_view name) {
        if (RouteTarget* target = findTarget(name)) {
            take(*target, out);
        }
    };
    byName(message.routingKey);
    for (const std::string_view name : message.moreKeys) {
        byName(name);
    }
    return !out.empty();
}

} // namespace millrace::engine
