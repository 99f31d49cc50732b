// SPDX-License-Identifier: Apache-2.0
// The commands, each told to the broker and to the oracle.
#include "model/broker_world.h"

#include <algorithm>

namespace millrace::model {

using engine::Settlement;

std::vector<std::string> BrokerWorld::routes(const std::string& target) const {
    if (target == "fan") {
        return {oracle.bound.begin(), oracle.bound.end()};
    }
    return oracle.queues.contains(target) ? std::vector<std::string>{target}
                                          : std::vector<std::string>{};
}

std::uint64_t BrokerWorld::outstanding(const Peer& peer, const std::string& consumer) const {
    return static_cast<std::uint64_t>(
        std::count_if(peer.unacked.begin(), peer.unacked.end(),
                      [&](const auto& out) { return out.second.consumer == consumer; }));
}

void BrokerWorld::publish(Peer& peer, const std::string& target, std::uint64_t count,
                          bool persistent) {
    note("publish " + std::to_string(count) + (persistent ? " persistent" : " transient") + " to " +
         target + " from " + std::to_string(lastBody_ + 1) + (peer.tx ? " in tx" : ""));
    for (std::uint64_t i = 0; i < count; ++i) {
        std::string body = std::to_string(++lastBody_);
        body.resize(body.size() + random.below(random.chance(10) ? 900 : 30), ' ');
        const base::Bytes bytes = base::bytesOf(body);
        const std::string properties =
            persistent ? std::string("\x10\x00\x02", 3) : std::string("\x00\x00", 2);
        engine::Channel::Publish message;
        message.exchange = target == "fan" ? "fan" : "";
        message.routingKey = target;
        message.properties = base::bytesOf(properties);
        message.body = {&bytes, 1};
        message.bodySize = body.size();
        turnBytes_ += body.size() + 64;
        const std::vector<std::string> names = routes(target);
        const LogIndex record = openRecord();
        auto routed = peer.channel->publish(message);
        if (!routed) {
            fail("publish refused: " + routed.refusal().text);
            return;
        }
        if ((*routed == engine::Channel::Routed::unroutable) != names.empty()) {
            fail("publish " + std::to_string(lastBody_) + " went elsewhere than its bindings say");
        }
        if (peer.tx) {
            Peer::TxPublish kept{lastBody_, persistent, {}};
            for (const std::string& name : names) {
                kept.routes.emplace_back(name, oracle.queues.at(name).incarnation);
            }
            peer.txPublishes.push_back(std::move(kept));
            continue;
        }
        const LogIndex waitsFor =
            names.empty() ? 0 : oracle.publish(lastBody_, persistent, names, record);
        if (peer.confirms) {
            peer.confirmRecords.push_back(waitsFor);
        }
    }
}

// Where a reply waits for the log, the next peer waits with it.
template <typename T> void BrokerWorld::await(const engine::Answer<T>& answer) {
    auto copy = answer;
    if (!copy) {
        fail("refused: " + copy.refusal().text);
        return;
    }
    const LogIndex record = copy->visibleAt;
    Peer& peer = *peers[random.below(peers.size())];
    const std::uint64_t ticket = peer.lastTicket + 1;
    if (broker->await(*peer.channel, record, ticket)) {
        peer.awaited[++peer.lastTicket] = record;
    } else if (record > committed()) {
        fail("a reply does not wait for its record");
    }
}

engine::Connection& BrokerWorld::ownerOf(const std::string& name) {
    const BrokerOracle::Queue* const queue = oracle.find(name);
    return *connections[queue && queue->owner >= 0 ? static_cast<std::size_t>(queue->owner) : 0];
}

void BrokerWorld::declare(const std::string& name) {
    engine::QueueDeclare declare;
    declare.name = name;
    declare.durable = name == "durable" || name == "backlog" || name == "fading" || name == "mine";
    declare.exclusive = name == "mine";
    declare.autoDelete = name == "fading" || name == "other";
    const bool exists = oracle.find(name) != nullptr;
    note("declare " + name);
    const LogIndex record = openRecord();
    auto answer = broker->declareQueue(ownerOf(name), declare);
    if (answer && exists && answer->value.messages != oracle.find(name)->ready) {
        fail("declare of '" + name + "' counts " + std::to_string(answer->value.messages));
    }
    if (!exists) {
        BrokerOracle::Queue queue;
        queue.durable = declare.durable;
        queue.exclusive = declare.exclusive;
        queue.autoDelete = declare.autoDelete;
        queue.owner = declare.exclusive ? 0 : -1;
        oracle.declare(name, queue, record);
    }
    await(answer);
}

void BrokerWorld::removed(const std::string& name) {
    oracle.remove(name, openRecord());
    for (const auto& peer : peers) {
        std::erase_if(peer->consumers,
                      [&](const auto& entry) { return entry.second.queue == name; });
    }
}

void BrokerWorld::remove(const std::string& name) {
    note("delete " + name);
    const bool exists = oracle.find(name) != nullptr;
    engine::Connection& owner = ownerOf(name);
    if (exists) {
        removed(name);
    }
    await(broker->deleteQueue(owner, "/", name, false, false));
}

void BrokerWorld::purge(const std::string& name) {
    note("purge " + name);
    const LogIndex record = openRecord();
    BrokerOracle::Queue* const queue = oracle.find(name);
    auto answer = broker->purgeQueue(ownerOf(name), "/", name);
    if (!queue) {
        if (answer) {
            fail("purge of a queue that is not there");
        }
        return;
    }
    if (answer && answer->value != queue->ready) {
        fail("purge counts " + std::to_string(answer->value) + ", not " +
             std::to_string(queue->ready));
    }
    oracle.purge(name, record);
    await(answer);
}

void BrokerWorld::bind(const std::string& name, bool on) {
    note((on ? "bind " : "unbind ") + name);
    if (!oracle.find(name)) {
        return;
    }
    const engine::Binding binding{{}, "fan", name, {}, false, {}};
    if (oracle.bound.contains(name) != on) {
        oracle.bind(name, on, openRecord());
    }
    await(on ? broker->bind(ownerOf(name), binding) : broker->unbind(ownerOf(name), binding));
}

void BrokerWorld::consume(Peer& peer, const std::string& name, std::uint16_t prefetch, bool noAck) {
    const std::string tag = "c" + std::to_string(++lastConsumer_);
    note(tag + " consumes " + name + ", prefetch " + std::to_string(prefetch) +
         (noAck ? ", no ack" : ""));
    (void)peer.channel->qos(0, prefetch, false);
    engine::Channel::Consume consume;
    consume.queue = name;
    consume.tag = tag;
    consume.noAck = noAck;
    BrokerOracle::Queue* const queue = oracle.find(name);
    const bool allowed = queue && (!queue->exclusive || queue->owner == peer.connection);
    if (peer.channel->consume(consume).ok() != allowed) {
        fail("consume of '" + name + "' should " + (allowed ? "be allowed" : "be refused"));
    }
    if (allowed) {
        queue->hadConsumer = true;
        peer.consumers[tag] = {name, queue->incarnation, prefetch, noAck};
    }
}

void BrokerWorld::leave(const std::string& name) {
    const BrokerOracle::Queue* const queue = oracle.find(name);
    const bool used = std::any_of(peers.begin(), peers.end(), [&](const auto& peer) {
        return std::any_of(peer->consumers.begin(), peer->consumers.end(),
                           [&](const auto& entry) { return entry.second.queue == name; });
    });
    if (queue && queue->autoDelete && queue->hadConsumer && !used) {
        removed(name);
    }
}

void BrokerWorld::cancel(Peer& peer, const std::string& tag) {
    note("cancel " + tag);
    const std::string name = peer.consumers.at(tag).queue;
    peer.consumers.erase(tag);
    leave(name);
    auto cancelled = peer.channel->cancel(tag);
    if (!cancelled || !*cancelled) {
        fail("cancel of '" + tag + "' failed");
    }
}

void BrokerWorld::get(Peer& peer, const std::string& name, bool noAck) {
    BrokerOracle::Queue* const queue = oracle.find(name);
    const bool allowed = queue && (!queue->exclusive || queue->owner == peer.connection);
    if (!allowed) {
        return;
    }
    note("get of " + name);
    const auto before = static_cast<std::uint64_t>(
        std::count_if(peers.begin(), peers.end(), [&](const auto& other) {
            return other->getting && other->getIncarnation == queue->incarnation;
        }));
    // One that a purge has already answered, and whose peer does not know yet, takes nothing.
    const bool mayCome = queue->ready > 0;
    const bool mustCome = queue->ready > before;
    peer.getting = true;
    peer.getNoAck = noAck;
    peer.getQueue = name;
    peer.getIncarnation = queue->incarnation;
    auto got = peer.channel->get(name, noAck);
    const bool comes = got && *got == engine::Channel::Got::coming;
    if (!got || (comes && !mayCome) || (!comes && mustCome)) {
        fail("get should " + std::string(mustCome ? "find a message" : "be empty"));
    }
    if (got && *got == engine::Channel::Got::empty) {
        peer.getting = false;
    }
}

} // namespace millrace::model
