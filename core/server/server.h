// SPDX-License-Identifier: Apache-2.0
// A whole Millrace server: builds, starts and stops everything in order.
//
// Start: data directory and its lock, storage and recovery, first users, listeners. Stop:
// listeners, clients (320), last checkpoint, catalog, logs. Lives on: the thread that calls run();
// only requestStop() may be called from others.
#pragma once

#include "net/event_loop.h"
#include "net/listener.h"
#include "server/gate/alarms.h"
#include "server/lock_file.h"
#include "server/options.h"
#include "server/peers.h"
#include "server/signals.h"
#include "server/storage.h"
#include "session/amqp/direct_replies.h"

#include <memory>
#include <string>
#include <vector>

namespace millrace::server {

// What a look at a running server shows.
struct ServerNumbers {
    std::size_t connections = 0;
    std::uint64_t residentBytes = 0;
    std::chrono::nanoseconds longestTurn{};
    log::Statistics log;
};

class Server final {
  public:
    // Listening when it returns; serves within run().
    static base::Result<std::unique_ptr<Server>> start(Options options, base::FileSystem& files,
                                                       const base::Clock& clock);
    ~Server();
    Server(const Server&) = delete;
    Server& operator=(const Server&) = delete;

    // SIGTERM and SIGINT become requestStop(). blockStopSignals() must have been called first.
    base::Status stopOnSignals();
    // Until requestStop(), then the orderly stop.
    void run();
    void requestStop();

    // amqp://127.0.0.1:5672 ...
    std::vector<std::string> addresses() const;
    std::string readyLine() const;
    ServerNumbers numbers() const;

  private:
    Server(Options options, const base::Clock& clock);
    base::Status build(base::FileSystem& files);
    base::Status createFirstUser();
    base::Status openListeners();
    void everyLook();
    void everyPeerTick();
    bool endTurn();
    void lookAtGate();
    void stopOrderly();
    void turnUntil(std::chrono::nanoseconds longest, const std::function<bool()>& done);

    Options options_;
    const base::Clock& clock_;
    std::unique_ptr<LockFile> lock_;
    std::unique_ptr<net::EventLoop> loop_;
    std::unique_ptr<Storage> storage_;
    std::unique_ptr<Alarms> alarms_;
    std::unique_ptr<session::OutboxMemory> outboxes_;
    session::amqp::DirectReplies replies_;
    session::BodyMemory bodies_;
    std::unique_ptr<session::Environment> environment_;
    std::unique_ptr<Peers> peers_;
    std::vector<std::unique_ptr<net::Listener>> listeners_;
    std::unique_ptr<Signals> signals_;
    std::size_t mostConnections_ = 0;
    std::uint64_t residentBytes_ = 0;
    std::atomic<bool> stopping_{false};
};

// This product's version, e.g. 0.1.0.
const char* version();

} // namespace millrace::server
