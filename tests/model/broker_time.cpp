// SPDX-License-Identifier: Apache-2.0
// Turns, horizons and the stores; what must be true after them.
#include "model/broker_world.h"

#include <algorithm>

namespace millrace::model {

void BrokerWorld::turn() {
    broker->endTurn();
    if (oracle.settlesNotLogged() > 0) {
        fail("a turn ends without its settles in the log");
    }
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

void BrokerWorld::storeBatch() {
    for (const auto& change : batch_->changes) {
        catalog.apply(change);
    }
    catalog.snapshot.stamp = batch_->upTo;
}

void BrokerWorld::storeCatalog() {
    if (!batch_) {
        batch_ = broker->takeCatalogChanges();
        return;
    }
    storeBatch();
    broker->catalogStored(batch_->upTo);
    batch_.reset();
}

void BrokerWorld::setConnectionFull(int number, bool full) {
    const auto at = static_cast<std::size_t>(number);
    connections[at]->setFull(full);
    connectionFull_[at] = full;
    for (const auto& peer : peers) {
        if (!full && peer->connection == number) {
            peer->full = false;
            peer->channel->writable();
        }
    }
}

void BrokerWorld::compareCounts() {
    for (const std::string& name : kQueues) {
        const auto numbers = broker->numbers("/", name);
        const BrokerOracle::Queue* const queue = oracle.find(name);
        if (numbers.has_value() != (queue != nullptr)) {
            fail("queue '" + name + "' " + (queue ? "is missing" : "should not be there"));
        } else if (queue &&
                   (numbers->ready != queue->ready() || numbers->unacked != queue->unacked())) {
            fail("queue '" + name + "' has " + std::to_string(numbers->ready) + " ready and " +
                 std::to_string(numbers->unacked) + " unacked, not " +
                 std::to_string(queue->ready()) + " and " + std::to_string(queue->unacked()));
        } else if (queue && numbers->consumers != consumersOf(name)) {
            fail("queue '" + name + "' has " + std::to_string(numbers->consumers) + " consumers");
        }
    }
}

void BrokerWorld::checkNothingWaits() {
    for (const auto& peer : peers) {
        if (peer->getting) {
            fail("a get is never answered");
        }
        if (peer->receiving) {
            fail("the rest of message " + std::to_string(peer->receiving->body) + " never comes");
        }
        if (peer->lastConfirmed != peer->confirmRecords.size()) {
            fail("publish " + std::to_string(peer->lastConfirmed + 1) + " is never confirmed");
        }
        if (!peer->awaited.empty()) {
            fail("reply " + std::to_string(peer->awaited.begin()->first) + " never comes");
        }
        if (!peer->cancels.empty()) {
            fail("the cancel of '" + peer->cancels.begin()->first + "' never comes");
        }
        for (const auto& [tag, consumer] : peer->consumers) {
            if (peer->hasRoom(tag) && !peer->full && oracle.queues.at(consumer.queue).ready() > 0) {
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
    for (int i = 0; i < 3000 && !failed(); ++i) {
        for (int number = 0; number < kConnections; ++number) {
            setConnectionFull(number, false);
        }
        turn();
        durable.advanceAll();
        pages.finishAsked();
        const bool idle =
            !broker->hasWork() && durable.pendingFetches() == 0 && scratch.pendingFetches() == 0;
        const bool room = std::none_of(peers.begin(), peers.end(), [this](const auto& peer) {
            return peer->full || isConnectionFull(peer->connection);
        });
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

void BrokerWorld::drain() {
    crash();
    peers.clear();
    Peer& peer = open(0);
    for (const std::string& name : kQueues) {
        while (!failed() && mayUse(name, 0) && oracle.find(name)->ready() > 0) {
            get(peer, name, true);
            for (int i = 0; peer.getting && i < 10; ++i) {
                setConnectionFull(0, false);
                turn();
                durable.advanceAll();
            }
            if (peer.getting) {
                fail("the last get of '" + name + "' is never answered");
            }
            for (int i = 0; peer.receiving && i < 100; ++i) {
                setConnectionFull(0, false);
                turn();
            }
        }
    }
    quiesce();
}

void BrokerWorld::commandOfTime() {
    const auto verb = random.below(100);
    if (verb < 48) {
        note("turn");
        turn();
    } else if (verb < 73) {
        moveHorizon();
    } else if (verb < 77) {
        durable.evictTo(random.below(durable.appended() + 1));
        scratch.evictTo(random.below(scratch.appended() + 1));
    } else if (verb < 80) {
        durable.holdFetches(random.chance(50));
        scratch.holdFetches(random.chance(50));
    } else if (verb < 86) {
        note("catalog store");
        storeCatalog();
    } else if (verb < 91) {
        note("eleven seconds");
        clock.advance(std::chrono::seconds(11));
        clock.step = std::chrono::microseconds(random.chance(70) ? 20 : 600);
        broker->tick();
        broker->hurryCheckpoints(random.chance(20));
        pages.isReady = random.chance(80);
    } else if (verb < 95) {
        note("checkpoint finished");
        pages.finishAsked();
    } else if (verb < 98) {
        setConnectionFull(static_cast<int>(random.below(kConnections)), random.chance(40));
    } else {
        quiesce();
    }
}

} // namespace millrace::model
