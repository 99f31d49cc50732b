// SPDX-License-Identifier: Apache-2.0
// What the broker promises of queues, in the plainest way: lists in order of arrival, and the list
// of everything durable that was done, each with its log record. After a crash the queues are what
// that list says up to the last synced record.
#pragma once

#include "base/ids.h"

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace millrace::model {

using base::LogIndex;

class BrokerOracle {
  public:
    struct Message {
        std::uint64_t body = 0;
        LogIndex record = 0; // may not be seen before this is committed; 0: at once
        bool out = false;
        bool redelivered = false;
        bool scratch = false;  // stands in no durable log
        bool flagKnown = true; // after a crash only of what was delivered before it
    };
    struct Queue {
        std::uint64_t incarnation = 0; // a name declared again is another queue
        bool logged = false, exclusive = false, autoDelete = false, durable = false;
        int owner = -1; // connection, of an exclusive one
        bool hadConsumer = false;
        std::map<std::uint64_t, Message> messages;     // by arrival
        std::map<std::uint64_t, std::uint64_t> places; // body -> arrival
        std::uint64_t ready = 0;

        Message* find(std::uint64_t body) {
            const auto place = places.find(body);
            return place == places.end() ? nullptr : &messages.at(place->second);
        }
        const Message* firstReady() const {
            for (const auto& [place, message] : messages) {
                if (!message.out) {
                    return &message;
                }
            }
            return nullptr;
        }
        std::uint64_t unacked() const { return messages.size() - ready; }
    };

    std::map<std::string, Queue> queues;
    std::set<std::string> bound; // to the fanout exchange

    Queue* find(const std::string& name) {
        const auto at = queues.find(name);
        return at == queues.end() ? nullptr : &at->second;
    }
    Queue* find(const std::string& name, std::uint64_t incarnation) {
        Queue* const queue = find(name);
        return queue && queue->incarnation == incarnation ? queue : nullptr;
    }

    void declare(const std::string& name, Queue queue, LogIndex record) {
        queue.logged = queue.durable && !queue.exclusive;
        queue.incarnation = ++incarnations_;
        if (queue.logged) {
            note(record, [name, queue](BrokerOracle& oracle) { oracle.queues[name] = queue; });
        }
        queues[name] = std::move(queue);
    }
    void remove(const std::string& name, LogIndex record) {
        if (queues.at(name).logged) {
            note(record, [name](BrokerOracle& oracle) {
                oracle.queues.erase(name);
                oracle.bound.erase(name);
            });
        }
        queues.erase(name);
        bound.erase(name);
    }
    void bind(const std::string& name, bool on, LogIndex record) {
        const auto change = [name, on](BrokerOracle& oracle) {
            on ? void(oracle.bound.insert(name)) : void(oracle.bound.erase(name));
        };
        change(*this);
        if (queues.at(name).logged) {
            note(record, change);
        }
    }
    // One message into all of these; `record` counts if it goes to the durable log. Returns what a
    // confirm waits for.
    LogIndex publish(std::uint64_t body, bool persistent, const std::vector<std::string>& names,
                     LogIndex record) {
        bool durable = false;
        for (const std::string& name : names) {
            durable = durable || (persistent && queues.at(name).logged);
        }
        for (const std::string& name : names) {
            enter(name, body, durable ? record : 0);
            if (durable && queues.at(name).logged) {
                note(record, [name, body](BrokerOracle& oracle) { oracle.enter(name, body, 0); });
            }
        }
        return durable ? record : 0;
    }
    void settle(const std::string& name, std::uint64_t body, LogIndex record) {
        Queue& queue = queues.at(name);
        const auto place = queue.places.find(body);
        queue.ready -= queue.messages.at(place->second).out ? 0 : 1;
        const bool durable = queue.logged && durableBodies_.contains({name, body});
        queue.messages.erase(place->second);
        queue.places.erase(place);
        if (durable) {
            note(record, [name, body](BrokerOracle& oracle) { oracle.settle(name, body, 0); });
        }
    }
    void purge(const std::string& name, LogIndex record) {
        std::vector<std::uint64_t> gone;
        for (const auto& [place, message] : queues.at(name).messages) {
            if (!message.out) {
                gone.push_back(message.body);
            }
        }
        for (const std::uint64_t body : gone) {
            settle(name, body, record);
        }
    }
    void giveBack(const std::string& name, std::uint64_t body) {
        Queue& queue = queues.at(name);
        Message& message = *queue.find(body);
        message.out = false;
        message.redelivered = message.flagKnown = true;
        ++queue.ready;
    }
    // The complaint about a delivery, empty if it is right; then the message is out.
    std::string deliver(const std::string& name, std::uint64_t body, bool redelivered,
                        LogIndex committed) {
        Queue* const queue = find(name);
        const Message* const first = queue ? queue->firstReady() : nullptr;
        if (!first || first->body != body) {
            return "not the first of '" + name + "'" +
                   (first ? ", which is " + std::to_string(first->body)
                          : std::string(": it has none"));
        }
        if (first->record > committed) {
            return "not committed yet";
        }
        if (first->flagKnown && first->redelivered != redelivered) {
            return redelivered ? "flagged redelivered, but is new" : "not flagged redelivered";
        }
        Message& message = *queue->find(body);
        message.out = true;
        message.redelivered = redelivered;
        message.flagKnown = true;
        --queue->ready;
        delivered_.insert({name, body});
        return {};
    }
    std::uint64_t scratchMessages() const {
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
    void crash(LogIndex synced) {
        std::vector<Operation> kept;
        for (Operation& operation : operations_) {
            if (operation.record <= synced) {
                kept.push_back(std::move(operation));
            }
        }
        operations_.clear();
        queues.clear();
        bound.clear();
        durableBodies_.clear();
        replaying_ = true;
        for (const Operation& operation : kept) {
            operation.apply(*this);
        }
        replaying_ = false;
        operations_ = std::move(kept);
        for (auto& [name, queue] : queues) {
            for (auto& [place, message] : queue.messages) {
                message.redelivered = delivered_.contains({name, message.body});
                message.flagKnown = message.redelivered;
            }
        }
    }

  private:
    struct Operation {
        LogIndex record;
        std::function<void(BrokerOracle&)> apply;
    };

    void note(LogIndex record, std::function<void(BrokerOracle&)> apply) {
        if (!replaying_) {
            operations_.push_back({record, std::move(apply)});
        }
    }
    void enter(const std::string& name, std::uint64_t body, LogIndex record) {
        Queue& queue = queues.at(name);
        if (record != 0 || replaying_) {
            durableBodies_.insert({name, body});
        }
        queue.places[body] = ++arrivals_;
        queue.messages[arrivals_] = {body, record, false, false, record == 0 && !replaying_, true};
        ++queue.ready;
    }

    std::uint64_t incarnations_ = 0;
    std::uint64_t arrivals_ = 0;
    std::vector<Operation> operations_;
    std::set<std::pair<std::string, std::uint64_t>> durableBodies_;
    std::set<std::pair<std::string, std::uint64_t>> delivered_; // ever
    bool replaying_ = false;
};

} // namespace millrace::model
