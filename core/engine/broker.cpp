// SPDX-License-Identifier: Apache-2.0
// Turns, horizons, peers and numbers of the broker.
#include "engine/broker.h"

#include "base/diagnostics.h"
#include "engine/channel.h"
#include "engine/connection.h"
#include "engine/engine.h"

#include <algorithm>

namespace millrace::engine {

using base::LogIndex;

void ScratchListener::withdrawn(LogIndex, const base::Error& why) {
    base::diagnose(base::Severity::error, "the scratch log has failed: " + why.text);
    engine_.stale = true;
}

void ScratchListener::fetched(std::uint64_t token, std::vector<log::Stored> entries) {
    engine_.dispatch.fetched(token, std::move(entries));
}

Broker::Broker(log::CommitLog& durable, log::CommitLog& scratch, const base::Clock& clock,
               BrokerOptions options)
    : engine_(std::make_unique<Engine>(durable, scratch, clock, options)) {}

Broker::~Broker() {
    MILLRACE_CHECK(engine_->channels.empty());
}

log::CommitLogListener& Broker::scratchListener() {
    return engine_->scratchListener;
}

// --- start-up

void Broker::load(catalog::Snapshot snapshot, LogIndex replayFrom) {
    engine_->recovery = std::make_unique<Recovery>(*engine_, replayFrom);
    engine_->topology.load(std::move(snapshot));
}

void Broker::loadPage(const log::CheckpointStore::Page& page) {
    engine_->recovery->page(page);
}

void Broker::replay(const log::Replayed& entry) {
    engine_->recovery->replay(entry);
}

base::Status Broker::recovered(const Hold& hold) {
    const std::unique_ptr<Recovery> recovery = std::move(engine_->recovery);
    return recovery->finish(hold);
}

// --- peers

std::unique_ptr<Connection> Broker::connect(std::string vhost, std::string user) {
    Vhost* const at = engine_->topology.vhost(vhost);
    return std::make_unique<Connection>(*engine_, at, std::move(vhost), std::move(user));
}

std::unique_ptr<Channel> Broker::openChannel(Connection& connection, Client& client,
                                             std::uint16_t number) {
    auto state = std::make_unique<ChannelState>(*engine_, engine_->unacked, connection, client);
    state->number = number;
    state->place = static_cast<std::uint32_t>(engine_->channels.size());
    engine_->channels.push_back(state.get());
    return std::make_unique<Channel>(std::move(state));
}

// --- horizon

bool Broker::await(Channel& channel, LogIndex index, std::uint64_t ticket) {
    return engine_->waits.await(channel.state(), index, ticket);
}

bool Broker::isVisible(LogIndex index) const {
    return engine_->journal.isVisible(index);
}

bool Broker::stale() const {
    return engine_->stale;
}

void Broker::advanced(const log::Horizons& horizons) {
    if (engine_->stale) {
        return;
    }
    engine_->journal.advanced(horizons);
    engine_->waits.advanced();
    engine_->dispatch.advanced();
}

void Broker::withdrawn(LogIndex from, const base::Error& why) {
    base::diagnose(base::Severity::error, "the log took back everything from record " +
                                              std::to_string(from) + " on: " + why.text);
    engine_->journal.withdrawn();
    engine_->stale = true;
}

void Broker::fetched(std::uint64_t token, std::vector<log::Stored> entries) {
    if (!engine_->stale) {
        engine_->dispatch.fetched(token, std::move(entries));
    }
}

bool Broker::needed(const base::MessageId& id, log::EntryKind kind,
                    std::span<const base::QueueId> routes) {
    Engine& engine = *engine_;
    if (kind == raw(EntryKind::bodyPiece)) {
        return engine.large.neededPiece(id) || engine.journal.waitsForSettle(id);
    }
    const bool held = std::any_of(routes.begin(), routes.end(), [&](base::QueueId route) {
        Queue* const queue = engine.topology.queue(route);
        return queue && queue->index.contains(id);
    });
    return held || engine.topology.heldByUnlogged(id) || engine.clearing.holds(id) ||
           engine.journal.waitsForSettle(id);
}

// --- turns

void Broker::endTurn() {
    Engine& engine = *engine_;
    if (engine.stale) {
        return;
    }
    const auto deadline = engine.clock.now() + limits::kSliceTime;
    // What somebody waits for is on its way to the disk before time goes into deliveries.
    engine.journal.flush();
    engine.journal.submit();
    engine.waits.endTurn();
    engine.dispatch.run(deadline);
    engine.clearing.run(deadline);
    engine.journal.flush();
    engine.journal.submit();
    engine.checkpointer.run(deadline);
}

bool Broker::hasWork() const {
    const Engine& engine = *engine_;
    return !engine.stale && (engine.dispatch.hasWork() || engine.clearing.hasWork() ||
                             engine.checkpointer.hasWork());
}

void Broker::tick() {
    if (!engine_->stale) {
        engine_->settling.expire();
        engine_->dispatch.retryRefused();
        engine_->dispatch.lookAtUnacked();
        engine_->waits.endTurn();
    }
}

void Broker::checkpoint(log::CheckpointStore& store) {
    engine_->checkpointer.attach(store);
}

void Broker::hurryCheckpoints(bool on) {
    engine_->checkpointer.hurry(on);
}

bool Broker::checkpointedForStop() {
    return engine_->stale || engine_->checkpointer.finalRound();
}

std::optional<CatalogBatch> Broker::takeCatalogChanges() {
    if (engine_->stale) {
        return std::nullopt;
    }
    return engine_->topology.takeChanges(engine_->journal.horizons().committed);
}

void Broker::catalogStored(LogIndex upTo) {
    engine_->topology.stored(upTo);
}

// --- numbers

std::uint64_t Broker::memoryBytes() const {
    Engine& engine = *engine_;
    std::uint64_t bytes = engine.journal.memoryBytes() + engine.large.memoryBytes() +
                          engine.dispatch.memoryBytes() + engine.transactionBytes +
                          engine.checkpointer.memoryBytes();
    engine.topology.eachQueue([&bytes](const Queue& queue) { bytes += queue.memoryBytes(); });
    for (const ChannelState* channel : engine.channels) {
        bytes += sizeof(ChannelState) + channel->ledger.memoryBytes();
        bytes += channel->confirms ? channel->confirms->memoryBytes() : 0;
    }
    return bytes;
}

std::size_t Queue::memoryBytes() const {
    return sizeof(Queue) + index.memoryBytes() + spec.name.capacity() + spec.arguments.capacity() +
           (returns ? returns->size() * 48 : 0);
}

} // namespace millrace::engine
