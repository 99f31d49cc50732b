// SPDX-License-Identifier: Apache-2.0
// Starts and ends of the broker: a power cut, a log that takes its tail back, an orderly stop.
#include "model/broker_world.h"

namespace millrace::model {

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
    connectionFull_.fill(false);
    stale = false;
}

void BrokerWorld::stop() {
    stale = true;
    peers.clear();
    connections.clear();
    broker.reset();
    batch_.reset();
    logged_.clear(); // what the peers' end did with a broker that is lost is nobody's business
}

void BrokerWorld::crash() {
    if (batch_ && random.chance(50)) { // the store had it, nobody was told
        storeBatch();
    }
    durable.onAppend = {};
    stop();
    durable.restart();
    scratch.restart();
    if (random.chance(30)) { // so had the other store
        pages.finishAsked();
    }
    const bool fallBack = random.chance(20);
    pages.crash(fallBack);
    oracle.crash(durable.horizons().synced, false);
    note("crash, synced " + std::to_string(durable.horizons().synced) + ", replay from " +
         std::to_string(pages.replayFrom()) + (fallBack ? ", fallen back" : ""));
    durable.onAppend = [this](const auto& entry, const auto& id) { appended(entry, id); };
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

// As the server does it: peers go first, then checkpoints until nothing is left to replay.
void BrokerWorld::restartInOrder() {
    note("orderly stop");
    for (int number = 0; number < kConnections; ++number) {
        closeConnection(number);
    }
    if (!finishInOrder()) {
        fail("the orderly stop does not end");
        return;
    }
    if (durable.horizons().synced != durable.appended()) {
        fail("something is not synced after an orderly stop");
    }
    stop();
    durable.restart();
    scratch.restart();
    pages.crash(false);
    oracle.crash(durable.horizons().synced, true);
    std::size_t replayed = 0;
    (void)durable.replay(pages.replayFrom(), [&replayed](const auto&) { ++replayed; });
    if (replayed > 0) {
        fail("an orderly stop leaves something to replay");
    }
    note("orderly start");
    start();
    compareCounts();
}

bool BrokerWorld::finishInOrder() {
    durable.holdFetches(false);
    for (int i = 0; i < 3000; ++i) {
        durable.harvest();
        scratch.harvest();
        const bool checkpointed = broker->checkpointedForStop();
        broker->endTurn();
        const bool idle = !batch_ && !(batch_ = broker->takeCatalogChanges());
        if (checkpointed && idle) {
            return true;
        }
        if (batch_ && random.chance(50)) {
            storeCatalog();
        }
        durable.advanceTo(random.between(durable.horizons().synced, durable.appended()));
        pages.isReady = random.chance(80);
        if (random.chance(50)) {
            pages.finishAsked();
        }
    }
    return false;
}

} // namespace millrace::model
