// SPDX-License-Identifier: Apache-2.0
// Opening, recovering and closing the data directory.
#include "server/storage.h"

#include "base/diagnostics.h"

#include <algorithm>

namespace millrace::server {

namespace {

constexpr std::uint64_t kMiB = 1024 * 1024;

} // namespace

MemoryShares sharesOf(std::uint64_t memoryBytes) {
    // The rest is for the index of messages and the program itself.
    MemoryShares shares;
    shares.durableLog = std::clamp<std::uint64_t>(memoryBytes / 6, 4 * kMiB, 256 * kMiB);
    shares.scratchLog = std::clamp<std::uint64_t>(memoryBytes / 8, 4 * kMiB, 256 * kMiB);
    shares.readAhead = std::clamp<std::uint64_t>(memoryBytes / 16, kMiB, limits::kReadAheadBytes);
    shares.unsynced =
        std::clamp<std::uint64_t>(memoryBytes / 10, 2 * kMiB, limits::kUnreleasedBytes);
    shares.unacked = std::max<std::uint64_t>(memoryBytes / 8, limits::kUnackedLeastBytes);
    shares.outboxes = std::max<std::uint64_t>(memoryBytes / 4, limits::kOutboxesLeastBytes);
    return shares;
}

base::Result<std::unique_ptr<Storage>>
Storage::open(base::FileSystem& files, const base::Clock& clock, const StorageOptions& options) {
    std::unique_ptr<Storage> storage(new Storage);
    if (auto opened = storage->openLogs(files, clock, options); !opened) {
        return opened.error();
    }
    auto store = catalog::Store::open(options.directory + "/catalog.sqlite");
    if (!store) {
        return store.error();
    }
    auto snapshot = store->load();
    if (!snapshot) {
        return snapshot.error();
    }
    engine::BrokerOptions brokerOptions;
    brokerOptions.maxMessageSize = options.maxMessageSize;
    brokerOptions.readAheadBytes = sharesOf(options.memoryBytes).readAhead;
    brokerOptions.unackedBytes = sharesOf(options.memoryBytes).unacked;
    storage->broker_ = std::make_unique<engine::Broker>(*storage->durable_, *storage->scratch_,
                                                        clock, brokerOptions);
    if (auto recovered = storage->recover(std::move(*snapshot)); !recovered) {
        return recovered.error();
    }
    storage->catalogWriter_ = std::make_unique<CatalogWriter>(std::move(*store), options.wake);
    return storage;
}

base::Status Storage::openLogs(base::FileSystem& files, const base::Clock& clock,
                               const StorageOptions& options) {
    const MemoryShares shares = sharesOf(options.memoryBytes);
    unsyncedLimit_ = shares.unsynced;
    log::Options durable;
    durable.folder = options.directory + "/log";
    durable.memoryBytes = shares.durableLog;
    durable.diskFreeLimit = options.diskFreeLimit;
    durable.openSegments = options.openSegments;
    durable.wake = options.wake;
    log::Options scratch = durable;
    scratch.folder = options.directory + "/scratch";
    scratch.kind = log::Kind::scratch;
    scratch.memoryBytes = shares.scratchLog;

    auto durableLog = log::LocalLog::open(files, clock, durable);
    if (!durableLog) {
        return durableLog.error();
    }
    durable_ = std::move(*durableLog);
    auto scratchLog = log::LocalLog::open(files, clock, scratch);
    if (!scratchLog) {
        return scratchLog.error();
    }
    scratch_ = std::move(*scratchLog);
    auto checkpoint =
        log::CheckpointStore::open(files, options.directory + "/checkpoint", options.wake);
    if (!checkpoint) {
        return checkpoint.error();
    }
    checkpoint_ = std::move(*checkpoint);
    return {};
}

base::Status Storage::recover(catalog::Snapshot snapshot) {
    broker_->load(std::move(snapshot), checkpoint_->replayFrom());
    std::uint64_t pages = 0;
    auto loaded = checkpoint_->load(durable_->horizons().synced,
                                    [this, &pages](const log::CheckpointStore::Page& page) {
                                        ++pages;
                                        broker_->loadPage(page);
                                    });
    if (!loaded) {
        return loaded;
    }
    std::uint64_t entries = 0;
    auto replayed =
        durable_->replay(checkpoint_->replayFrom(), [this, &entries](const log::Replayed& entry) {
            ++entries;
            broker_->replay(entry);
        });
    if (!replayed) {
        return replayed;
    }
    auto recovered =
        broker_->recovered([this](const base::MessageId& first, std::uint32_t slots,
                                  std::uint32_t count) { durable_->hold(first, slots, count); });
    if (!recovered) {
        return recovered;
    }
    base::diagnose(base::Severity::info, "recovered; checkpoint pages: " + std::to_string(pages) +
                                             ", log entries replayed: " + std::to_string(entries));
    durable_->start(*broker_);
    scratch_->start(broker_->scratchListener());
    checkpoint_->start();
    broker_->checkpoint(*checkpoint_);
    return {};
}

Storage::~Storage() = default;

void Storage::harvest() {
    durable_->harvest();
    scratch_->harvest();
    moveCatalogChanges();
}

void Storage::moveCatalogChanges() {
    if (auto batch = broker_->takeCatalogChanges()) {
        catalogWriter_->put(std::move(*batch));
    }
    if (const auto stored = catalogWriter_->takeStored()) {
        broker_->catalogStored(*stored);
    }
}

void Storage::tick() {
    durable_->tick();
    scratch_->tick();
    harvest();
    broker_->hurryCheckpoints(durable_->trouble() == log::LocalLog::Trouble::diskFull);
    broker_->tick();
    if (const base::Status failure = checkpoint_->failure(); !failure && !checkpointReported_) {
        checkpointReported_ = true;
        base::diagnose(base::Severity::error,
                       "checkpoints cannot be written any more, the log will grow: " +
                           failure.error().text);
    }
}

log::LocalLog::Trouble Storage::trouble() const {
    using Trouble = log::LocalLog::Trouble;
    if (broker_->stale()) {
        return Trouble::stopped;
    }
    const Trouble durable = durable_->trouble();
    return durable != Trouble::none ? durable : scratch_->trouble();
}

bool Storage::logIsBehind() const {
    return !durable_->accepting() || durable_->unsyncedBytes() > unsyncedLimit_ ||
           scratch_->unsyncedBytes() > unsyncedLimit_;
}

bool Storage::settled() {
    if (broker_->stale()) {
        return true;
    }
    harvest();
    const bool checkpointed = broker_->checkpointedForStop();
    broker_->endTurn();
    moveCatalogChanges();
    return checkpointed && catalogWriter_->idle();
}

void Storage::stop() {
    catalogWriter_->stop();
    for (const base::Status& status : {checkpoint_->stop(), durable_->stop(), scratch_->stop()}) {
        if (!status) {
            base::diagnose(base::Severity::error, "while stopping: " + status.error().text);
        }
    }
}

} // namespace millrace::server
