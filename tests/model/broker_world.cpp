// SPDX-License-Identifier: Apache-2.0
// Start, crash, time and the checks of the whole.
#include "model/broker_world.h"

#include <algorithm>

namespace millrace::model {

const std::vector<std::string> BrokerWorld::kNames{"durable",   "backlog", "fading",
                                                   "transient", "mine",    "other"};

BrokerWorld::BrokerWorld(std::uint64_t seed) : random(seed) {
    durable.onFault = [this](const std::string& text) { fail("durable log: " + text); };
    scratch.onFault = [this](const std::string& text) { fail("scratch log: " + text); };
    start();
    engine::ExchangeDeclare fan;
    fan.name = "fan";
    fan.type = "fanout";
    fan.durable = true;
    if (!broker->declareExchange(*connections[0], fan)) {
        fail("the exchange was refused");
    }
    for (int i = 0; i < 3; ++i) {
        turn();
        durable.advanceAll();
    }
    turn();
    storeCatalog();
}

BrokerWorld::~BrokerWorld() {
    stop();
}

void BrokerWorld::fail(const std::string& what) {
    if (failure_.empty()) {
        failure_ = what;
        trace.push_back("FAILED: " + what);
    }
}

void BrokerWorld::note(std::string what) {
    trace.push_back(std::move(what));
}

void BrokerWorld::start() {
    broker = std::make_unique<engine::Broker>(durable, scratch, clock, engine::BrokerOptions{});
    broker->load(catalog.snapshot, pages.replayFrom());
    const auto loaded =
        pages.load(durable.horizons().synced, [this](const auto& page) { broker->loadPage(page); });
    const auto replayed =
        durable.replay(pages.replayFrom(), [this](const auto& entry) { broker->replay(entry); });
    const auto recovered =
        broker->recovered([this](const base::MessageId& first, std::uint32_t neighbours,
                                 std::uint32_t count) { durable.hold(first, neighbours, count); });
    for (const base::Status* status : {&loaded, &replayed, &recovered}) {
        if (!status->ok()) {
            fail("start: " + status->error().text);
        }
    }
    durable.start(*broker);
    scratch.start(broker->scratchListener());
    broker->checkpoint(pages);
    broker->putVhost({"/"}); // exists already, but for the first start
    for (int i = 0; i < kConnections; ++i) {
        connections.push_back(broker->connect("/", "guest"));
    }
    stale = false;
    turnBytes_ = 0;
}

void BrokerWorld::stop() {
    stale = true;
    peers.clear();
    connections.clear();
    broker.reset();
    batch_.reset();
}

void BrokerWorld::crash() {
    if (batch_ && random.chance(50)) { // the store had it, nobody was told
        for (const auto& change : batch_->changes) {
            catalog.apply(change);
        }
        catalog.snapshot.stamp = batch_->upTo;
    }
    stop();
    durable.restart();
    scratch.restart();
    const bool fallBack = random.chance(20);
    pages.crash(fallBack);
    oracle.crash(durable.horizons().synced);
    note("crash, synced " + std::to_string(durable.horizons().synced) + ", replay from " +
         std::to_string(pages.replayFrom()) + (fallBack ? ", fallen back" : ""));
    start();
    compareCounts();
}

void BrokerWorld::withdrawTail() {
    const LogIndex from = committed() + 1 + random.below(durable.appended() + 1 - committed());
    note("withdraw from " + std::to_string(from));
    stale = true;
    durable.withdraw(from, {base::ErrorCode::stopped, "another node leads"});
    durable.harvest();
    if (!broker->stale()) {
        fail("the broker is not stale after a withdrawal");
    }
    broker->endTurn();
    crash();
}

void BrokerWorld::turn() {
    turnBytes_ = 0;
    broker->endTurn();
    durable.harvest();
    scratch.harvest();
}

void BrokerWorld::moveHorizon() {
    const auto between = [this](LogIndex least, LogIndex most) {
        return random.between(least, std::max(least, most));
    };
    durable.writeTo(between(durable.horizons().written, durable.appended()));
    durable.syncTo(between(durable.horizons().synced, durable.horizons().written));
    durable.commitTo(between(durable.horizons().committed, durable.horizons().synced));
    note("horizons: synced " + std::to_string(durable.horizons().synced) + ", committed " +
         std::to_string(committed()) + " of " + std::to_string(durable.appended()));
    durable.harvest();
}

void BrokerWorld::storeCatalog() {
    if (!batch_) {
        batch_ = broker->takeCatalogChanges();
        return;
    }
    for (const auto& change : batch_->changes) {
        catalog.apply(change);
    }
    catalog.snapshot.stamp = batch_->upTo;
    broker->catalogStored(batch_->upTo);
    batch_.reset();
}

void BrokerWorld::compareCounts() {
    for (const std::string& name : kNames) {
        const auto numbers = broker->numbers("/", name);
        const BrokerOracle::Queue* const queue = oracle.find(name);
        if (numbers.has_value() != (queue != nullptr)) {
            fail("queue '" + name + "' " + (queue ? "is missing" : "should not be there"));
        } else if (queue &&
                   (numbers->ready != queue->ready || numbers->unacked != queue->unacked())) {
            fail("queue '" + name + "' has " + std::to_string(numbers->ready) + " ready and " +
                 std::to_string(numbers->unacked) + " unacked, not " +
                 std::to_string(queue->ready) + " and " + std::to_string(queue->unacked()));
        }
    }
}

void BrokerWorld::checkNothingWaits() {
    for (const auto& peer : peers) {
        if (peer->getting) {
            fail("a get is never answered");
        }
        if (peer->lastConfirmed != peer->confirmRecords.size()) {
            fail("publish " + std::to_string(peer->lastConfirmed + 1) + " is never confirmed");
        }
        if (!peer->awaited.empty()) {
            fail("reply " + std::to_string(peer->awaited.begin()->first) + " never comes");
        }
        for (const auto& [tag, consumer] : peer->consumers) {
            const bool room = consumer.noAck || consumer.prefetch == 0 ||
                              outstanding(*peer, tag) < consumer.prefetch;
            if (room && !peer->full && oracle.queues.at(consumer.queue).ready > 0) {
                fail("consumer '" + tag + "' starves beside ready messages of '" + consumer.queue +
                     "'");
            }
        }
    }
}

void BrokerWorld::quiesce() {
    note("quiesce");
    durable.holdFetches(false);
    scratch.holdFetches(false);
    pages.isReady = true;
    for (int i = 0; i < 400 && !failed(); ++i) {
        for (const auto& peer : peers) {
            if (peer->full) {
                peer->full = false;
                peer->channel->writable();
            }
        }
        turn();
        durable.advanceAll();
        pages.finishAsked();
        const bool idle =
            !broker->hasWork() && durable.pendingFetches() == 0 && scratch.pendingFetches() == 0;
        const bool room =
            std::none_of(peers.begin(), peers.end(), [](const auto& peer) { return peer->full; });
        if (idle && room && i > 6) {
            break;
        }
    }
    turn();
    if (failed()) {
        return;
    }
    compareCounts();
    checkNothingWaits();
    for (const std::string& difference : durable.differencesToNeeded()) {
        fail(difference);
    }
    if (scratch.heldEntries() != oracle.scratchMessages()) {
        fail("the scratch log holds " + std::to_string(scratch.heldEntries()) + " entries for " +
             std::to_string(oracle.scratchMessages()) + " messages");
    }
}

} // namespace millrace::model
