// SPDX-License-Identifier: Apache-2.0
// The engine: commands in, effects out. A state machine without threads, sockets, files or clocks
// of its own.
//
// Order: messages of one publisher to one queue keep their order; a queue is FIFO, returned
// messages go back to their place. Durable: everything that anyone outside can notice is released
// only when the log's horizon covers it (design: horizons). A command that changed something
// durable returns a Reply whose `visibleAt` must be committed before the peer may be told: use
// await(). Lives on: the engine's loop.
#pragma once

#include "base/clock.h"
#include "base/limits.h"
#include "base/result.h"
#include "catalog/spec.h"
#include "engine/client.h"
#include "log/checkpoint_store.h"
#include "log/commit_log.h"

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace millrace::catalog {
struct Snapshot; // catalog/snapshot.h
}

namespace millrace::engine {

class Channel;    // engine/channel.h
class Connection; // engine/connection.h: owner of exclusive queues
struct Engine;    // engine/engine.h: the engine's own parts

template <typename T> struct Reply {
    T value{};
    base::LogIndex visibleAt = 0; // 0: at once
};
template <typename T> using Answer = base::Outcome<Reply<T>>;
struct Nothing {};

struct QueueDeclare {
    std::string_view vhost, name; // empty name: the server chooses (amq.gen-...)
    bool passive = false, durable = false, exclusive = false, autoDelete = false;
    base::Bytes arguments;
};
struct QueueDeclared {
    std::string name;
    std::uint32_t messages = 0, consumers = 0;
};
struct ExchangeDeclare {
    std::string_view vhost, name, type;
    bool passive = false, durable = false, autoDelete = false, internal = false;
    base::Bytes arguments;
};
struct Binding { // of a queue, or of an exchange, to a source exchange
    std::string_view vhost, source, destination, routingKey;
    bool toExchange = false;
    base::Bytes arguments;
};

struct QueueNumbers {
    std::uint64_t ready = 0, unacked = 0;
    std::uint32_t consumers = 0;
    std::uint64_t memoryBytes = 0; // of the index and of messages read ahead
};

struct BrokerOptions {
    std::uint64_t maxMessageSize = limits::kMaxMessageSize;
    std::chrono::milliseconds consumerTimeout = limits::kConsumerTimeout; // an unacked delivery's
    std::uint64_t readAheadBytes = limits::kReadAheadBytes;               // of all queues together
    std::size_t unackedBytes = limits::kUnackedBytes;                     // of all channels
};

// Catalog changes that are committed: for the catalog store, with the index up to which they
// reflect the log.
struct CatalogBatch {
    base::LogIndex upTo = 0;
    std::vector<catalog::Change> changes;
};

class Broker final : public log::CommitLogListener {
  public:
    // `scratch` keeps transient messages and those of volatile queues (its ids carry
    // base::kScratchBit).
    Broker(log::CommitLog& durable, log::CommitLog& scratch, const base::Clock& clock,
           BrokerOptions options);
    ~Broker() override; // after every Connection and Channel

    // --- start-up, in this order. The replay starts at CheckpointStore::replayFrom(), or at 1
    // without a checkpoint.
    void load(catalog::Snapshot snapshot, base::LogIndex replayFrom = 1);
    void loadPage(const log::CheckpointStore::Page& page);
    void replay(const log::Replayed& entry);
    // Tells the log (LocalLog::hold) which entries below the replay start have holders; then queues
    // are ready.
    using Hold =
        std::function<void(const base::MessageId& first, std::uint32_t slots, std::uint32_t count)>;
    base::Status recovered(const Hold& hold);
    // Whom the scratch log reports to; the durable log reports to this object.
    log::CommitLogListener& scratchListener();

    // --- peers. A Connection must be destroyed after its Channels.
    std::unique_ptr<Connection> connect(std::string vhost,
                                        std::string user); // destructor: exclusive queues go
    bool vhostExists(std::string_view name) const;
    // `number` is for texts only. Destructor: unacked go back.
    std::unique_ptr<Channel> openChannel(Connection& connection, Client& client,
                                         std::uint16_t number = 0);

    // --- topology. `vhost` empty: the connection's.
    Answer<QueueDeclared> declareQueue(Connection& connection, const QueueDeclare& declare);
    Answer<std::uint32_t> deleteQueue(Connection& connection, std::string_view vhost,
                                      std::string_view name, bool ifUnused,
                                      bool ifEmpty); // missing: ok, 0
    Answer<std::uint32_t> purgeQueue(Connection& connection, std::string_view vhost,
                                     std::string_view name);
    Answer<Nothing> declareExchange(Connection& connection, const ExchangeDeclare& declare);
    Answer<Nothing> deleteExchange(Connection& connection, std::string_view vhost,
                                   std::string_view name, bool ifUnused);
    Answer<Nothing> bind(Connection& connection, const Binding& binding);
    Answer<Nothing> unbind(Connection& connection, const Binding& binding);

    // --- users and vhosts
    const catalog::UserSpec* user(std::string_view name) const;
    bool hasUsers() const;
    Reply<Nothing> putUser(catalog::UserSpec spec);
    Reply<Nothing>
    putVhost(catalog::VhostSpec spec); // with its predeclared exchanges; existing: nothing

    // --- horizon
    // True: `index` is not committed yet, and channel's client.resumed(ticket, nullptr) will be
    // called once it is. False: it is committed already (or 0); resumed() is not called.
    bool await(Channel& channel, base::LogIndex index, std::uint64_t ticket);
    bool isVisible(base::LogIndex index) const;
    bool stale() const; // the log withdrew what was applied: nothing is released any more, rebuild
                        // from checkpoint and log

    // --- turns
    // Settle entries and confirms of this turn, dispatch (sliced: limits::kSliceTime), submit() of
    // both logs.
    void endTurn();
    bool hasWork() const; // dispatch or jobs are left over: call endTurn() again soon
    void tick();          // a few times a second
    // While the disk is short: checkpoints come sooner, and with them the space of what was freed.
    void hurryCheckpoints(bool on);
    // From now on pages are written in slices within endTurn().
    void checkpoint(log::CheckpointStore& store);
    // Orderly stop, after all channels are gone: writes every page (call endTurn() until true,
    // harvesting in between).
    bool checkpointedForStop();
    std::optional<CatalogBatch> takeCatalogChanges();
    void catalogStored(base::LogIndex upTo); // the store has them safely: the log may forget them

    // --- numbers
    std::optional<QueueNumbers> numbers(std::string_view vhost, std::string_view queue) const;
    std::uint64_t memoryBytes() const; // O(queues + channels): for status, not for every turn

    // --- CommitLogListener, of the durable log
    void advanced(const log::Horizons& horizons) override;
    void withdrawn(base::LogIndex from, const base::Error& why) override;
    void fetched(std::uint64_t token, std::vector<log::Stored> entries) override;
    bool needed(const base::MessageId& id, log::EntryKind kind,
                std::span<const base::QueueId> routes) override;

  private:
    std::unique_ptr<Engine> engine_;
};

} // namespace millrace::engine
