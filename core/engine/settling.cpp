// SPDX-License-Identifier: Apache-2.0
#include "engine/settling.h"

#include "engine/engine.h"

namespace millrace::engine {

using base::MessageId;

void Settling::done(Queue& queue, const MessageId& id) {
    if (!queue.index.settle(id, engine_.journal.openIndex())) {
        return;
    }
    engine_.checkpointer.changed(queue);
    engine_.journal.settled(queue, Run{id, 1, 0});
    if (queue.returns) {
        queue.returns->erase(id);
    }
    if (!engine_.large.empty()) {
        engine_.large.settled(id);
    }
}

void Settling::giveBack(Queue& queue, const MessageId& id) {
    if (queue.purging) {
        queue.purging->givenBack.push_back(id);
        return;
    }
    if (queue.isQuorum()) {
        if (!queue.returns) {
            queue.returns = std::make_unique<std::unordered_map<MessageId, std::uint32_t>>();
        }
        const std::uint32_t count = ++(*queue.returns)[id];
        if (queue.deliveryLimit >= 0 && count > static_cast<std::uint32_t>(queue.deliveryLimit)) {
            done(queue, id);
            return;
        }
    }
    queue.index.giveBack(id);
    engine_.dispatch.wake(queue);
}

void Settling::settle(ChannelState& channel, const Unacked& unacked, bool requeue) {
    if (channel.isGet(unacked.owner)) {
        channel.getsOutstanding -= unacked.count;
    }
    if (!unacked.queue) {
        return;
    }
    for (std::uint32_t i = 0; i < unacked.count; ++i) {
        if (requeue) {
            giveBack(*unacked.queue, unacked.at(i));
        } else {
            done(*unacked.queue, unacked.at(i));
        }
    }
}

void Settling::credited(ChannelState& channel, Consumer* consumer, bool wasAtLimit) {
    if (wasAtLimit) {
        engine_.dispatch.wakeChannel(channel);
    } else if (consumer && !consumer->isReady()) {
        engine_.dispatch.wakeConsumer(*consumer);
    }
}

void Settling::expire() {
    const std::chrono::nanoseconds now = engine_.clock.now();
    if (now - expiredAt_ < limits::kConsumerTimeoutLook) {
        return;
    }
    expiredAt_ = now;
    const std::chrono::milliseconds timeout = engine_.options.consumerTimeout;
    for (ChannelState* channel : engine_.channels) {
        const auto oldest = channel->timedOut || channel->ledger.outstanding() == 0
                                ? std::nullopt
                                : channel->ledger.oldest();
        if (!oldest || now - std::chrono::seconds(oldest->notedSeconds) < timeout) {
            continue;
        }
        channel->timedOut = true;
        engine_.waits.fail(
            *channel, {base::ReplyCode::preconditionFailed,
                       "delivery acknowledgement on channel " + std::to_string(channel->number) +
                           " timed out. Timeout value used: " + std::to_string(timeout.count()) +
                           " ms. This timeout value can be configured, see consumers doc guide to "
                           "learn more"});
    }
}

} // namespace millrace::engine
