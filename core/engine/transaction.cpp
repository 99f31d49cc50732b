// SPDX-License-Identifier: Apache-2.0
// Transactions: publishes and settles are kept until the commit, and are in effect together with
// its entry, also after a crash.
#include "engine/channel.h"

#include "engine/engine.h"
#include "engine/placing.h"

#include <array>

namespace millrace::engine {

using base::Refusal;
using base::ReplyCode;

namespace {

Refusal notTransactional() {
    return {ReplyCode::preconditionFailed, "channel is not transactional"};
}

MessageView viewOf(const Transaction::Message& message) {
    return {message.exchange,
            message.routingKey,
            base::bytesOf(message.properties),
            base::bytesOf(message.body),
            message.bodySize,
            nullptr};
}

// A message of the transaction on its way into the log.
struct Appended {
    const Transaction::Message* message;
    base::MessageId id;
    std::vector<Queue*> queues;
};

base::Result<base::MessageId> appendOne(Engine& engine, const Transaction::Message& message,
                                        std::span<Queue* const> queues) {
    const base::Bytes body = base::bytesOf(message.body);
    Outgoing outgoing;
    outgoing.exchange = message.exchange;
    outgoing.routingKey = message.routingKey;
    outgoing.properties = base::bytesOf(message.properties);
    outgoing.body = {&body, 1};
    outgoing.large = message.isLarge ? &message.large : nullptr;
    outgoing.persistent = message.persistent;
    outgoing.inTransaction = true;
    return Placing(engine).append(outgoing, queues);
}

void withdraw(Engine& engine, const std::vector<Appended>& appended) {
    for (const Appended& item : appended) {
        for (std::size_t i = 0; i < item.queues.size(); ++i) {
            engine.journal.releaseNow(Run{item.id, 1, 0});
        }
    }
}

std::vector<Queue*> queuesOf(const Engine& engine, const Transaction::Message& message) {
    std::vector<Queue*> queues;
    for (const base::QueueId id : message.routes) {
        if (Queue* const queue =
                engine.topology.queue(id)) { // deleted since the publish: passed over
            queues.push_back(queue);
        }
    }
    return queues;
}

// What a commit settles, out of the ledger but not yet in effect.
struct Taken {
    Unacked unacked;
    bool requeue = false;
};

std::vector<Taken> takeSettles(ChannelState& channel) {
    std::vector<Taken> taken;
    for (const Transaction::Settle& settle : channel.transaction->settles) {
        const auto take = [&](const Unacked& unacked) {
            taken.push_back({unacked, settle.requeue});
        };
        if (settle.multiple) {
            channel.ledger.settleUpTo(settle.tag, take);
        } else if (const auto unacked = channel.ledger.settle(settle.tag)) {
            take(*unacked);
        }
    }
    return taken;
}

// The part of it that the commit's entry must say.
std::vector<Journal::QueueRun> runsOf(const std::vector<Taken>& taken) {
    std::vector<Journal::QueueRun> runs;
    for (const Taken& item : taken) {
        Queue* const queue = item.unacked.queue;
        if (item.requeue || !queue || !queue->logged) {
            continue;
        }
        for (std::uint32_t i = 0; i < item.unacked.count; ++i) {
            const base::MessageId id = item.unacked.at(i);
            if (!id.isScratch() && queue->index.contains(id)) {
                runs.push_back({queue->spec.id, Run{id, 1, 0}});
            }
        }
    }
    return runs;
}

// In the order in which the client said it. Not committed: everything goes back to its queue.
void applySettles(ChannelState& channel, const std::vector<Taken>& taken, bool committed) {
    Engine& engine = channel.engine;
    for (const Taken& item : taken) {
        const bool requeue = item.requeue || !committed;
        engine.journal.setCommitted(!requeue);
        engine.settling.settle(channel, item.unacked, requeue);
    }
    engine.journal.setCommitted(false);
}

} // namespace

base::Outcome<Nothing> Channel::txSelect() {
    if (confirming()) {
        return Refusal{ReplyCode::preconditionFailed, "cannot switch from confirm to tx mode"};
    }
    if (!state_->transaction) {
        state_->transaction = std::make_unique<Transaction>();
    }
    return Nothing{};
}

base::Outcome<Channel::Routed> Channel::keepForCommit(const Outgoing& outgoing,
                                                      const Publish& publish) {
    ChannelState& s = *state_;
    Engine& e = s.engine;
    if (e.routed.empty() && !publish.mandatory) {
        abandonBody();
        return Routed::unroutable;
    }
    Transaction::Message message;
    message.exchange = outgoing.exchange;
    message.routingKey = outgoing.routingKey;
    message.properties = base::textOf(outgoing.properties);
    for (const base::Bytes part : outgoing.body) {
        message.body.append(base::textOf(part));
    }
    message.bodySize = publish.bodySize;
    message.persistent = outgoing.persistent;
    for (const Queue* queue : e.routed) {
        message.routes.push_back(queue->spec.id);
    }
    const std::size_t bytes = sizeof message + message.properties.size() + message.body.size();
    if (e.transactionBytes + bytes > limits::kTransactionBytes) {
        abandonBody();
        return Refusal{ReplyCode::resourceError, "open transactions hold too many messages; commit "
                                                 "smaller ones"};
    }
    if (outgoing.large) {
        message.isLarge = true;
        message.large = std::move(*s.uploading);
        s.uploading.reset();
    }
    e.transactionBytes += bytes;
    s.transaction->bytes += bytes;
    const bool unroutable = message.routes.empty();
    s.transaction->messages.push_back(std::move(message));
    return unroutable ? Routed::unroutable : Routed::yes;
}

Answer<Nothing> Channel::txCommit() {
    ChannelState& s = *state_;
    Engine& e = s.engine;
    if (!s.transaction) {
        return notTransactional();
    }
    std::vector<Appended> appended;
    std::uint32_t durable = 0;
    base::LogIndex from = 0;
    for (const Transaction::Message& message : s.transaction->messages) {
        std::vector<Queue*> queues = queuesOf(e, message);
        if (queues.empty()) {
            continue;
        }
        const auto id = appendOne(e, message, queues);
        if (!id) {
            withdraw(e, appended);
            return Refusal{ReplyCode::internalError, id.error().text};
        }
        if (!id.value().isScratch()) {
            from = durable++ == 0 ? id.value().record : from;
        }
        appended.push_back({&message, id.value(), std::move(queues)});
    }
    const bool wasAtLimit = s.sharedLimit != 0 && s.outstanding() >= s.sharedLimit;
    const std::vector<Taken> taken = takeSettles(s);
    auto record = e.journal.appendCommit(durable, from, runsOf(taken));
    applySettles(s, taken, record.ok());
    for (const Taken& item : taken) {
        e.settling.credited(s, item.unacked.consumer, wasAtLimit);
    }
    if (!record) {
        withdraw(e, appended);
        return Refusal{ReplyCode::internalError, record.error().text};
    }
    for (Appended& item : appended) {
        Placing(e).enter(item.id, item.queues,
                         item.message->isLarge ? &item.message->large : nullptr);
    }
    for (Transaction::Message& message : s.transaction->messages) {
        if (message.routes.empty()) {
            s.client.returned({ReplyCode::noRoute, viewOf(message)});
        }
        message.isLarge = message.isLarge && queuesOf(e, message).empty(); // else the table has it
    }
    dropTransaction();
    s.transaction = std::make_unique<Transaction>();
    return Reply<Nothing>{{}, record.value()};
}

base::Outcome<Nothing> Channel::txRollback() {
    if (!state_->transaction) {
        return notTransactional();
    }
    dropTransaction();
    state_->transaction = std::make_unique<Transaction>();
    return Nothing{};
}

void Channel::dropTransaction() {
    ChannelState& s = *state_;
    for (const Transaction::Message& message : s.transaction->messages) {
        for (const base::MessageId& piece : message.large.pieces) {
            if (message.isLarge) {
                s.engine.large.dropPiece(piece);
            }
        }
    }
    s.engine.transactionBytes -= s.transaction->bytes;
    s.transaction.reset();
}

} // namespace millrace::engine
