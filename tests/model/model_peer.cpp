// SPDX-License-Identifier: Apache-2.0
#include "model/model_peer.h"

#include "engine/connection.h"
#include "model/broker_world.h"

#include <algorithm>

namespace millrace::model {

using engine::Appetite;

std::string contentOf(std::uint64_t body, std::size_t size) {
    std::string content = std::to_string(body) + ":";
    while (content.size() < size) {
        content.append(std::to_string(content.size() + body));
    }
    content.resize(size);
    return content;
}

std::string Publishing::content() const {
    return contentOf(body, size);
}

// Flags (delivery mode, message id), then the list.
std::string Publishing::properties() const {
    const std::string number = std::to_string(body);
    std::string properties =
        persistent ? std::string("\x10\x80\x02", 3) : std::string("\x00\x80", 2);
    properties.push_back(static_cast<char>(number.size()));
    return properties + number;
}

std::uint64_t bodyOf(base::Bytes properties) {
    const std::string text(base::textOf(properties));
    const std::size_t at = !text.empty() && text[0] == '\x10' ? 4 : 3;
    return text.size() <= at ? 0 : std::strtoull(text.c_str() + at, nullptr, 10);
}

std::uint64_t Peer::outstanding(const std::string& consumer) const {
    return static_cast<std::uint64_t>(
        std::count_if(unacked.begin(), unacked.end(),
                      [&](const auto& out) { return out.second.consumer == consumer; }));
}

std::uint64_t Peer::outstandingOfAll() const {
    return unacked.size() - outstanding("");
}

bool Peer::hasRoom(const std::string& tag) const {
    const ModelConsumer& consumer = consumers.at(tag);
    return consumer.noAck || ((consumer.prefetch == 0 || outstanding(tag) < consumer.prefetch) &&
                              (sharedLimit == 0 || outstandingOfAll() < sharedLimit));
}

Appetite Peer::appetite() {
    if (world.random.chance(1)) {
        world.setConnectionFull(connection, true);
    }
    full = full || world.random.chance(3);
    return full ? Appetite::full : Appetite::more;
}

void Peer::checkContent(const engine::Delivery& delivery, std::uint64_t body,
                        const std::string& what) {
    const std::string content(base::textOf(delivery.message.body));
    if (content.size() < delivery.message.bodySize) {
        if (!content.empty()) {
            world.fail(what + "has a part of its body");
        }
        receiving = Receiving{body, static_cast<std::size_t>(delivery.message.bodySize), {}};
    } else if (content != contentOf(body, content.size())) {
        world.fail(what + "its body is another");
    }
}

Appetite Peer::deliver(const engine::Delivery& delivery) {
    const std::uint64_t body = bodyOf(delivery.message.properties);
    const std::string tag(delivery.consumerTag);
    const std::string what = "delivery of " + std::to_string(body) + " to '" + tag + "': ";
    if (world.stale) {
        world.fail(what + "after the log took back its tail");
    }
    if (receiving) {
        world.fail(what + "between the pieces of another");
    }
    if (world.isConnectionFull(connection)) {
        world.fail(what + "its connection is full");
    }
    std::string queue;
    bool noAck = false;
    if (tag.empty()) {
        if (!getting) {
            world.fail(what + "nobody asked");
            return Appetite::more;
        }
        queue = getting->queue;
        noAck = getting->noAck;
        getting.reset();
    } else {
        const auto consumer = consumers.find(tag);
        if (consumer == consumers.end()) {
            world.fail(what + "no such consumer");
            return Appetite::more;
        }
        queue = consumer->second.queue;
        noAck = consumer->second.noAck;
        if (full) {
            world.fail(what + "its outbox is full");
        }
        if (!hasRoom(tag)) {
            world.fail(what + "above its prefetch");
        }
    }
    if (delivery.deliveryTag != ++lastTag) {
        world.fail(what + "tag is not the next");
    }
    const std::string wrong = world.oracle.deliver(queue, body, delivery.redelivered,
                                                   delivery.deliveryCount, world.committed());
    if (!wrong.empty()) {
        world.fail(what + wrong);
        return Appetite::more;
    }
    checkContent(delivery, body, what);
    BrokerOracle::Queue& in = world.oracle.queues.at(queue);
    if (tag.empty() && delivery.remaining != in.ready()) {
        world.fail(what + "remaining is " + std::to_string(delivery.remaining));
    }
    if (noAck) {
        world.oracle.settle(queue, body);
    } else {
        unacked[lastTag] = {queue, in.incarnation, body, tag};
    }
    world.note("  heard " + std::to_string(body) + " of " + queue + " as " +
               std::to_string(lastTag) + (receiving ? ", in pieces" : ""));
    return appetite();
}

Appetite Peer::piece(base::Bytes bytes, bool last) {
    if (world.stale || full || world.isConnectionFull(connection) || !receiving) {
        world.fail("a piece comes to one who wants none");
        return Appetite::full;
    }
    receiving->content.append(base::textOf(bytes));
    if (last) {
        if (receiving->content != contentOf(receiving->body, receiving->size)) {
            world.fail("the pieces of " + std::to_string(receiving->body) +
                       " are not what was published");
        }
        receiving.reset();
    }
    return appetite();
}

void Peer::confirmed(std::uint64_t from, std::uint64_t to, bool accepted) {
    if (world.stale || !accepted || from != lastConfirmed + 1 || to > confirmRecords.size()) {
        world.fail("confirm " + std::to_string(from) + " to " + std::to_string(to) +
                   " is out of order");
        return;
    }
    for (std::uint64_t number = from; number <= to; ++number) {
        if (confirmRecords[number - 1] > world.committed()) {
            world.fail("confirm " + std::to_string(number) + " before the commit that covers it");
        }
    }
    lastConfirmed = to;
}

void Peer::returned(const engine::Returned& returned) {
    const std::uint64_t body = bodyOf(returned.message.properties);
    if (returns.empty() || returns.front() != body) {
        world.fail("message " + std::to_string(body) + " is returned out of turn");
        return;
    }
    returns.erase(returns.begin());
}

void Peer::cancelled(std::string_view consumerTag) {
    if (consumerTag.empty()) {
        if (!getting) {
            world.fail("a get ended that nobody asked for");
        }
        getting.reset();
        return;
    }
    const auto due = cancels.find(std::string(consumerTag));
    if (world.stale || due == cancels.end() || due->second > world.committed()) {
        world.fail("cancel of '" + std::string(consumerTag) + "' is not due");
        return;
    }
    cancels.erase(due);
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
