// SPDX-License-Identifier: Apache-2.0
// The end of deliveries: ack, reject, nack, recover.
#include "engine/channel.h"

#include "engine/engine.h"

namespace millrace::engine {

using base::Refusal;
using base::ReplyCode;

namespace {

Refusal unknownTag(std::uint64_t tag) {
    return {ReplyCode::preconditionFailed, "unknown delivery tag " + std::to_string(tag)};
}

} // namespace

base::Outcome<Nothing> Channel::settle(std::uint64_t tag, bool multiple, Settlement how) {
    ChannelState& s = *state_;
    Transaction* const transaction = s.transaction.get();
    if (multiple || transaction) {
        const bool known =
            (tag == 0 && multiple) ||
            (s.ledger.isOutstanding(tag) && !(transaction && transaction->hasSettled(tag)));
        if (!known) {
            return unknownTag(tag);
        }
    }
    if (transaction) {
        // Tag 0 means all that is out now, not at the commit.
        transaction->settle(tag == 0 ? s.ledger.lastTag() : tag, multiple,
                            how == Settlement::requeue);
        return Nothing{};
    }
    if (!settleNow(tag, multiple, how == Settlement::requeue)) {
        return unknownTag(tag);
    }
    return Nothing{};
}

bool Channel::settleNow(std::uint64_t tag, bool multiple, bool requeue) {
    ChannelState& s = *state_;
    Engine& e = s.engine;
    const bool wasAtLimit = s.sharedLimit != 0 && s.outstanding() >= s.sharedLimit;
    if (!multiple) {
        const auto unacked = s.ledger.settle(tag);
        if (!unacked) {
            return false;
        }
        e.settling.settle(s, *unacked, requeue);
        e.settling.credited(s, unacked->consumer, wasAtLimit);
        return true;
    }
    e.credited.clear();
    s.ledger.settleUpTo(tag, [&](const Unacked& unacked) {
        e.settling.settle(s, unacked, requeue);
        if (unacked.consumer && (e.credited.empty() || e.credited.back() != unacked.consumer)) {
            e.credited.push_back(unacked.consumer);
        }
    });
    for (Consumer* consumer : e.credited) {
        e.settling.credited(s, consumer, wasAtLimit);
    }
    return true;
}

void Channel::recover() {
    ChannelState& s = *state_;
    s.ledger.takeAll([&s](const Unacked& unacked) { s.engine.settling.settle(s, unacked, true); });
    s.engine.dispatch.wakeChannel(s);
}

bool Channel::hasUnacked() const {
    return state_->ledger.outstanding() > 0;
}

} // namespace millrace::engine
