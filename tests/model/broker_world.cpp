// SPDX-License-Identifier: Apache-2.0
// The world's beginning, and the choice of the next command.
#include "model/broker_world.h"

namespace millrace::model {

const std::vector<std::string> BrokerWorld::kQueues{"durable", "backlog", "fading", "transient",
                                                    "mine",    "other",   "agreed"};
const std::vector<std::string> BrokerWorld::kExchanges{"fan", "passing", "loose"};

BrokerWorld::BrokerWorld(std::uint64_t seed) : random(seed) {
    durable.onFault = [this](const std::string& text) { fail("durable log: " + text); };
    scratch.onFault = [this](const std::string& text) { fail("scratch log: " + text); };
    durable.onAppend = [this](const auto& entry, const auto& id) { appended(entry, id); };
    start();
    for (const std::string& name : kExchanges) {
        declareExchange(name);
    }
    for (int i = 0; i < 3; ++i) {
        turn();
        durable.advanceAll();
    }
    turn();
    storeCatalog();
}

BrokerWorld::~BrokerWorld() {
    durable.onAppend = {};
    durable.onFault = scratch.onFault = [](const std::string&) {};
    stop();
}

void BrokerWorld::fail(const std::string& what) {
    if (failure_.empty()) {
        failure_ = what;
        trace.push_back("FAILED: " + what);
    }
}

void BrokerWorld::note(std::string what) {
    trace.push_back(std::move(what));
}

void BrokerWorld::step() {
    if (peers.size() < 2 || (peers.size() < 6 && random.chance(3))) {
        open(static_cast<int>(random.below(kConnections)));
    }
    const auto what = random.below(1000);
    if (what < 600) {
        Peer& peer = *peers[random.below(peers.size())];
        if (!peer.getting) { // its session waits for the answer
            commandOfPeer(peer);
        }
    } else if (what < 690) {
        commandOfTopology();
    } else if (what < 993) {
        commandOfTime();
    } else if (what < 997) {
        crash();
    } else if (what < 999) {
        withdrawTail();
    } else {
        restartInOrder();
    }
    if (!failed()) {
        checkAllExpected();
        compareCounts();
    }
}

} // namespace millrace::model
