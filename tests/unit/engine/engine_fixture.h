// SPDX-License-Identifier: Apache-2.0
// A broker over logs in memory whose horizon the test moves, and the verbs that tests of the engine
// say most. Lives on: the test's thread.
#pragma once

#include "engine/broker.h"

#include "catalog/snapshot.h"
#include "engine/channel.h"
#include "engine/connection.h"
#include "support/delayed_log.h"
#include "support/hand_clock.h"
#include "support/memory_pages.h"
#include "support/recorder_client.h"

#include <QTest>

#include <memory>
#include <string>
#include <vector>

namespace millrace::test {

using engine::Channel;
using engine::Nothing;
using engine::Settlement;
using support::RecorderClient;

inline std::string persistentProperties() {
    return std::string("\x10\x00\x02", 3);
}
inline std::string transientProperties() {
    return std::string("\x00\x00", 2);
}

class EngineFixture {
  public:
    support::HandClock clock;
    support::DelayedLog durable{support::DelayedLog::Kind::durable, &clock};
    support::DelayedLog scratch{support::DelayedLog::Kind::scratch, &clock};
    support::MemoryPages pages;
    bool checkpoints = false; // set before the first start() that shall use the pages
    std::unique_ptr<engine::Broker> broker;
    engine::BrokerOptions options;
    catalog::Snapshot stored; // what the catalog store has

    EngineFixture() {
        start(catalog::Snapshot{});
        broker->putVhost({"/"});
        sync();
    }

    void start(catalog::Snapshot snapshot) {
        broker = std::make_unique<engine::Broker>(durable, scratch, clock, options);
        const base::LogIndex from = checkpoints ? pages.replayFrom() : 1;
        broker->load(std::move(snapshot), from);
        if (checkpoints) {
            const auto loaded = pages.load(durable.horizons().synced,
                                           [this](const auto& page) { broker->loadPage(page); });
            QVERIFY(loaded.ok());
        }
        const auto replayed =
            durable.replay(from, [this](const log::Replayed& entry) { broker->replay(entry); });
        QVERIFY(replayed.ok());
        const auto recovered = broker->recovered(
            [this](const base::MessageId& first, std::uint32_t neighbours, std::uint32_t count) {
                durable.hold(first, neighbours, count);
            });
        QVERIFY(recovered.ok());
        durable.start(*broker);
        scratch.start(broker->scratchListener());
        if (checkpoints) {
            broker->checkpoint(pages);
        }
    }
    // Power cut: what is not synced is gone. All peers must be gone before.
    void restart() {
        broker.reset();
        durable.restart();
        scratch.restart();
        pages.restart();
        start(stored);
    }
    // The catalog store takes what it is given, as SQLite would.
    void store() {
        while (const auto batch = broker->takeCatalogChanges()) {
            for (const catalog::Change& change : batch->changes) {
                store(change);
            }
            stored.stamp = batch->upTo;
            broker->catalogStored(batch->upTo);
        }
    }
    // A whole round of the checkpoint.
    void round() {
        sync();
        store();
        clock.advance(std::chrono::minutes(1));
        broker->tick();
        sync();
        broker->tick();
        sync();
    }
    // Until nothing is left to do at this horizon.
    void turn() {
        int turns = 0;
        do {
            broker->endTurn();
            durable.harvest();
            scratch.harvest();
        } while ((broker->hasWork() || durable.pendingFetches() > 0) && ++turns < 10'000);
    }
    void sync() {
        for (int i = 0; i < 3; ++i) { // what a sync sets going may append again
            turn();
            durable.advanceAll();
            turn();
        }
    }

  private:
    void store(const catalog::Change& change) {
        if (const auto* vhost = std::get_if<catalog::VhostSpec>(&change.object)) {
            stored.vhosts.push_back(*vhost);
        } else if (const auto* queue = std::get_if<catalog::QueueSpec>(&change.object)) {
            std::erase_if(stored.queues, [&](const auto& other) { return other.id == queue->id; });
            stored.nextQueueId = std::max(stored.nextQueueId, queue->id + 1);
            if (change.put) {
                stored.queues.push_back(*queue);
            }
        } else if (const auto* binding = std::get_if<catalog::BindingSpec>(&change.object)) {
            std::erase_if(stored.bindings, [&](const auto& other) {
                return other.source == binding->source && other.destination == binding->destination;
            });
            if (change.put) {
                stored.bindings.push_back(*binding);
            }
        }
    }
};

struct Peer {
    std::unique_ptr<engine::Connection> connection;
    RecorderClient client;
    std::unique_ptr<Channel> channel;
    EngineFixture& fixture;

    explicit Peer(EngineFixture& in, std::string user = "guest")
        : connection(in.broker->connect("/", std::move(user))), fixture(in) {
        channel = in.broker->openChannel(*connection, client);
    }
    void declare(std::string_view name, bool durableQueue = true, bool exclusive = false,
                 bool autoDelete = false, std::string_view arguments = {}) {
        engine::QueueDeclare declare;
        declare.name = name;
        declare.durable = durableQueue;
        declare.exclusive = exclusive;
        declare.autoDelete = autoDelete;
        declare.arguments = base::bytesOf(arguments);
        const auto declared = fixture.broker->declareQueue(*connection, declare);
        QVERIFY2(declared.ok(), declared.refusal().text.c_str());
    }
    base::Outcome<Channel::Routed> publish(std::string_view key, std::string_view body,
                                           bool persistent = true, std::string_view exchange = {},
                                           bool mandatory = false) {
        const std::string properties = persistent ? persistentProperties() : transientProperties();
        return publishWith(properties, key, body, exchange, mandatory);
    }
    base::Outcome<Channel::Routed> publishWith(std::string_view properties, std::string_view key,
                                               std::string_view body,
                                               std::string_view exchange = {},
                                               bool mandatory = false) {
        const base::Bytes bytes = base::bytesOf(body);
        Channel::Publish publish;
        publish.exchange = exchange;
        publish.routingKey = key;
        publish.properties = base::bytesOf(properties);
        publish.body = {&bytes, 1};
        publish.bodySize = body.size();
        publish.mandatory = mandatory;
        return channel->publish(publish);
    }
    base::Outcome<Nothing> consume(std::string_view queue, std::string_view tag, bool noAck = false,
                                   bool exclusive = false, std::string_view arguments = {}) {
        Channel::Consume consume;
        consume.queue = queue;
        consume.tag = tag;
        consume.noAck = noAck;
        consume.exclusive = exclusive;
        consume.arguments = base::bytesOf(arguments);
        return channel->consume(consume);
    }
    void ack(std::uint64_t tag, bool multiple = false) {
        const auto settled = channel->settle(tag, multiple, Settlement::ack);
        QVERIFY2(settled.ok(), settled.refusal().text.c_str());
    }
    void purge(std::string_view queue) {
        const auto purged = fixture.broker->purgeQueue(*connection, "/", queue);
        QVERIFY2(purged.ok(), purged.refusal().text.c_str());
    }
    std::uint64_t ready(std::string_view queue) {
        const auto numbers = fixture.broker->numbers("/", queue);
        return numbers ? numbers->ready : UINT64_MAX;
    }
    std::uint64_t unacked(std::string_view queue) {
        const auto numbers = fixture.broker->numbers("/", queue);
        return numbers ? numbers->unacked : UINT64_MAX;
    }
};

} // namespace millrace::test
