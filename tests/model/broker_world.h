// SPDX-License-Identifier: Apache-2.0
// A broker, its logs, stores and peers, driven command by command beside the oracle. Everything
// that a peer hears is checked against the oracle at once. Lives on: the test's thread.
#pragma once

#include "engine/broker.h"
#include "engine/channel.h"
#include "engine/connection.h"
#include "model/broker_oracle.h"
#include "model/memory_stores.h"
#include "support/delayed_log.h"
#include "support/seed.h"

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace millrace::model {

// Each look takes a little time, so that slices end.
class StepClock final : public base::Clock {
  public:
    std::chrono::nanoseconds now() const override {
        now_ += std::chrono::microseconds(20);
        return now_;
    }
    std::chrono::milliseconds wallNow() const override {
        return std::chrono::milliseconds(1'700'000'000'000);
    }
    void advance(std::chrono::nanoseconds by) { now_ += by; }

  private:
    mutable std::chrono::nanoseconds now_{1'000'000'000};
};

class BrokerWorld;

struct Peer final : engine::Client {
    struct ModelConsumer {
        std::string queue;
        std::uint64_t incarnation = 0;
        std::uint16_t prefetch = 0;
        bool noAck = false;
    };
    struct Out {
        std::string queue;
        std::uint64_t incarnation = 0;
        std::uint64_t body = 0;
        std::string consumer; // empty: a get
    };
    struct TxPublish {
        std::uint64_t body = 0;
        bool persistent = false;
        std::vector<std::pair<std::string, std::uint64_t>> routes;
    };
    struct TxSettle {
        std::uint64_t tag = 0;
        bool multiple = false, requeue = false;
    };

    explicit Peer(BrokerWorld& in, int connectionNumber)
        : world(in), connection(connectionNumber) {}

    BrokerWorld& world;
    int connection;
    std::unique_ptr<engine::Channel> channel;
    bool confirms = false, tx = false, full = false;
    std::map<std::string, ModelConsumer> consumers;
    std::map<std::uint64_t, Out> unacked;
    std::uint64_t lastTag = 0;
    std::vector<LogIndex> confirmRecords; // by number, from 1
    std::uint64_t lastConfirmed = 0;
    bool getting = false, getNoAck = false;
    std::string getQueue;
    std::uint64_t getIncarnation = 0;
    std::vector<TxPublish> txPublishes;
    std::vector<TxSettle> txSettles;
    std::map<std::uint64_t, LogIndex> awaited; // ticket -> record
    std::uint64_t lastTicket = 0;

    engine::Appetite deliver(const engine::Delivery& delivery) override;
    engine::Appetite piece(base::Bytes, bool) override { return engine::Appetite::more; }
    void confirmed(std::uint64_t from, std::uint64_t to, bool accepted) override;
    void returned(const engine::Returned&) override {}
    void cancelled(std::string_view consumerTag) override;
    void resumed(std::uint64_t ticket, const base::Refusal* refused) override;
};

class BrokerWorld {
  public:
    explicit BrokerWorld(std::uint64_t seed);
    ~BrokerWorld();

    // One random command; the trace remembers it. Empty: all is well.
    void step();
    // Everything is synced and worked off; then nothing may be left waiting, and the logs' holders
    // are exact.
    void quiesce();
    void crash();
    void withdrawTail();
    bool failed() const { return !failure_.empty(); }
    const std::string& failure() const { return failure_; }

    // --- for the cases that are kept by name: single commands
    void publish(Peer& peer, const std::string& target, std::uint64_t count, bool persistent);
    void declare(const std::string& name);
    void remove(const std::string& name);
    void purge(const std::string& name);
    void bind(const std::string& name, bool on);
    void consume(Peer& peer, const std::string& name, std::uint16_t prefetch, bool noAck);
    void cancel(Peer& peer, const std::string& tag);
    void get(Peer& peer, const std::string& name, bool noAck);
    void settle(Peer& peer, std::uint64_t tag, bool multiple, engine::Settlement how);
    void recover(Peer& peer);
    void commit(Peer& peer);
    void rollback(Peer& peer);
    void closeChannel(std::size_t at);
    void closeConnection(int number);
    Peer& open(int connection);
    void turn();
    void moveHorizon();
    void storeCatalog();

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

    static constexpr int kConnections = 3;
    static const std::vector<std::string> kNames;

  private:
    friend struct Peer;

    void fail(const std::string& what);
    void note(std::string what);
    LogIndex openRecord() const { return durable.appended() + 1; }
    LogIndex committed() const { return durable.horizons().committed; }
    void start();
    void stop();
    void removed(const std::string& name);
    void leave(const std::string& name); // a consumer has gone
    void applySettle(Peer& peer, std::uint64_t tag, bool multiple, bool requeue);
    void giveBackAll(Peer& peer);
    template <typename T> void await(const engine::Answer<T>& answer);
    engine::Connection& ownerOf(const std::string& name);
    std::vector<std::string> routes(const std::string& target) const;
    std::uint64_t outstanding(const Peer& peer, const std::string& consumer) const;
    void compareCounts();
    void checkNothingWaits();
    void commandOfPeer(Peer& peer);
    void commandOfDelivery(Peer& peer);
    void commandOfTopology();
    void commandOfTime();

    std::uint64_t lastBody_ = 0;
    std::uint64_t lastConsumer_ = 0;
    std::size_t turnBytes_ =
        0; // since the last turn: a record must not be closed in the middle of a command
    std::optional<engine::CatalogBatch> batch_;
    std::string failure_;
};

} // namespace millrace::model
