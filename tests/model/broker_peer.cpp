// SPDX-License-Identifier: Apache-2.0
// What a peer hears, checked.
#include "model/broker_world.h"

#include <algorithm>

namespace millrace::model {

engine::Appetite Peer::deliver(const engine::Delivery& delivery) {
    const std::uint64_t body =
        std::strtoull(std::string(base::textOf(delivery.message.body)).c_str(), nullptr, 10);
    const std::string tag(delivery.consumerTag);
    const std::string what = "delivery of " + std::to_string(body) + " to '" + tag + "': ";
    if (world.stale) {
        world.fail(what + "after the log took back its tail");
    }
    std::string queue = getQueue;
    bool noAck = getNoAck;
    if (tag.empty()) {
        if (!getting) {
            world.fail(what + "nobody asked");
        }
        getting = false;
    } else {
        const auto consumer = consumers.find(tag);
        if (consumer == consumers.end()) {
            world.fail(what + "no such consumer");
            return engine::Appetite::more;
        }
        queue = consumer->second.queue;
        noAck = consumer->second.noAck;
        if (full) {
            world.fail(what + "its outbox is full");
        }
        if (!noAck && consumer->second.prefetch != 0 &&
            world.outstanding(*this, tag) >= consumer->second.prefetch) {
            world.fail(what + "above its prefetch");
        }
    }
    if (delivery.deliveryTag != ++lastTag) {
        world.fail(what + "tag is not the next");
    }
    const std::string wrong =
        world.oracle.deliver(queue, body, delivery.redelivered, world.committed());
    if (!wrong.empty()) {
        world.fail(what + wrong);
        return engine::Appetite::more;
    }
    BrokerOracle::Queue& in = world.oracle.queues.at(queue);
    if (tag.empty() && delivery.remaining != in.ready) {
        world.fail(what + "remaining is " + std::to_string(delivery.remaining));
    }
    if (noAck) {
        world.oracle.settle(queue, body, world.openRecord());
    } else {
        unacked[lastTag] = {queue, in.incarnation, body, tag};
    }
    world.note("  heard " + std::to_string(body) + " of " + queue + " as " +
               std::to_string(lastTag));
    full = full || world.random.chance(3);
    return full ? engine::Appetite::full : engine::Appetite::more;
}

void Peer::confirmed(std::uint64_t from, std::uint64_t to, bool accepted) {
    if (world.stale || !accepted || from != lastConfirmed + 1 || to > confirmRecords.size()) {
        world.fail("confirm " + std::to_string(from) + " to " + std::to_string(to) +
                   " is out of order");
        return;
    }
    for (lastConfirmed = from; lastConfirmed <= to; ++lastConfirmed) {
        if (confirmRecords[lastConfirmed - 1] > world.committed()) {
            world.fail("confirm " + std::to_string(lastConfirmed) +
                       " before the commit that covers it");
        }
    }
    lastConfirmed = to;
}

void Peer::cancelled(std::string_view consumerTag) {
    if (consumerTag.empty()) {
        if (!getting) {
            world.fail("a get ended that nobody asked for");
        }
        getting = false;
    } else if (consumers.contains(std::string(consumerTag))) {
        world.fail("a consumer was cancelled whose queue is there");
    }
}

void Peer::resumed(std::uint64_t ticket, const base::Refusal* refused) {
    const auto at = awaited.find(ticket);
    if (world.stale || refused || at == awaited.end() || at->second > world.committed()) {
        world.fail("reply " + std::to_string(ticket) + " is not due");
        return;
    }
    awaited.erase(at);
}

} // namespace millrace::model
