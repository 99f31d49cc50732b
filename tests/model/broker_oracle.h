// SPDX-License-Identifier: Apache-2.0
// What the broker promises of queues, in the plainest way: lists in order of arrival, and the list
// of everything durable that was done, each with the log record that says so. After a crash the
// queues are what that list says up to the last synced record.
#pragma once

#include "base/ids.h"

#include <cstdint>
#include <functional>
#include <map>
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
        std::int64_t returns = 0;
    };
    struct Queue {
        std::uint64_t incarnation = 0; // a name declared again is another queue
        bool logged = false, exclusive = false, autoDelete = false, durable = false;
        std::int64_t deliveryLimit = -1; // of a quorum queue
        int owner = -1;                  // connection, of an exclusive one
        bool hadConsumer = false;
        std::map<std::uint64_t, Message> messages;     // by arrival
        std::map<std::uint64_t, std::uint64_t> places; // body -> arrival
        std::set<std::uint64_t> readyPlaces;

        bool quorum() const { return deliveryLimit >= 0; }
        Message* find(std::uint64_t body) {
            const auto place = places.find(body);
            return place == places.end() ? nullptr : &messages.at(place->second);
        }
        const Message* firstReady() const {
            return readyPlaces.empty() ? nullptr : &messages.at(*readyPlaces.begin());
        }
        std::uint64_t ready() const { return readyPlaces.size(); }
        std::uint64_t unacked() const { return messages.size() - readyPlaces.size(); }
    };
    struct Exchange { // fanout
        bool durable = false, autoDelete = false;
        std::set<std::string> bound;
    };

    std::map<std::string, Queue> queues;
    std::map<std::string, Exchange> exchanges;

    Queue* find(const std::string& name);
    Queue* find(const std::string& name, std::uint64_t incarnation);

    // --- topology. `record` of the entry that says so; it counts only where something durable
    // changes.
    void declareQueue(const std::string& name, Queue queue, LogIndex record);
    void removeQueue(const std::string& name, LogIndex record); // with its bindings
    void declareExchange(const std::string& name, const Exchange& exchange, LogIndex record);
    void removeExchange(const std::string& name, LogIndex record);
    bool bindingIsLogged(const std::string& exchange, const std::string& queue) const;
    void bind(const std::string& exchange, const std::string& queue, bool on, LogIndex record);
    // Auto-delete exchanges among those that were bound to the queue and have no other binding.
    std::vector<std::string> orphans(const std::string& queue) const;

    // --- messages
    bool isDurable(bool persistent, const std::vector<std::string>& names) const;
    // One message into all of these; `record`: of the entry that makes it so, 0 if it is not
    // durable.
    void publish(std::uint64_t body, const std::vector<std::string>& names, LogIndex record);
    // Where it is durable, the record follows with settled().
    void settle(const std::string& name, std::uint64_t body);
    void purge(const std::string& name, LogIndex record);
    void giveBack(const std::string& name, std::uint64_t body);
    // The complaint about a delivery, empty if it is right; then the message is out.
    std::string deliver(const std::string& name, std::uint64_t body, bool redelivered,
                        std::int64_t deliveryCount, LogIndex committed);

    // --- the log's word
    // A settle entry names it. Also before settle() is told of it, within the same command.
    void settled(const std::string& name, std::uint64_t body, LogIndex record);
    std::size_t settlesNotLogged() const { return unlogged_.size(); }
    std::size_t settlesNotCaused() const { return early_.size(); }

    std::uint64_t scratchMessages() const;
    // `exact`: an orderly stop, after which everybody knows what was delivered.
    void crash(LogIndex synced, bool exact);

  private:
    using Apply = std::function<void(BrokerOracle&)>;
    struct Operation {
        LogIndex record;
        Apply apply;
    };
    using Named = std::pair<std::string, std::uint64_t>; // queue, body

    void note(LogIndex record, Apply apply);
    void enter(const std::string& name, std::uint64_t body, LogIndex record, bool scratch);
    void take(const std::string& name, std::uint64_t body);
    void dropQueue(const std::string& name);
    void noteFlags(bool exact, const std::map<std::string, Queue>& before);

    std::uint64_t incarnations_ = 0;
    std::uint64_t arrivals_ = 0;
    std::vector<Operation> operations_;
    std::map<Named, std::size_t> unlogged_; // place in operations_
    std::map<Named, LogIndex> early_;
    std::set<Named> delivered_; // ever
    bool replaying_ = false;
};

} // namespace millrace::model
