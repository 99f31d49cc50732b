// SPDX-License-Identifier: Apache-2.0
// A channel's life: what it leaves behind when it ends, and its switches.
#include "engine/channel.h"

#include "engine/engine.h"

#include <algorithm>

namespace millrace::engine {

Channel::Channel(std::unique_ptr<ChannelState> state) : state_(std::move(state)) {}

Channel::~Channel() {
    ChannelState& s = *state_;
    Engine& e = s.engine;
    e.waits.forget(s);
    e.dispatch.forget(s);
    abandonBody();
    if (s.transaction) {
        dropTransaction();
    }
    std::vector<Queue*> left;
    for (const auto& [tag, consumer] : s.consumers) {
        e.dispatch.removeConsumer(*consumer);
        left.push_back(&consumer->queue);
    }
    s.consumers.clear();
    if (s.getting) {
        e.dispatch.removeGet(s);
    }
    s.ledger.takeAll([&](const Unacked& unacked) { e.settling.settle(s, unacked, true); });
    std::sort(left.begin(), left.end());
    left.erase(std::unique(left.begin(), left.end()), left.end());
    for (Queue* queue : left) {
        e.topology.deleteIfUnused(*queue);
    }
    e.channels.back()->place = s.place;
    e.channels[s.place] = e.channels.back();
    e.channels.pop_back();
}

void Channel::selectConfirms() {
    if (!state_->confirms) {
        state_->confirms = std::make_unique<ConfirmLedger>();
    }
}

bool Channel::confirming() const {
    return state_->confirms != nullptr;
}

bool Channel::transactional() const {
    return state_->transaction != nullptr;
}

void Channel::writable() {
    state_->full = false;
    state_->engine.dispatch.pump(*state_);
    state_->engine.dispatch.wakeChannel(*state_);
}

} // namespace millrace::engine
