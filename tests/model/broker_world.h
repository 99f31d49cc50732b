// SPDX-License-Identifier: Apache-2.0
// A broker, its logs, stores and peers, driven command by command beside the oracle. Everything
// that a peer hears and everything that goes to the log is checked against the oracle at once.
// Lives on: the test's thread.
#pragma once

#include "engine/broker.h"
#include "engine/connection.h"
#include "model/broker_oracle.h"
#include "model/memory_stores.h"
#include "model/model_peer.h"
#include "support/delayed_log.h"
#include "support/seed.h"

#include <array>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace millrace::model {

// Each look takes a little time, so that slices end; or so much that each ends at once.
class StepClock final : public base::Clock {
  public:
    std::chrono::nanoseconds now() const override {
        now_ += step;
        return now_;
    }
    std::chrono::milliseconds wallNow() const override {
        return std::chrono::milliseconds(1'700'000'000'000);
    }
    void advance(std::chrono::nanoseconds by) { now_ += by; }

    std::chrono::microseconds step{20};

  private:
    mutable std::chrono::nanoseconds now_{1'000'000'000};
};

class BrokerWorld {
  public:
    explicit BrokerWorld(std::uint64_t seed);
    ~BrokerWorld();

    // One random command; the trace remembers it.
    void step();
    // Everything is synced and worked off; then nothing may be left waiting, and the logs' holders
    // are exact.
    void quiesce();
    // After quiesce() and a crash every queue still gives all that it should, in order.
    void drain();
    bool failed() const { return !failure_.empty(); }
    const std::string& failure() const { return failure_; }

    support::Random random;
    StepClock clock;
    support::DelayedLog durable{support::DelayedLog::Kind::durable, &clock};
    support::DelayedLog scratch{support::DelayedLog::Kind::scratch, &clock};
    MemoryPages pages;
    MemoryCatalog catalog;
    BrokerOracle oracle;
    std::unique_ptr<engine::Broker> broker;
    std::vector<std::unique_ptr<engine::Connection>> connections;
    std::vector<std::unique_ptr<Peer>> peers;
    bool stale = false; // nothing may be heard any more
    std::vector<std::string> trace;

  private:
    friend struct Peer;

    static constexpr int kConnections = 3;
    static const std::vector<std::string> kQueues;
    static const std::vector<std::string> kExchanges;

    void fail(const std::string& what);
    void note(std::string what);
    LogIndex committed() const { return durable.horizons().committed; }

    // --- broker_life.cpp: starts and ends
    void start();
    void stop();
    void crash();
    void withdrawTail();
    void restartInOrder();
    bool finishInOrder();
    void storeBatch();

    // --- broker_log.cpp: what the log was told
    void appended(const log::Entry& entry, const base::MessageId& id);
    void settlesLogged(base::Bytes blocks, LogIndex record);
    void catalogLogged(base::Bytes payload, LogIndex record);
    // The record of what this command logged under this name; `must` it have?
    LogIndex loggedAt(const std::string& key, bool must);
    void checkAllExpected(); // at the end of a command

    // --- broker_time.cpp
    void turn();
    void moveHorizon();
    void storeCatalog();
    void setConnectionFull(int number, bool full);
    bool isConnectionFull(int number) const {
        return connectionFull_[static_cast<std::size_t>(number)];
    }
    void compareCounts();
    void checkNothingWaits();
    void commandOfTime();

    // --- broker_publishing.cpp
    Publishing draft(bool large);
    std::vector<std::string> routes(const Publishing& message) const;
    void publish(Peer& peer, const Publishing& message);
    void publishSome(Peer& peer);
    void upload(Peer& peer);
    void commit(Peer& peer);
    void rollback(Peer& peer);

    // --- broker_consuming.cpp
    void consume(Peer& peer);
    void cancel(Peer& peer, std::string tag);
    void limitAll(Peer& peer);
    void get(Peer& peer, const std::string& name, bool noAck);
    void settle(Peer& peer, std::uint64_t tag, bool multiple, engine::Settlement how);
    void applySettle(Peer& peer, std::uint64_t tag, bool multiple, bool requeue);
    void settleSomething(Peer& peer);
    void recover(Peer& peer);
    Peer& open(int connection);
    void closeChannel(std::size_t at);
    void closeConnection(int number);
    void commandOfPeer(Peer& peer);

    // --- broker_topology.cpp
    void declareQueue(const std::string& name);
    void removeQueue(const std::string& name);
    void purge(const std::string& name);
    void declareExchange(const std::string& name);
    void removeExchange(const std::string& name);
    void bind(const std::string& exchange, const std::string& queue, bool on);
    void queueHasGone(const std::string& name);
    void consumerHasLeft(const std::string& name);
    bool mayUse(const std::string& name, int connection);
    std::uint64_t consumersOf(const std::string& name) const;
    // Where a reply waits for the log, some peer waits with it. `at`: the record of the change.
    void await(LogIndex visibleAt, LogIndex at);
    template <typename T>
    bool answered(const engine::Answer<T>& answer, bool allowed, const std::string& what);
    void commandOfTopology();

    std::uint64_t lastBody_ = 0;
    std::uint64_t lastConsumer_ = 0;
    std::array<bool, kConnections> connectionFull_{};
    std::optional<engine::CatalogBatch> batch_;
    std::map<std::string, LogIndex> logged_; // "queue x", "exchange x", "binding x y", "purge x",
                                             // "message 17", "commit": of this command
    std::map<base::MessageId, std::uint64_t> bodies_;
    std::map<base::QueueId, std::string> queueNames_;
    std::string failure_;
};

template <typename T>
bool BrokerWorld::answered(const engine::Answer<T>& answer, bool allowed, const std::string& what) {
    if (answer.ok() != allowed) {
        fail(what + (allowed ? " is refused: " + engine::Answer<T>(answer).refusal().text
                             : std::string(" should be refused")));
    }
    return answer.ok();
}

} // namespace millrace::model
