// SPDX-License-Identifier: Apache-2.0
// A queue at run time: what was declared, its contents as ids, and, only while used, whom it
// serves.
//
// FIFO: contents are served in order of arrival; what comes back goes to its place. A queue is
// `logged` if it is durable and not exclusive: only then anything of it stands in the log. Plain
// state: the verbs on it are dispatch, channel and topology. Owned by Topology. Lives on: the
// engine's loop.
#pragma once

#include "catalog/spec.h"
#include "engine/message_index.h"
#include "engine/serving.h"

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

namespace millrace::engine {

class Connection;
struct Vhost;

// A queue that is being purged: the first `left` ready messages go, in slices; nothing is served
// meanwhile.
struct Purging {
    std::uint64_t left = 0;
    base::LogIndex record = 0; // of the purge entry; 0 for queues that are not logged
    // In the meantime: ready again, but not for this purge; in the index still out.
    std::vector<base::MessageId> givenBack;
};

class Queue final {
  public:
    Queue(catalog::QueueSpec declared, Vhost& home)
        : spec(std::move(declared)), vhost(home), logged(spec.durable && !spec.exclusive) {}
    Queue(const Queue&) = delete;
    Queue& operator=(const Queue&) = delete;

    const catalog::QueueSpec spec;
    Vhost& vhost;
    const bool logged;
    bool deleted = false;      // out of every table; its contents are being let go
    bool inWork = false;       // on dispatch's work list
    bool onHorizon = false;    // its next message is not released yet
    bool inCheckpoint = false; // on the checkpointer's list of queues with changes
    bool hadConsumer = false;
    bool holdsLogged = false;        // not logged itself, but refers to entries of the durable log
    std::int32_t deliveryLimit = -1; // quorum: returns beyond it drop the message; negative: none

    Connection* owner = nullptr; // of an exclusive queue
    MessageIndex index;
    base::LogIndex declaredAt = 0; // record of its declaration
    base::MessageId
        newest; // its newest persistent message: numbers are true once that is committed

    // The delivered mark (design: deliveries are not logged). index.deliveredMark() is logged; up
    // to markSafe it is committed.
    std::uint64_t markSafe = 0;
    base::LogIndex markRecord = 0;
    std::uint64_t delivered = 0; // highest ordinal that was ever delivered

    Queue* nextInWork = nullptr;
    std::unique_ptr<Serving> serving;
    std::unique_ptr<Purging> purging;
    // Quorum: how often a message came back; only those that did.
    std::unique_ptr<std::unordered_map<base::MessageId, std::uint32_t>> returns;

    bool isQuorum() const { return spec.type == catalog::QueueType::quorum; }
    bool hasTaker() const { return serving && serving->hasTaker(); }
    std::uint64_t readyCount() const {
        return purging ? index.ready() - purging->left + purging->givenBack.size() : index.ready();
    }
    std::uint64_t unackedCount() const {
        return index.out() - (purging ? purging->givenBack.size() : 0);
    }
    std::uint32_t consumerCount() const {
        return serving ? static_cast<std::uint32_t>(serving->consumers().size()) : 0;
    }
    Serving& serve() {
        if (!serving) {
            serving = std::make_unique<Serving>();
        }
        return *serving;
    }
    std::size_t memoryBytes() const;
};

} // namespace millrace::engine
