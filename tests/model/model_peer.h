// SPDX-License-Identifier: Apache-2.0
// One channel's client: what it may still hear, checked with everything it hears. Lives on: the
// test's thread.
#pragma once

#include "engine/channel.h"
#include "engine/client.h"

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace millrace::model {

using base::LogIndex;

class BrokerWorld;

// A message that a peer publishes; its content follows from number and size.
struct Publishing {
    std::uint64_t body = 0;
    std::string target; // a queue by its name, or an exchange
    bool toExchange = false, persistent = false, mandatory = false, large = false;
    std::size_t size = 0;

    std::string content() const;
    std::string properties() const; // with the number as message id
};
std::string contentOf(std::uint64_t body, std::size_t size);
std::uint64_t bodyOf(base::Bytes properties);

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
        Publishing message;
        std::vector<std::pair<std::string, std::uint64_t>> routes; // queue, incarnation
    };
    struct TxSettle {
        std::uint64_t tag = 0;
        bool multiple = false, requeue = false;
    };
    struct Getting {
        std::string queue;
        std::uint64_t incarnation = 0;
        bool noAck = false;
    };
    struct Upload {
        Publishing message;
        std::size_t sent = 0;
    };
    struct Receiving {
        std::uint64_t body = 0;
        std::size_t size = 0;
        std::string content;
    };

    explicit Peer(BrokerWorld& in, int connectionNumber)
        : world(in), connection(connectionNumber) {}

    BrokerWorld& world;
    int connection;
    std::unique_ptr<engine::Channel> channel;
    bool confirms = false, tx = false, full = false;
    std::uint16_t sharedLimit = 0;
    std::map<std::string, ModelConsumer> consumers;
    std::map<std::string, LogIndex> cancels; // to be told: consumer tag -> record
    std::map<std::uint64_t, Out> unacked;
    std::uint64_t lastTag = 0;
    std::vector<LogIndex> confirmRecords; // by number, from 1
    std::uint64_t lastConfirmed = 0;
    std::optional<Getting> getting;
    std::optional<Upload> upload;
    std::optional<Receiving> receiving;
    std::vector<TxPublish> txPublishes;
    std::vector<TxSettle> txSettles;
    std::vector<std::uint64_t> returns;        // due within this commit
    std::map<std::uint64_t, LogIndex> awaited; // ticket -> record
    std::uint64_t lastTicket = 0;

    std::uint64_t outstanding(const std::string& consumer) const;
    std::uint64_t outstandingOfAll() const; // without gets
    bool hasRoom(const std::string& consumer) const;

    engine::Appetite deliver(const engine::Delivery& delivery) override;
    engine::Appetite piece(base::Bytes bytes, bool last) override;
    void confirmed(std::uint64_t from, std::uint64_t to, bool accepted) override;
    void returned(const engine::Returned& returned) override;
    void cancelled(std::string_view consumerTag) override;
    void resumed(std::uint64_t ticket, const base::Refusal* refused) override;

  private:
    void checkContent(const engine::Delivery& delivery, std::uint64_t body,
                      const std::string& what);
    engine::Appetite appetite();
};

} // namespace millrace::model
