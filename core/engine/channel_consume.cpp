// SPDX-License-Identifier: Apache-2.0
// Consuming: consumers, basic.get, prefetch. Texts and order of checks: RabbitMQ 4.0.5.
#include "engine/channel.h"

#include "base/field_table.h"
#include "catalog/resource_text.h"
#include "engine/connection.h"
#include "engine/engine.h"

namespace millrace::engine {

using base::Refusal;
using base::ReplyCode;

namespace {

base::Outcome<std::int32_t> priorityOf(base::Bytes arguments, const Queue& queue) {
    const auto value = base::FieldTable(arguments).find("x-priority");
    if (!value) {
        return std::int32_t{0};
    }
    if (!value->isInteger()) {
        return Refusal{ReplyCode::preconditionFailed,
                       "invalid arg 'x-priority' for " +
                           catalog::queueText(queue.spec.name, queue.spec.vhost) +
                           ": \"expected integer, got " + value->typeName() + "\""};
    }
    return static_cast<std::int32_t>(
        std::clamp<std::int64_t>(value->integer(), INT32_MIN, INT32_MAX));
}

base::Outcome<Queue*> queueOf(const ChannelState& s, std::string_view name) {
    Vhost* const vhost = s.connection.vhost();
    if (!vhost) {
        return Refusal{ReplyCode::notAllowed, "vhost " + s.connection.vhostName() + " not found"};
    }
    return s.engine.topology.queueFor(s.connection, *vhost, name);
}

} // namespace

base::Outcome<Nothing> Channel::consume(const Consume& consume) {
    ChannelState& s = *state_;
    Engine& e = s.engine;
    std::string tag(consume.tag);
    if (s.consumers.contains(tag)) {
        return Refusal{ReplyCode::notAllowed, "attempt to reuse consumer tag '" + tag + "'"};
    }
    auto found = queueOf(s, consume.queue);
    if (!found) {
        return found.refusal();
    }
    Queue& queue = **found;
    auto priority = priorityOf(consume.arguments, queue);
    if (!priority) {
        return priority.refusal();
    }
    const bool taken = queue.serving && (queue.serving->hasExclusive() ||
                                         (consume.exclusive && queue.consumerCount() > 0));
    if (taken) {
        return Refusal{ReplyCode::accessRefused,
                       catalog::queueText(queue.spec.name, queue.spec.vhost) + " in exclusive use"};
    }
    auto consumer = std::make_unique<Consumer>(s, queue, tag);
    consumer->prefetch = s.prefetch;
    consumer->priority = *priority;
    consumer->noAck = consume.noAck;
    consumer->exclusive = consume.exclusive;
    consumer->owner = s.ledger.attach(&queue, consumer.get());
    if (s.isGet(consumer->owner)) {
        s.getOwners[consumer->owner] = false;
    }
    queue.hadConsumer = true;
    queue.serve().add(*consumer);
    e.dispatch.wakeConsumer(*consumer);
    s.consumers.emplace(std::move(tag), std::move(consumer));
    return Nothing{};
}

base::Outcome<bool> Channel::cancel(std::string_view tag) {
    ChannelState& s = *state_;
    const auto at = s.consumers.find(std::string(tag));
    if (at == s.consumers.end()) {
        return false;
    }
    Queue& queue = at->second->queue;
    s.ledger.detach(at->second->owner);
    s.engine.dispatch.removeConsumer(*at->second);
    s.consumers.erase(at);
    s.engine.topology.deleteIfUnused(queue);
    return true;
}

base::Outcome<Channel::Got> Channel::get(std::string_view name, bool noAck) {
    ChannelState& s = *state_;
    MILLRACE_CHECK(!s.getting); // one at a time: the session waits for its answer
    auto found = queueOf(s, name);
    if (!found) {
        return found.refusal();
    }
    Queue& queue = **found;
    const std::size_t before = queue.serving ? queue.serving->gets.size() : 0;
    if (queue.readyCount() <= before) {
        return Got::empty;
    }
    queue.serve().gets.push_back({&s, noAck});
    s.getting = &queue;
    s.engine.dispatch.serveNow(queue);
    return Got::coming;
}

base::Outcome<Nothing> Channel::qos(std::uint32_t size, std::uint16_t count, bool global) {
    if (size != 0) {
        return Refusal{ReplyCode::notImplemented,
                       "prefetch_size!=0 (" + std::to_string(size) + ")"};
    }
    if (!global) {
        state_->prefetch = count;
        return Nothing{};
    }
    state_->sharedLimit = count;
    state_->engine.dispatch.wakeChannel(*state_);
    return Nothing{};
}

} // namespace millrace::engine
