// SPDX-License-Identifier: Apache-2.0
// What exchanges, queues and bindings mean, said as plainly as possible: sets, recursion, no index.
// Slow and right.
#pragma once

#include <algorithm>
#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace millrace::model {

// Arguments of a headers binding, headers of a message. Values are numbers; "x-match" is `mode`.
struct Headers {
    std::string mode; // empty: all
    std::map<std::string, int> values;
    auto operator<=>(const Headers&) const = default;
};

struct ExchangeModel {
    std::string type;
    bool durable = true, autoDelete = false;
    std::string alternate; // empty: none
    auto operator<=>(const ExchangeModel&) const = default;
};

struct BindingModel {
    std::string source, destination;
    bool toExchange = false;
    std::string key;
    Headers arguments;
    auto operator<=>(const BindingModel&) const = default;
};

struct Message {
    std::vector<std::string> keys;
    Headers headers;
};

class RoutingOracle {
  public:
    std::map<std::string, ExchangeModel> exchanges;
    std::map<std::string, bool> queues; // name to durable
    std::set<BindingModel> bindings;

    RoutingOracle() {
        for (const auto& [name, type] :
             std::map<std::string, std::string>{{"", "direct"},
                                                {"amq.direct", "direct"},
                                                {"amq.fanout", "fanout"},
                                                {"amq.topic", "topic"},
                                                {"amq.headers", "headers"},
                                                {"amq.match", "headers"},
                                                {"amq.rabbitmq.trace", "topic"}}) {
            exchanges[name].type = type;
        }
    }

    // Reply codes; 0 is ok.
    int declare(const std::string& name, const ExchangeModel& asked) {
        if (name.empty() || (name.starts_with("amq.") && !exchanges.contains(name))) {
            return 403;
        }
        return exchanges.emplace(name, asked).first->second == asked ? 0 : 406;
    }
    int remove(const std::string& name, bool ifUnused) {
        if (name.empty() || name.starts_with("amq.")) {
            return 403;
        }
        if (exchanges.contains(name) && ifUnused && isSource(name)) {
            return 406;
        }
        drop(name);
        return 0;
    }
    void removeQueue(const std::string& name) {
        queues.erase(name);
        dropWhere([&](const BindingModel& b) { return !b.toExchange && b.destination == name; });
    }
    int bind(const BindingModel& b) {
        if (b.source.empty() || (b.toExchange && b.destination.empty())) {
            return 403;
        }
        if (!exchanges.contains(b.source) || !hasDestination(b)) {
            return 404;
        }
        bindings.insert(b);
        return 0;
    }
    int unbind(const BindingModel& b) {
        if (b.source.empty() || (b.toExchange && b.destination.empty())) {
            return 403;
        }
        dropWhere([&](const BindingModel& other) { return other == b; });
        return 0;
    }
    // What is left after a restart: what is durable, and bindings between that.
    void restart() {
        std::erase_if(exchanges, [](const auto& x) { return !x.second.durable; });
        std::erase_if(queues, [](const auto& q) { return !q.second; });
        std::erase_if(bindings, [&](const auto& b) {
            return !exchanges.contains(b.source) || !hasDestination(b);
        });
    }

    std::set<std::string> route(const std::string& exchange, const Message& message) const {
        std::set<std::string> found, visited;
        follow(exchange, message, found, visited);
        return found;
    }

  private:
    bool isSource(const std::string& name) const {
        return std::any_of(bindings.begin(), bindings.end(),
                           [&](const auto& b) { return b.source == name; });
    }
    bool hasDestination(const BindingModel& b) const {
        return b.toExchange ? exchanges.contains(b.destination) : queues.contains(b.destination);
    }
    void drop(const std::string& name) {
        exchanges.erase(name);
        dropWhere([&](const BindingModel& b) {
            return b.source == name || (b.toExchange && b.destination == name);
        });
    }
    template <typename Which> void dropWhere(const Which& which) {
        std::set<std::string> sources;
        for (const BindingModel& b : bindings) {
            if (which(b)) {
                sources.insert(b.source);
            }
        }
        std::erase_if(bindings, which);
        for (const std::string& source : sources) {
            const auto exchange = exchanges.find(source);
            if (exchange != exchanges.end() && exchange->second.autoDelete && !isSource(source)) {
                drop(source);
            }
        }
    }

    // Every word with its dot in front, so that the empty key has no word: ".a.b".
    static bool wordsMatch(const std::string& pattern, const std::string& key) {
        if (pattern.empty()) {
            return key.empty();
        }
        const std::string word = pattern.substr(0, pattern.find('.', 1));
        const std::string rest = pattern.substr(word.size());
        if (word == ".#" && wordsMatch(rest, key)) {
            return true;
        }
        const std::string first = key.substr(0, key.find('.', 1));
        const std::string behind = key.substr(first.size());
        if (key.empty()) {
            return false;
        }
        return word == ".#" ? wordsMatch(pattern, behind)
                            : (word == ".*" || word == first) && wordsMatch(rest, behind);
    }
    static bool topicMatches(const std::string& pattern, const std::string& key) {
        return wordsMatch(pattern.empty() ? "" : "." + pattern, key.empty() ? "" : "." + key);
    }
    static bool headersMatch(const Headers& wanted, const Headers& given) {
        const bool any = wanted.mode == "any" || wanted.mode == "any-with-x";
        const bool withX = wanted.mode == "all-with-x" || wanted.mode == "any-with-x";
        std::size_t asked = 0, hits = 0;
        for (const auto& [name, value] : wanted.values) {
            if (withX || !name.starts_with("x-")) {
                ++asked;
                hits += given.values.contains(name) && given.values.at(name) == value;
            }
        }
        return any ? hits > 0 : hits == asked;
    }

    bool matches(const BindingModel& b, const std::string& type, const Message& message) const {
        if (type == "fanout") {
            return true;
        }
        if (type == "headers") {
            return headersMatch(b.arguments, message.headers);
        }
        return std::any_of(message.keys.begin(), message.keys.end(), [&](const std::string& key) {
            return type == "topic" ? topicMatches(b.key, key) : b.key == key;
        });
    }
    void follow(const std::string& name, const Message& message, std::set<std::string>& found,
                std::set<std::string>& visited) const {
        const auto exchange = exchanges.find(name);
        if (exchange == exchanges.end() || !visited.insert(name).second) {
            return;
        }
        if (name.empty()) {
            for (const std::string& key : message.keys) {
                if (queues.contains(key)) {
                    found.insert(key);
                }
            }
            return;
        }
        bool any = false;
        for (const BindingModel& b : bindings) {
            if (b.source == name && matches(b, exchange->second.type, message)) {
                any = true;
                if (b.toExchange) {
                    follow(b.destination, message, found, visited);
                } else {
                    found.insert(b.destination);
                }
            }
        }
        if (!any && !exchange->second.alternate.empty()) {
            follow(exchange->second.alternate, message, found, visited);
        }
    }
};

} // namespace millrace::model
