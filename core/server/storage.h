// SPDX-License-Identifier: Apache-2.0
// The data directory: log, scratch log, checkpoint and catalog, and the engine that was recovered
// out of them.
//
// Order of start: logs, catalog, checkpoint pages, replay, threads. Order of stop: the engine's
// last checkpoint, catalog, checkpoint, logs. Lives on: the loop.
#pragma once

#include "base/clock.h"
#include "base/file.h"
#include "engine/broker.h"
#include "log/checkpoint_store.h"
#include "log/local_log.h"
#include "server/catalog_writer.h"

#include <functional>
#include <memory>
#include <string>

namespace millrace::server {

struct StorageOptions {
    std::string directory;
    std::uint64_t memoryBytes = 0; // what the whole server may use: the shares follow from it
    std::uint64_t diskFreeLimit = 0;
    std::uint64_t maxMessageSize = limits::kMaxMessageSize;
    std::size_t openSegments = limits::kOpenSegments; // of each log
    std::function<void()> wake;                       // any thread: harvest() soon
};

class Storage final {
  public:
    static base::Result<std::unique_ptr<Storage>>
    open(base::FileSystem& files, const base::Clock& clock, const StorageOptions& options);
    ~Storage();
    Storage(const Storage&) = delete;
    Storage& operator=(const Storage&) = delete;

    engine::Broker& broker() { return *broker_; }
    // After a wake: horizons, fetched messages, stored catalog changes.
    void harvest();
    // Every limits::kLookInterval.
    void tick();
    log::LocalLog::Trouble trouble() const;
    // Whether either log has more unwritten bytes than fit this server's memory.
    bool logIsBehind() const;
    const log::LocalLog& durableLog() const { return *durable_; }

    // --- orderly stop, when no client is left: call until true, with turns of the loop in between
    bool settled();
    void stop();

  private:
    Storage() = default;
    base::Status recover(catalog::Snapshot snapshot);
    base::Status openLogs(base::FileSystem& files, const base::Clock& clock,
                          const StorageOptions& options);
    void moveCatalogChanges();

    std::uint64_t unsyncedLimit_ = 0;
    std::unique_ptr<log::LocalLog> durable_;
    std::unique_ptr<log::LocalLog> scratch_;
    std::unique_ptr<log::CheckpointStore> checkpoint_;
    std::unique_ptr<engine::Broker> broker_;
    std::unique_ptr<CatalogWriter> catalogWriter_;
    bool checkpointReported_ = false;
};

// How the memory of a server is shared out.
struct MemoryShares {
    std::size_t durableLog = 0, scratchLog = 0, readAhead = 0, unsynced = 0, outboxes = 0,
                unacked = 0;
};
MemoryShares sharesOf(std::uint64_t memoryBytes);

} // namespace millrace::server
