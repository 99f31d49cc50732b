// SPDX-License-Identifier: Apache-2.0
#include "engine/connection.h"

#include "engine/engine.h"

namespace millrace::engine {

Connection::Connection(Engine& engine, Vhost* vhost, std::string vhostName, std::string user)
    : engine_(engine), vhost_(vhost), vhostName_(std::move(vhostName)), user_(std::move(user)) {}

Connection::~Connection() {
    for (const base::QueueId id : exclusiveQueues_) {
        if (Queue* const queue = engine_.topology.queue(id)) {
            engine_.topology.deleteQueue(*queue, log::Waiting::nobody);
        }
    }
}

} // namespace millrace::engine
