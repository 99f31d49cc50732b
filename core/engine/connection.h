// SPDX-License-Identifier: Apache-2.0
// One peer's connection as the engine sees it: who it is, where it is, and the exclusive queues
// that go with it. Lives on: the engine's loop. Destroyed after its channels.
#pragma once

#include "base/ids.h"

#include <string>
#include <vector>

namespace millrace::engine {

struct Engine;
struct Vhost;

class Connection final {
  public:
    Connection(Engine& engine, Vhost* vhost, std::string vhostName, std::string user);
    ~Connection();
    Connection(const Connection&) = delete;
    Connection& operator=(const Connection&) = delete;

    const std::string& vhostName() const { return vhostName_; }
    const std::string& user() const { return user_; }
    Vhost* vhost() const { return vhost_; }

    // The outbox that all its channels fill: while it is full nothing is delivered to any of them,
    // also no answer to a basic.get. Each is told by Channel::writable() when it is over.
    void setFull(bool full) { full_ = full; }
    bool isFull() const { return full_; }

    void adopt(base::QueueId exclusiveQueue) { exclusiveQueues_.push_back(exclusiveQueue); }

  private:
    Engine& engine_;
    Vhost* vhost_; // null: the vhost does not exist
    std::string vhostName_, user_;
    bool full_ = false;
    std::vector<base::QueueId> exclusiveQueues_; // may name queues that are gone
};

} // namespace millrace::engine
