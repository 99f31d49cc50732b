// SPDX-License-Identifier: Apache-2.0
#include "engine/dispatch.h"

#include "base/diagnostics.h"
#include "base/limits.h"
#include "engine/engine.h"

namespace millrace::engine {

using base::MessageId;

namespace {

constexpr int kServeBatch = 64; // of one queue before the next one has its turn
constexpr int kClockEvery = 16; // deliveries between two looks at the clock

} // namespace

void Dispatch::push(Queue& queue) {
    queue.inWork = true;
    queue.nextInWork = nullptr;
    (last_ ? last_->nextInWork : first_) = &queue;
    last_ = &queue;
}

void Dispatch::wake(Queue& queue) {
    if (!queue.inWork && !queue.deleted && queue.hasTaker() &&
        (queue.index.ready() > 0 || !queue.serving->gets.empty())) {
        push(queue);
    }
}

void Dispatch::wakeConsumer(Consumer& consumer) {
    if (!consumer.isReady() && consumer.channel.canTake(consumer)) {
        consumer.queue.serving->wake(consumer);
        wake(consumer.queue);
    }
}

void Dispatch::wakeChannel(ChannelState& channel) {
    for (const auto& [tag, consumer] : channel.consumers) {
        wakeConsumer(*consumer);
    }
    if (channel.getting) {
        wake(*channel.getting);
    }
}

void Dispatch::run(std::chrono::nanoseconds deadline) {
    nowSeconds_ = static_cast<std::uint32_t>(
        std::chrono::duration_cast<std::chrono::seconds>(engine_.clock.now()).count());
    while (first_) {
        Queue& queue = *first_;
        first_ = queue.nextInWork;
        last_ = first_ ? last_ : nullptr;
        queue.inWork = false;
        if (!queue.deleted) {
            serve(queue);
        }
        if (engine_.clock.now() >= deadline) {
            return;
        }
    }
}

void Dispatch::serve(Queue& queue) {
    const std::chrono::nanoseconds begin = engine_.clock.now();
    for (int i = 1; i <= kServeBatch; ++i) {
        if (!deliverNext(queue)) {
            return;
        }
        if (i % kClockEvery == 0 && engine_.clock.now() - begin > limits::kSliceTime) {
            break;
        }
    }
    wake(queue);
}

Dispatch::Taker Dispatch::takerOf(Queue& queue) {
    Serving& serving = *queue.serving;
    for (const Serving::Get& get : serving.gets) {
        if (!get.channel->sending && !get.channel->connection.isFull()) {
            return {get.channel, nullptr, get.noAck};
        }
    }
    while (Consumer* const consumer = serving.next()) {
        if (consumer->channel.canTake(*consumer)) {
            return {&consumer->channel, consumer, consumer->noAck};
        }
        serving.rest(*consumer);
    }
    return {};
}

bool Dispatch::deliverNext(Queue& queue) {
    if (!queue.serving || queue.purging || engine_.stale) {
        return false;
    }
    const Taker taker = takerOf(queue);
    if (!taker.channel) {
        return false;
    }
    const auto ready = queue.index.nextReady(engine_.journal.deliverable());
    if (!ready) {
        if (queue.index.ready() > 0) {
            waitForHorizon(queue);
        } else {
            emptied(queue);
        }
        return false;
    }
    if (queue.logged && !markCovers(queue, ready->ordinal)) {
        waitForHorizon(queue);
        return false;
    }
    log::Stored stored;
    if (!obtain(queue, ready->id, stored)) {
        return false;
    }
    handOver(queue, *ready, stored, taker);
    return true;
}

void Dispatch::markAhead(Queue& queue, log::Waiting waiting, std::uint64_t nextOrdinal) {
    const DeliveredMark mark{queue.spec.id, nextOrdinal - 1 + limits::kDeliveredMarkStep};
    std::string payload;
    writeMark(mark, payload);
    const base::LogIndex at = engine_.journal.openIndex();
    const auto id =
        engine_.journal.append(EntryKind::deliveredMark, waiting, base::bytesOf(payload));
    if (id) {
        queue.index.setDeliveredMark(mark.ordinal, at);
        queue.markRecord = id.value().record;
        engine_.checkpointer.changed(queue);
    } else {
        markRefused_ = true;
    }
}

void Dispatch::lookAtUnacked() {
    if (engine_.unacked.takeEnd()) {
        for (ChannelState* const channel : engine_.channels) {
            wakeChannel(*channel);
        }
    }
}

void Dispatch::retryRefused() {
    if (markRefused_) {
        markRefused_ = false;
        advanced();
    }
}

bool Dispatch::markCovers(Queue& queue, std::uint64_t ordinal) {
    if (ordinal <= queue.markSafe) {
        return true;
    }
    if (ordinal > queue.index.deliveredMark()) {
        markAhead(queue, log::Waiting::somebody, ordinal);
        return false;
    }
    if (!engine_.journal.isVisible(queue.markRecord)) {
        return false;
    }
    queue.markSafe = queue.index.deliveredMark();
    // A backlog: the next mark is on disk before the deliveries reach it.
    if (queue.index.ordinals() > queue.markSafe &&
        ordinal + limits::kDeliveredMarkStep / 2 > queue.markSafe) {
        markAhead(queue, log::Waiting::nobody, queue.markSafe + 1);
    }
    return true;
}

void Dispatch::waitForHorizon(Queue& queue) {
    if (!queue.onHorizon) {
        queue.onHorizon = true;
        onHorizon_.push_back(&queue);
    }
}

void Dispatch::advanced() {
    for (Queue* queue : onHorizon_) {
        queue->onHorizon = false;
        wake(*queue);
    }
    onHorizon_.clear();
}

void Dispatch::drop(Queue& queue, const MessageId& id, const char* why) {
    base::diagnose(base::Severity::error,
                   "queue '" + queue.spec.name + "' in vhost '" + queue.spec.vhost + "': message " +
                       std::to_string(id.record) + "." + std::to_string(id.slot) + " " + why +
                       "; it is dropped");
    engine_.settling.done(queue, id);
}

std::uint64_t Dispatch::account(Queue& queue, const MessageId& id, const Taker& taker) {
    ChannelState& channel = *taker.channel;
    if (taker.noAck) {
        queue.index.markOut(id);
        return channel.ledger.skip();
    }
    queue.index.markOut(id);
    if (taker.consumer) {
        return channel.ledger.add(taker.consumer->owner, id, nowSeconds_);
    }
    const DeliveryLedger::Owner owner = channel.ledger.attach(&queue, nullptr);
    const std::uint64_t tag = channel.ledger.add(owner, id, nowSeconds_);
    channel.ledger.detach(owner); // the number lives on with its one delivery
    channel.getOwners.resize(std::max<std::size_t>(channel.getOwners.size(), owner + 1));
    channel.getOwners[owner] = true;
    ++channel.getsOutstanding;
    return tag;
}

void Dispatch::handOver(Queue& queue, const Ready& ready, const log::Stored& stored,
                        const Taker& taker) {
    const auto entry = stored.damaged ? std::nullopt : readMessage(stored.payload);
    const bool large = entry && stored.kind == raw(EntryKind::largeMessage);
    const LargeBody* const pieces = large ? engine_.large.find(ready.id) : nullptr;
    if (!entry || (large && !pieces)) {
        drop(queue, ready.id, "cannot be read");
        return;
    }
    ChannelState& channel = *taker.channel;
    Delivery delivery;
    delivery.redelivered = ready.redelivered;
    if (queue.returns) {
        const auto count = queue.returns->find(ready.id);
        delivery.deliveryCount =
            count == queue.returns->end() ? std::int64_t{-1} : std::int64_t{count->second};
    }
    delivery.deliveryTag = account(queue, ready.id, taker);
    queue.delivered = std::max(queue.delivered, ready.ordinal);
    delivery.message = {entry->exchange,    entry->routingKey,
                        entry->properties,  large ? base::Bytes{} : entry->rest,
                        entry->rest.size(), stored.owner};
    if (large) {
        delivery.message.bodySize = pieces->size;
        startSending(channel, ready.id, *pieces);
    }
    if (taker.consumer) {
        delivery.consumerTag = taker.consumer->tag;
    } else {
        delivery.remaining = static_cast<std::uint32_t>(queue.readyCount());
        std::erase_if(queue.serving->gets,
                      [&channel](const auto& get) { return get.channel == &channel; });
        channel.getting = nullptr;
    }
    channel.full = channel.client.deliver(delivery) == Appetite::full || channel.full;
    if (taker.noAck) {
        engine_.settling.done(queue, ready.id);
    }
    if (taker.consumer) {
        if (channel.canTake(*taker.consumer)) {
            queue.serving->rotate(*taker.consumer);
        } else {
            queue.serving->rest(*taker.consumer);
        }
    } else if (queue.serving->empty()) {
        stopServing(queue);
    }
    if (large) {
        pump(channel);
    }
}

void Dispatch::forget(ChannelState& channel) {
    if (channel.sending) {
        fetches_.erase(channel.sending->fetching);
        engine_.large.unuse(channel.sending->message);
        channel.sending.reset();
    }
}

void Dispatch::removeConsumer(Consumer& consumer) {
    Queue& queue = consumer.queue;
    queue.serving->remove(consumer);
    if (queue.serving->empty()) {
        stopServing(queue);
    }
}

void Dispatch::removeGet(ChannelState& channel) {
    Queue& queue = *channel.getting;
    channel.getting = nullptr;
    std::erase_if(queue.serving->gets,
                  [&channel](const Serving::Get& get) { return get.channel == &channel; });
    if (queue.serving->empty()) {
        stopServing(queue);
    }
}

void Dispatch::emptied(Queue& queue) {
    if (!queue.serving) {
        return;
    }
    for (const Serving::Get& get : queue.serving->gets) {
        get.channel->getting = nullptr;
        engine_.waits.cancelled(*get.channel, {}, 0);
    }
    queue.serving->gets.clear();
    if (queue.serving->empty()) {
        stopServing(queue);
    }
}

void Dispatch::stopServing(Queue& queue) {
    if (queue.serving) {
        fetches_.erase(queue.serving->ahead.fetching);
        if (!queue.serving->ahead.empty()) {
            std::erase(withAhead_, &queue);
        }
        queue.serving.reset();
    }
}

} // namespace millrace::engine
