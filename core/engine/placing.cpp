// SPDX-License-Identifier: Apache-2.0
#include "engine/placing.h"

#include "engine/engine.h"

#include <algorithm>

namespace millrace::engine {

using base::MessageId;

bool Placing::isDurable(bool persistent, std::span<Queue* const> queues) {
    return std::any_of(queues.begin(), queues.end(), [persistent](const Queue* queue) {
        return queue->logged && (persistent || queue->isQuorum());
    });
}

// The mark stands in the log before the message that would pass it, in the same sync.
void Placing::mark(std::span<Queue* const> queues) {
    for (Queue* queue : queues) {
        const std::uint64_t next = queue->index.ordinals() + 1;
        if (queue->logged && queue->serving && next > queue->index.deliveredMark()) {
            engine_.dispatch.markAhead(*queue, log::Waiting::nobody, next);
        }
    }
}

base::Result<MessageId> Placing::append(const Outgoing& message, std::span<Queue* const> queues) {
    Engine& e = engine_;
    const bool durable = isDurable(message.persistent, queues);
    e.routes.clear();
    if (durable) {
        mark(queues);
        for (const Queue* queue : queues) {
            if (queue->logged) {
                e.routes.push_back(queue->spec.id);
            }
        }
        if (e.routes.size() > 1) {
            std::sort(e.routes.begin(), e.routes.end());
        }
    }
    MessageHead head;
    head.exchangeLength = static_cast<std::uint8_t>(message.exchange.size());
    head.keyLength = static_cast<std::uint8_t>(message.routingKey.size());
    head.flags = durable && message.inTransaction ? MessageHead::kInTransaction : 0;
    head.holders = static_cast<std::uint32_t>(queues.size());
    head.propertiesLength = static_cast<std::uint32_t>(message.properties.size());
    base::Byte raw[MessageHead::kBytes];
    head.store(raw);
    std::string pieces;
    e.parts.clear();
    e.parts.push_back(base::Bytes(raw, sizeof raw));
    e.parts.push_back(base::bytesOf(message.exchange));
    e.parts.push_back(base::bytesOf(message.routingKey));
    e.parts.push_back(message.properties);
    if (message.large) {
        writeLarge(*message.large, pieces);
        e.parts.push_back(base::bytesOf(pieces));
    } else {
        e.parts.insert(e.parts.end(), message.body.begin(), message.body.end());
    }
    log::Entry entry;
    entry.kind = engine::raw(message.large ? EntryKind::largeMessage : EntryKind::message);
    entry.routes = e.routes;
    entry.references = head.holders;
    entry.parts = e.parts;
    return e.journal.appendMessage(durable, entry);
}

void Placing::enter(const MessageId& id, std::span<Queue* const> queues, const LargeBody* large) {
    const bool durable = !id.isScratch();
    for (Queue* queue : queues) {
        queue->index.append(id);
        if (durable) {
            queue->newest = id;
            if (queue->logged) {
                engine_.checkpointer.changed(*queue);
            } else if (!queue->holdsLogged) {
                engine_.topology.noteHolder(*queue);
            }
        }
        engine_.dispatch.published(*queue);
    }
    if (large) {
        engine_.large.add(id, *large, static_cast<std::uint32_t>(queues.size()));
    }
}

} // namespace millrace::engine
