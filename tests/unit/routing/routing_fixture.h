// SPDX-License-Identifier: Apache-2.0
// A routing table with queues that are only names: a Queue* is the address of a name, never looked
// into.
#pragma once

#include "base/field_table.h"
#include "engine/broker.h"
#include "engine/routing_table.h"

#include <algorithm>
#include <deque>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

namespace millrace::tests {

struct RoutingFixture {
    engine::RoutingTable table{"/"};
    std::deque<std::string> names;
    std::vector<engine::Queue*> found;

    void queue(std::string_view name, bool durable = true) {
        std::string& kept = names.emplace_back(name);
        table.addQueue(kept, durable, *reinterpret_cast<engine::Queue*>(&kept));
    }
    base::Outcome<engine::TopologyChange> exchange(std::string_view name, std::string_view type,
                                                   std::string_view flags = "d",
                                                   std::string_view alternate = "") {
        std::string arguments;
        if (!alternate.empty()) {
            base::FieldTableWriter(arguments).text("alternate-exchange", alternate);
        }
        engine::ExchangeDeclare declare;
        declare.name = name;
        declare.type = type;
        declare.durable = flags.find('d') != std::string_view::npos;
        declare.autoDelete = flags.find('a') != std::string_view::npos;
        declare.internal = flags.find('i') != std::string_view::npos;
        declare.passive = flags.find('p') != std::string_view::npos;
        declare.arguments = base::bytesOf(arguments);
        return table.declareExchange(declare);
    }
    static engine::Binding binding(std::string_view source, std::string_view destination,
                                   std::string_view key, std::string_view arguments = "") {
        engine::Binding out;
        out.source = source;
        out.destination = destination;
        out.routingKey = key;
        out.arguments = base::bytesOf(arguments);
        return out;
    }
    base::Outcome<engine::TopologyChange> bind(std::string_view source, std::string_view queue,
                                               std::string_view key,
                                               std::string_view arguments = "") {
        return table.bind(binding(source, queue, key, arguments));
    }
    base::Outcome<engine::TopologyChange> unbind(std::string_view source, std::string_view queue,
                                                 std::string_view key,
                                                 std::string_view arguments = "") {
        return table.unbind(binding(source, queue, key, arguments));
    }
    base::Outcome<engine::TopologyChange>
    bindExchange(std::string_view source, std::string_view destination, std::string_view key = "") {
        engine::Binding asked = binding(source, destination, key);
        asked.toExchange = true;
        return table.bind(asked);
    }
    // The queues reached, sorted, with a space between: "a b".
    std::string route(std::string_view exchange, std::string_view key,
                      std::initializer_list<std::string_view> more = {},
                      std::string_view headers = "") {
        engine::Routable message;
        message.routingKey = key;
        message.moreKeys = {more.begin(), more.size()};
        message.headers = base::FieldTable(base::bytesOf(headers));
        table.route(*table.findExchange(exchange), message, found);
        std::vector<std::string> sorted;
        for (engine::Queue* queue : found) {
            sorted.push_back(*reinterpret_cast<std::string*>(queue));
        }
        std::sort(sorted.begin(), sorted.end());
        std::string out;
        for (const std::string& name : sorted) {
            out += (out.empty() ? "" : " ") + name;
        }
        return out;
    }
};

// "ok", or code and text.
inline std::string answer(const base::Outcome<engine::TopologyChange>& outcome) {
    return outcome ? "ok"
                   : std::to_string(static_cast<int>(outcome.refusal().code)) + ' ' +
                         outcome.refusal().text;
}

} // namespace millrace::tests
