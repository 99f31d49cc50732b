// SPDX-License-Identifier: Apache-2.0
// The real routing table beside the oracle: each command is given to both, and what must be durable
// goes the real way - encoded as in the log, now and then into a catalog store - so that a restart
// can be one of the commands.
#pragma once

#include "base/field_table.h"
#include "catalog/change_codec.h"
#include "catalog/store.h"
#include "engine/broker.h"
#include "engine/routing_table.h"
#include "model/routing_oracle.h"

#include <deque>
#include <memory>
#include <string>
#include <vector>

namespace millrace::model {

class RoutingModel {
  public:
    explicit RoutingModel(std::string storePath) : storePath_(std::move(storePath)) { start(); }

    RoutingOracle oracle;

    // Each returns whether both agree.
    bool declare(const std::string& name, const ExchangeModel& asked) {
        std::string arguments;
        if (!asked.alternate.empty()) {
            base::FieldTableWriter(arguments).text("alternate-exchange", asked.alternate);
        }
        engine::ExchangeDeclare declare;
        declare.name = name;
        declare.type = asked.type;
        declare.durable = asked.durable;
        declare.autoDelete = asked.autoDelete;
        declare.arguments = base::bytesOf(arguments);
        return agree(table_->declareExchange(declare), oracle.declare(name, asked));
    }
    bool remove(const std::string& name, bool ifUnused) {
        return agree(table_->deleteExchange(name, ifUnused), oracle.remove(name, ifUnused));
    }
    bool bind(const BindingModel& model) {
        const std::string arguments = encoded(model.arguments);
        return agree(table_->bind(commandFor(model, arguments)), oracle.bind(model));
    }
    bool unbind(const BindingModel& model) {
        const std::string arguments = encoded(model.arguments);
        return agree(table_->unbind(commandFor(model, arguments)), oracle.unbind(model));
    }
    void addQueue(const std::string& name, bool durable) {
        if (oracle.queues.emplace(name, durable).second) {
            catalog::QueueSpec spec;
            spec.id = nextQueueId_++;
            spec.vhost = "/";
            spec.name = name;
            enter(spec, durable);
            if (durable) {
                log({true, spec});
            }
        }
    }
    void removeQueue(const std::string& name) {
        if (engine::Queue* queue = table_->findQueue(name)) {
            const catalog::QueueSpec spec = specOf(queue);
            logAll(table_->removeQueue(name));
            if (oracle.queues.at(name)) {
                log({false, spec});
            }
            oracle.removeQueue(name);
        }
    }
    // Everything that is logged so far goes to the store.
    bool store() {
        auto opened = catalog::Store::open(storePath_);
        const std::vector<catalog::Change> changes = logged(stored_);
        stored_ = log_.size();
        return opened.ok() && opened->apply(changes, stored_).ok();
    }
    bool restart() {
        oracle.restart();
        return start();
    }
    bool routesAgree(const std::string& exchange, const Message& message) {
        engine::Exchange* from = table_->findExchange(exchange);
        if (!oracle.exchanges.contains(exchange) || from == nullptr) {
            return !oracle.exchanges.contains(exchange) && from == nullptr;
        }
        const std::string headers = encoded(message.headers);
        const std::vector<std::string_view> more(message.keys.begin() + 1, message.keys.end());
        engine::Routable routable;
        routable.routingKey = message.keys[0];
        routable.moreKeys = more;
        routable.headers = base::FieldTable(base::bytesOf(headers));
        table_->route(*from, routable, found_);
        std::set<std::string> names;
        for (engine::Queue* queue : found_) {
            names.insert(specOf(queue).name);
        }
        return names.size() == found_.size() && names == oracle.route(exchange, message);
    }
    bool countsAgree() const {
        std::size_t bindings = 0;
        table_->eachExchange(
            [&](const engine::Exchange& exchange) { bindings += exchange.bindings().size(); });
        return bindings == oracle.bindings.size() &&
               table_->exchangeCount() == oracle.exchanges.size() &&
               table_->queueCount() == oracle.queues.size();
    }

  private:
    static std::string encoded(const Headers& headers) {
        std::string out;
        base::FieldTableWriter writer(out);
        if (!headers.mode.empty()) {
            writer.text("x-match", headers.mode);
        }
        for (const auto& [name, value] : headers.values) {
            writer.int32(name, value);
        }
        return out;
    }
    static engine::Binding commandFor(const BindingModel& model, const std::string& arguments) {
        engine::Binding out;
        out.source = model.source;
        out.destination = model.destination;
        out.routingKey = model.key;
        out.toExchange = model.toExchange;
        out.arguments = base::bytesOf(arguments);
        return out;
    }
    // A queue is only its spec here; the table never looks into it.
    static const catalog::QueueSpec& specOf(engine::Queue* queue) {
        return *reinterpret_cast<catalog::QueueSpec*>(queue);
    }
    void enter(const catalog::QueueSpec& spec, bool durable) {
        catalog::QueueSpec& kept = specs_.emplace_back(spec);
        table_->addQueue(kept.name, durable, *reinterpret_cast<engine::Queue*>(&kept));
    }
    bool agree(base::Outcome<engine::TopologyChange> outcome, int expected) {
        if (outcome) {
            logAll(*outcome);
        }
        return (outcome ? 0 : static_cast<int>(outcome.refusal().code)) == expected;
    }
    void log(const catalog::Change& change) { catalog::encode(change, log_.emplace_back()); }
    void logAll(const engine::TopologyChange& change) {
        for (const catalog::Change& one : change.durable) {
            log(one);
        }
    }
    std::vector<catalog::Change> logged(std::size_t from) const {
        std::vector<catalog::Change> out;
        for (std::size_t i = from; i < log_.size(); ++i) {
            out.push_back(catalog::decodeChange(base::bytesOf(log_[i])).value());
        }
        return out;
    }
    // The store's snapshot, then what the log has above its stamp.
    bool start() {
        table_ = std::make_unique<engine::RoutingTable>("/");
        auto opened = catalog::Store::open(storePath_);
        auto loaded = opened ? opened->load() : base::Result<catalog::Snapshot>(opened.error());
        if (!loaded || loaded->stamp != stored_) {
            return false;
        }
        for (const catalog::QueueSpec& spec : loaded->queues) {
            apply({true, spec});
        }
        for (const catalog::ExchangeSpec& spec : loaded->exchanges) {
            apply({true, spec});
        }
        for (const catalog::BindingSpec& spec : loaded->bindings) {
            apply({true, spec});
        }
        for (const catalog::Change& change : logged(stored_)) {
            apply(change);
        }
        return true;
    }
    void apply(const catalog::Change& change) {
        const auto* queue = std::get_if<catalog::QueueSpec>(&change.object);
        if (queue == nullptr) {
            table_->apply(change);
        } else if (change.put) {
            enter(*queue, true);
        } else {
            table_->removeQueue(queue->name);
        }
    }

    std::string storePath_;
    std::unique_ptr<engine::RoutingTable> table_;
    std::deque<catalog::QueueSpec> specs_; // also of queues that are gone
    std::vector<std::string> log_;
    std::size_t stored_ = 0; // changes of log_ that the store has; also its stamp
    base::QueueId nextQueueId_ = 1;
    std::vector<engine::Queue*> found_;
};

} // namespace millrace::model
