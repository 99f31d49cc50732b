// SPDX-License-Identifier: Apache-2.0
// Consumers, gets, acknowledgements, and the ends of channels and connections.
#include "model/broker_world.h"

#include <algorithm>

namespace millrace::model {

using engine::Settlement;

void BrokerWorld::consume(Peer& peer) {
    static constexpr std::uint16_t kLimits[] = {0, 1, 3, 20};
    const std::string& name = kQueues[random.below(kQueues.size())];
    const std::uint16_t prefetch = kLimits[random.below(4)];
    const std::string tag = "c" + std::to_string(++lastConsumer_);
    engine::Channel::Consume consume;
    consume.queue = name;
    consume.tag = tag;
    consume.noAck = random.chance(25);
    note(tag + " consumes " + name + ", prefetch " + std::to_string(prefetch) +
         (consume.noAck ? ", no ack" : ""));
    (void)peer.channel->qos(0, prefetch, false);
    const bool allowed = mayUse(name, peer.connection);
    if (peer.channel->consume(consume).ok() != allowed) {
        fail("consume of '" + name + "' should " + (allowed ? "be allowed" : "be refused"));
    }
    if (allowed) {
        BrokerOracle::Queue& queue = *oracle.find(name);
        queue.hadConsumer = true;
        peer.consumers[tag] = {name, queue.incarnation, prefetch, consume.noAck};
    }
}

void BrokerWorld::cancel(Peer& peer, std::string tag) {
    note("cancel " + tag);
    const std::string name = peer.consumers.at(tag).queue;
    peer.consumers.erase(tag);
    auto cancelled = peer.channel->cancel(tag);
    if (!cancelled || !*cancelled) {
        fail("cancel of '" + tag + "' failed");
    }
    consumerHasLeft(name);
}

void BrokerWorld::limitAll(Peer& peer) {
    peer.sharedLimit = static_cast<std::uint16_t>(random.chance(50) ? 0 : 1 + random.below(10));
    note("limit of the channel " + std::to_string(peer.sharedLimit));
    (void)peer.channel->qos(0, peer.sharedLimit, true);
}

void BrokerWorld::get(Peer& peer, const std::string& name, bool noAck) {
    note("get of " + name);
    if (!mayUse(name, peer.connection)) {
        if (peer.channel->get(name, noAck).ok()) {
            fail("get of '" + name + "' should be refused");
        }
        return;
    }
    const BrokerOracle::Queue& queue = *oracle.find(name);
    const auto before = static_cast<std::uint64_t>(
        std::count_if(peers.begin(), peers.end(), [&](const auto& other) {
            return other->getting && other->getting->incarnation == queue.incarnation;
        }));
    // One that a purge has already answered, and whose peer does not know yet, takes nothing.
    const bool mayCome = queue.ready() > 0;
    const bool mustCome = queue.ready() > before;
    peer.getting = Peer::Getting{name, queue.incarnation, noAck};
    auto got = peer.channel->get(name, noAck);
    const bool comes = got && *got == engine::Channel::Got::coming;
    if (!got || (comes && !mayCome) || (!comes && mustCome)) {
        fail("get should " + std::string(mustCome ? "find a message" : "be empty"));
    }
    if (!comes) {
        peer.getting.reset();
    }
}

void BrokerWorld::applySettle(Peer& peer, std::uint64_t tag, bool multiple, bool requeue) {
    for (auto at = peer.unacked.begin(); at != peer.unacked.end();) {
        const bool meant = at->first == tag || (multiple && at->first < tag);
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
            oracle.settle(out.queue, out.body);
        }
    }
}

void BrokerWorld::settle(Peer& peer, std::uint64_t tag, bool multiple, Settlement how) {
    note(std::string(how == Settlement::ack       ? "ack "
                     : how == Settlement::requeue ? "requeue "
                                                  : "discard ") +
         std::to_string(tag) + (multiple ? " and before" : "") + (peer.tx ? " in tx" : ""));
    const auto covers = [tag](const Peer::TxSettle& settle) {
        return tag == settle.tag || (settle.multiple && tag <= settle.tag);
    };
    const bool staged = std::any_of(peer.txSettles.begin(), peer.txSettles.end(), covers);
    const bool known = (tag == 0 && multiple) || (peer.unacked.contains(tag) && !staged);
    const bool requeue = how == Settlement::requeue;
    const std::uint64_t upTo = tag == 0 ? peer.lastTag : tag; // 0: all that is out now
    if (known && peer.tx) {
        peer.txSettles.push_back({upTo, multiple, requeue});
    } else if (known) {
        applySettle(peer, upTo, multiple, requeue);
    }
    if (peer.channel->settle(tag, multiple, how).ok() != known) {
        fail("tag " + std::to_string(tag) + " should be " + (known ? "known" : "unknown"));
    }
}

void BrokerWorld::recover(Peer& peer) {
    note("recover");
    applySettle(peer, peer.lastTag, true, true);
    peer.channel->recover();
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
    applySettle(*peer, peer->lastTag, true, true);
    peer->channel.reset();
    std::set<std::string> left;
    for (const auto& [tag, consumer] : peer->consumers) {
        left.insert(consumer.queue);
    }
    for (const std::string& name : left) {
        consumerHasLeft(name);
    }
}

void BrokerWorld::closeConnection(int number) {
    note("close of connection " + std::to_string(number));
    for (std::size_t at = peers.size(); at-- > 0;) {
        if (peers[at]->connection == number) {
            closeChannel(at);
        }
    }
    auto& connection = connections[static_cast<std::size_t>(number)];
    connection.reset();
    for (const std::string& name : kQueues) {
        const BrokerOracle::Queue* const queue = oracle.find(name);
        if (queue && queue->owner == number) {
            queueHasGone(name);
        }
    }
    connection = broker->connect("/", "guest");
    connectionFull_[static_cast<std::size_t>(number)] = false;
}

void BrokerWorld::settleSomething(Peer& peer) {
    const auto how = random.chance(70)   ? Settlement::ack
                     : random.chance(70) ? Settlement::requeue
                                         : Settlement::discard;
    if (peer.tx && random.chance(30)) {
        random.chance(70) ? commit(peer) : rollback(peer);
    } else if (random.chance(3)) {
        settle(peer, random.chance(50) ? peer.lastTag + 5 : 0, false, how);
    } else if (random.chance(3)) {
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
    const auto verb = random.below(100);
    if (peer.upload || verb < 3) {
        upload(peer);
    } else if (verb < 40) {
        publishSome(peer);
    } else if (verb < 74) {
        settleSomething(peer);
    } else if (verb < 82) {
        get(peer, kQueues[random.below(kQueues.size())], random.chance(30));
    } else if (verb < 89) {
        if (peer.consumers.size() < 3) {
            consume(peer);
        }
    } else if (verb < 93) {
        if (!peer.consumers.empty()) {
            cancel(peer, peer.consumers.begin()->first);
        }
    } else if (verb < 94) {
        limitAll(peer);
    } else if (peer.full) {
        note("writable");
        peer.full = false;
        peer.channel->writable();
    }
}

} // namespace millrace::model
