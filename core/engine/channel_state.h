// SPDX-License-Identifier: Apache-2.0
// What the engine keeps of a channel. An idle channel has none of the parts behind pointers. Owned
// by its Channel; everybody else who names it (waits, dispatch, consumers) is told by forget()
// before it goes. Lives on: the engine's loop.
#pragma once

#include "base/limits.h"
#include "engine/client.h"
#include "engine/confirm_ledger.h"
#include "engine/connection.h"
#include "engine/consumer.h"
#include "engine/delivery_ledger.h"
#include "engine/entry.h"

#include <memory>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace millrace::engine {

class Queue;
struct Engine;

// A transaction in progress. Publishes lie in memory until the commit; see
// limits::kTransactionBytes.
struct Transaction {
    struct Message {
        std::vector<base::QueueId> routes; // decided at publish; empty: mandatory and unroutable
        std::string exchange, routingKey, properties, body;
        LargeBody large; // instead of body
        std::uint64_t bodySize = 0;
        bool persistent = false;
        bool isLarge = false;
    };
    struct Settle {
        std::uint64_t tag = 0;
        bool multiple = false;
        bool requeue = false;
    };
    std::vector<Message> messages;
    std::vector<Settle> settles; // of tags that were out; each tag once; unacked until the commit
    std::unordered_set<std::uint64_t> settledAlone;
    std::uint64_t settledUpTo = 0;
    std::size_t bytes = 0;

    // As after its commit: a tag that was settled here is unknown to the next settle.
    bool hasSettled(std::uint64_t tag) const {
        return tag <= settledUpTo || settledAlone.contains(tag);
    }
    void settle(std::uint64_t tag, bool multiple, bool requeue) {
        if (tag <= settledUpTo) {
            return; // all of what it means has been settled
        }
        settles.push_back({tag, multiple, requeue});
        if (multiple) {
            settledUpTo = tag;
            std::erase_if(settledAlone, [tag](std::uint64_t alone) { return alone <= tag; });
        } else {
            settledAlone.insert(tag);
        }
    }
};

// A body that is delivered in pieces: nothing else goes to this channel until it is done.
struct Sending {
    base::MessageId message; // counts as a user in LargeBodies
    std::vector<base::MessageId> pieces;
    std::size_t next = 0;
    std::uint64_t fetching = 0; // token
    log::Stored fetched;        // the piece at `next`, if isFetched
    bool isFetched = false;
    bool failed = false; // a piece cannot be read: the channel ends
};

struct ChannelState {
    ChannelState(Engine& in, UnackedMemory& shared, Connection& of, Client& to)
        : engine(in), connection(of), client(to), unacked(shared), ledger(&shared) {}

    Engine& engine;
    Connection& connection;
    Client& client;

    // --- publishing
    std::unique_ptr<ConfirmLedger> confirms;
    bool confirmsFresh = false, confirmsWait = false; // on the lists of Waits
    std::unique_ptr<LargeBody> uploading;
    std::unique_ptr<Transaction> transaction;

    // --- consuming
    bool full = false;             // its client wants nothing more for now
    std::uint16_t prefetch = 0;    // for consumers to come
    std::uint16_t sharedLimit = 0; // of all consumers together; 0: none
    std::uint64_t getsOutstanding = 0;
    const UnackedMemory& unacked; // of all channels
    DeliveryLedger ledger;
    std::vector<bool> getOwners; // by owner: basic.get, which no limit counts
    std::unordered_map<std::string, std::unique_ptr<Consumer>> consumers;
    Queue* getting = nullptr; // a basic.get of it is coming
    std::unique_ptr<Sending> sending;
    std::uint32_t place = 0; // in Engine::channels
    std::uint16_t number = 0;
    bool timedOut = false; // a delivery was not acked in time: the channel ends

    std::uint64_t outstanding() const { return ledger.outstanding() - getsOutstanding; }
    bool canTake(const Consumer& consumer) const {
        if (full || sending || connection.isFull()) {
            return false;
        }
        if (consumer.noAck) {
            return true;
        }
        const std::uint64_t out = ledger.outstandingOf(consumer.owner);
        return (consumer.prefetch == 0 || out < consumer.prefetch) &&
               (out < limits::kTightUnacked || !unacked.isTight()) &&
               (sharedLimit == 0 || outstanding() < sharedLimit);
    }
    bool isGet(DeliveryLedger::Owner owner) const {
        return owner < getOwners.size() && getOwners[owner];
    }
};

} // namespace millrace::engine
