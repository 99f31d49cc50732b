// SPDX-License-Identifier: Apache-2.0
// The engine's parts, which know each other through this. Owned by Broker. Lives on: the engine's
// loop.
#pragma once

#include "engine/broker.h"
#include "engine/checkpointer.h"
#include "engine/clearing.h"
#include "engine/dispatch.h"
#include "engine/journal.h"
#include "engine/large_bodies.h"
#include "engine/recovery.h"
#include "engine/scratch_listener.h"
#include "engine/settling.h"
#include "engine/topology.h"
#include "engine/waits.h"

#include <memory>
#include <vector>

namespace millrace::engine {

struct Engine {
    Engine(log::CommitLog& durable, log::CommitLog& scratch, const base::Clock& time,
           BrokerOptions limits)
        : clock(time), options(limits), journal(durable, scratch), waits(journal), large(journal),
          topology(*this), dispatch(*this), settling(*this), clearing(*this), checkpointer(*this),
          scratchListener(*this) {}

    const base::Clock& clock;
    const BrokerOptions options;
    Journal journal;
    Waits waits;
    LargeBodies large;
    Topology topology;
    Dispatch dispatch;
    Settling settling;
    Clearing clearing;
    Checkpointer checkpointer;
    ScratchListener scratchListener;
    std::unique_ptr<Recovery> recovery; // from load() to recovered()
    UnackedMemory unacked{options.unackedBytes};
    std::vector<ChannelState*> channels;
    std::size_t transactionBytes = 0; // of all transactions
    bool stale = false;

    // Scratch space of one publish.
    std::vector<Queue*> routed;
    std::vector<base::QueueId> routes;
    std::vector<std::string_view> moreKeys;
    std::vector<base::Bytes> parts;
    std::vector<Consumer*> credited; // of one settle of several deliveries
};

} // namespace millrace::engine
