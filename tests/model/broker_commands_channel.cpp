// SPDX-License-Identifier: Apache-2.0
// Acknowledgements, transactions, the ends of channels, and the choice of the next command.
#include "model/broker_world.h"

#include <algorithm>

namespace millrace::model {

using engine::Settlement;

void BrokerWorld::applySettle(Peer& peer, std::uint64_t tag, bool multiple, bool requeue) {
    for (auto at = peer.unacked.begin(); at != peer.unacked.end();) {
        const bool meant = at->first == tag || (multiple && (tag == 0 || at->first < tag));
        if (!meant) {
            ++at;
            continue;
        }
        const Peer::Out out = at->second;
        at = peer.unacked.erase(at);
        if (!oracle.find(out.queue, out.incarnation)) {
            continue;
        }
        if (requeue) {
            oracle.giveBack(out.queue, out.body);
        } else {
            oracle.settle(out.queue, out.body, openRecord());
        }
    }
}

void BrokerWorld::settle(Peer& peer, std::uint64_t tag, bool multiple, Settlement how) {
    note(std::string(how == Settlement::ack       ? "ack "
                     : how == Settlement::requeue ? "requeue "
                                                  : "discard ") +
         std::to_string(tag) + (multiple ? " and before" : ""));
    const bool known = (tag == 0 && multiple) || peer.unacked.contains(tag);
    const bool requeue = how == Settlement::requeue;
    if (known && peer.tx) {
        peer.txSettles.push_back({tag == 0 ? peer.lastTag : tag, multiple, requeue});
    } else if (known) {
        applySettle(peer, tag, multiple, requeue);
    }
    if (peer.channel->settle(tag, multiple, how).ok() != known) {
        fail("tag " + std::to_string(tag) + " should be " + (known ? "known" : "unknown"));
    }
}

void BrokerWorld::giveBackAll(Peer& peer) {
    applySettle(peer, 0, true, true);
}

void BrokerWorld::recover(Peer& peer) {
    note("recover");
    giveBackAll(peer);
    peer.channel->recover();
}

void BrokerWorld::commit(Peer& peer) {
    note("commit");
    const LogIndex record = openRecord();
    for (const Peer::TxSettle& settle : peer.txSettles) {
        applySettle(peer, settle.tag, settle.multiple, settle.requeue);
    }
    for (const Peer::TxPublish& publish : peer.txPublishes) {
        std::vector<std::string> names;
        for (const auto& [name, incarnation] : publish.routes) {
            if (oracle.find(name, incarnation)) {
                names.push_back(name);
            }
        }
        if (!names.empty()) {
            oracle.publish(publish.body, publish.persistent, names, record);
        }
    }
    peer.txPublishes.clear();
    peer.txSettles.clear();
    await(peer.channel->txCommit());
}

void BrokerWorld::rollback(Peer& peer) {
    note("rollback");
    peer.txPublishes.clear();
    peer.txSettles.clear();
    if (!peer.channel->txRollback()) {
        fail("rollback refused");
    }
}

Peer& BrokerWorld::open(int connection) {
    auto peer = std::make_unique<Peer>(*this, connection);
    peer->channel = broker->openChannel(*connections[static_cast<std::size_t>(connection)], *peer);
    const auto mode = random.below(4);
    note("channel " + std::string(mode == 0   ? "of transactions"
                                  : mode == 1 ? "plain"
                                              : "with confirms"));
    if (mode == 0) {
        peer->tx = peer->channel->txSelect().ok();
    } else if (mode > 1) {
        peer->confirms = true;
        peer->channel->selectConfirms();
    }
    peers.push_back(std::move(peer));
    return *peers.back();
}

void BrokerWorld::closeChannel(std::size_t at) {
    note("close of channel " + std::to_string(at));
    const std::unique_ptr<Peer> peer = std::move(peers[at]);
    peers.erase(peers.begin() + static_cast<std::ptrdiff_t>(at));
    giveBackAll(*peer);
    for (const auto& [tag, consumer] : peer->consumers) {
        leave(consumer.queue);
    }
    peer->channel.reset();
}

void BrokerWorld::closeConnection(int number) {
    note("close of connection " + std::to_string(number));
    for (std::size_t at = peers.size(); at-- > 0;) {
        if (peers[at]->connection == number) {
            closeChannel(at);
        }
    }
    for (const std::string& name : kNames) {
        const BrokerOracle::Queue* const queue = oracle.find(name);
        if (queue && queue->owner == number) {
            removed(name);
        }
    }
    auto& connection = connections[static_cast<std::size_t>(number)];
    connection.reset();
    connection = broker->connect("/", "guest");
}

void BrokerWorld::commandOfDelivery(Peer& peer) {
    const auto how = random.chance(70)   ? Settlement::ack
                     : random.chance(70) ? Settlement::requeue
                                         : Settlement::discard;
    if (peer.tx && random.chance(30)) {
        random.chance(70) ? commit(peer) : rollback(peer);
    } else if (random.chance(3)) {
        settle(peer, random.chance(50) ? peer.lastTag + 5 : 0, false, how);
    } else if (random.chance(3) && !peer.tx) {
        recover(peer);
    } else if (random.chance(5)) {
        settle(peer, 0, true, how);
    } else if (!peer.unacked.empty()) {
        const std::uint64_t first = peer.unacked.begin()->first;
        const auto at = peer.unacked.lower_bound(first + random.below(random.chance(60) ? 1 : 20));
        if (at != peer.unacked.end()) {
            settle(peer, at->first, random.chance(20), how);
        }
    }
}

void BrokerWorld::commandOfPeer(Peer& peer) {
    const std::string& name = kNames[random.below(kNames.size())];
    const auto verb = random.below(100);
    if (verb < 40) {
        publish(peer, random.chance(30) ? "fan" : name,
                random.chance(10) ? random.below(40) : 1 + random.below(3), random.chance(70));
    } else if (verb < 75) {
        commandOfDelivery(peer);
    } else if (verb < 83) {
        get(peer, name, random.chance(30));
    } else if (verb < 90 && peer.consumers.size() < 3) {
        const std::uint16_t limits[] = {0, 1, 3, 20};
        consume(peer, name, limits[random.below(4)], random.chance(25));
    } else if (verb < 95 && !peer.consumers.empty()) {
        cancel(peer, peer.consumers.begin()->first);
    } else if (peer.full) {
        peer.full = false;
        note("writable");
        peer.channel->writable();
    }
}

void BrokerWorld::commandOfTopology() {
    const std::string& name = kNames[random.below(kNames.size())];
    const auto verb = random.below(100);
    if (verb < 50) {
        declare(name);
    } else if (verb < 56) {
        remove(name);
    } else if (verb < 66) {
        purge(name);
    } else if (verb < 90) {
        bind(name, random.chance(75));
    } else if (verb < 96) {
        closeChannel(random.below(peers.size()));
    } else {
        closeConnection(static_cast<int>(random.below(kConnections)));
    }
}

void BrokerWorld::commandOfTime() {
    const auto verb = random.below(100);
    if (verb < 50) {
        note("turn");
        turn();
    } else if (verb < 75) {
        moveHorizon();
    } else if (verb < 80) {
        durable.evictTo(random.below(durable.appended() + 1));
        scratch.evictTo(random.below(scratch.appended() + 1));
    } else if (verb < 83) {
        durable.holdFetches(random.chance(50));
        scratch.holdFetches(random.chance(50));
    } else if (verb < 88) {
        storeCatalog();
    } else if (verb < 94) {
        clock.advance(std::chrono::seconds(11));
        broker->tick();
        pages.isReady = random.chance(80);
    } else if (verb < 98) {
        pages.finishAsked();
    } else {
        quiesce();
    }
}

void BrokerWorld::step() {
    if (peers.size() < 2 || (peers.size() < 6 && random.chance(3))) {
        open(static_cast<int>(random.below(kConnections)));
    }
    if (turnBytes_ > 20'000) {
        turn();
    }
    const auto what = random.below(1000);
    if (what < 600) {
        Peer& peer = *peers[random.below(peers.size())];
        if (!peer.getting) { // its session waits for the answer
            commandOfPeer(peer);
        }
    } else if (what < 690) {
        commandOfTopology();
    } else if (what < 994) {
        commandOfTime();
    } else if (what < 998) {
        crash();
    } else {
        withdrawTail();
    }
    if (!stale && !failed()) {
        compareCounts();
    }
}

} // namespace millrace::model
