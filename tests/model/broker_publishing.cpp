// SPDX-License-Identifier: Apache-2.0
// Publishes: whole, in pieces, in transactions.
#include "model/broker_world.h"

#include "base/limits.h"

#include <algorithm>

namespace millrace::model {

Publishing BrokerWorld::draft(bool large) {
    Publishing message;
    message.toExchange = random.chance(30);
    const auto& names = message.toExchange ? kExchanges : kQueues;
    message.target = names[random.below(names.size())];
    message.persistent = random.chance(70);
    message.mandatory = random.chance(20);
    message.large = large;
    message.size = 12 + random.below(random.chance(10) ? 900 : 30);
    if (large || random.chance(1)) { // a few of them fill a record
        message.size = 12 + random.below(limits::kRecordBytes / 2);
    }
    return message;
}

std::vector<std::string> BrokerWorld::routes(const Publishing& message) const {
    if (!message.toExchange) {
        return oracle.queues.contains(message.target) ? std::vector<std::string>{message.target}
                                                      : std::vector<std::string>{};
    }
    const auto& bound = oracle.exchanges.at(message.target).bound;
    return {bound.begin(), bound.end()};
}

// The body lies in the log in pieces already if the message is large.
void BrokerWorld::publish(Peer& peer, const Publishing& message) {
    const std::string body = message.large ? std::string() : message.content();
    const std::string properties = message.properties();
    const base::Bytes bytes = base::bytesOf(body);
    engine::Channel::Publish publish;
    publish.exchange = message.toExchange ? std::string_view(message.target) : std::string_view();
    publish.routingKey = message.target;
    publish.properties = base::bytesOf(properties);
    publish.body = {&bytes, message.large ? 0U : 1U};
    publish.bodySize = message.size;
    publish.mandatory = message.mandatory;
    publish.largeBody = message.large;
    auto routed = peer.channel->publish(publish);
    const bool allowed = !message.toExchange || oracle.exchanges.contains(message.target);
    if (routed.ok() != allowed) {
        fail("publish " + std::to_string(message.body) + " should be " +
             (allowed ? "taken" : "refused"));
    }
    if (!allowed || failed()) {
        return;
    }
    const std::vector<std::string> names = routes(message);
    if ((*routed == engine::Channel::Routed::unroutable) != names.empty()) {
        fail("publish " + std::to_string(message.body) + " went elsewhere than its bindings say");
    }
    if (peer.tx) {
        Peer::TxPublish kept{message, {}};
        for (const std::string& name : names) {
            kept.routes.emplace_back(name, oracle.queues.at(name).incarnation);
        }
        peer.txPublishes.push_back(std::move(kept));
        return;
    }
    const bool isDurable = oracle.isDurable(message.persistent, names);
    const std::string key = "message " + std::to_string(message.body);
    const LogIndex record = isDurable ? loggedAt(key, true) : 0;
    oracle.publish(message.body, names, record);
    if (peer.confirms) {
        peer.confirmRecords.push_back(record);
    }
}

void BrokerWorld::publishSome(Peer& peer) {
    Publishing message = draft(false);
    std::uint64_t count = random.chance(10) ? random.below(40) : 1 + random.below(3);
    if (random.chance(1) && random.chance(15)) { // more than a slice of a purge
        message.toExchange = false;
        message.target = random.chance(50) ? "backlog" : "transient";
        message.size = 12;
        count = 2500;
    }
    note("publish " + std::to_string(count) + (message.persistent ? " persistent" : " transient") +
         " to " + message.target + " from " + std::to_string(lastBody_ + 1) + ", " +
         std::to_string(message.size) + " bytes" + (peer.tx ? " in tx" : ""));
    for (std::uint64_t i = 0; i < count && !failed(); ++i) {
        message.body = ++lastBody_;
        publish(peer, message);
    }
}

// One step of a body that comes in pieces; nothing else comes on the channel meanwhile.
void BrokerWorld::upload(Peer& peer) {
    if (!peer.upload) {
        Publishing message = draft(true);
        message.body = ++lastBody_;
        note("upload " + std::to_string(message.body) + " to " + message.target + ", " +
             std::to_string(message.size) + " bytes" +
             (message.persistent ? ", persistent" : ", transient") + (peer.tx ? ", in tx" : ""));
        if (!peer.channel->beginBody(message.size).ok()) {
            fail("the body is refused");
        }
        peer.upload = Peer::Upload{message, 0};
        return;
    }
    const Publishing message = peer.upload->message;
    if (random.chance(5)) {
        note("abandon " + std::to_string(message.body));
        peer.channel->abandonBody();
        peer.upload.reset();
        return;
    }
    const std::string content = message.content();
    const auto piece = std::string_view(content).substr(
        peer.upload->sent, 1 + random.below(random.chance(50) ? 100 : message.size));
    if (!piece.empty()) {
        if (!peer.channel->bodyPiece(base::bytesOf(piece)).ok()) {
            fail("a piece is refused");
        }
        peer.upload->sent += piece.size();
        return;
    }
    note("uploaded " + std::to_string(message.body));
    peer.upload.reset();
    publish(peer, message);
}

void BrokerWorld::commit(Peer& peer) {
    note("commit");
    for (const Peer::TxPublish& publish : peer.txPublishes) {
        if (publish.routes.empty() && publish.message.mandatory) {
            peer.returns.push_back(publish.message.body);
        }
    }
    const auto answer = peer.channel->txCommit();
    if (!answered(answer, true, "commit")) {
        return;
    }
    if (!peer.returns.empty()) {
        fail("unroutable message " + std::to_string(peer.returns.front()) + " is not returned");
    }
    const auto logged = logged_.find("commit");
    const LogIndex record = logged == logged_.end() ? 0 : loggedAt("commit", true);
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
        const bool isDurable = oracle.isDurable(publish.message.persistent, names);
        if (isDurable) {
            loggedAt("message " + std::to_string(publish.message.body), true);
            if (record == 0) {
                fail("a commit of something durable is not in the log");
            }
        }
        oracle.publish(publish.message.body, names, isDurable ? record : 0);
    }
    peer.txPublishes.clear();
    peer.txSettles.clear();
    if (!answer.ok()) {
        return;
    }
    auto copy = answer;
    await(copy->visibleAt, record);
}

void BrokerWorld::rollback(Peer& peer) {
    note("rollback");
    peer.txPublishes.clear();
    peer.txSettles.clear();
    if (!peer.channel->txRollback()) {
        fail("rollback refused");
    }
}

} // namespace millrace::model
