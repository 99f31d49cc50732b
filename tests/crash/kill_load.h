// SPDX-License-Identifier: Apache-2.0
// The clients of the kill rounds: publishers with confirms and consumers with acks, one connection
// and one thread each, from one life of the broker to the next.
#pragma once

#include "client/amqp_channel.h"
#include "client/amqp_client.h"
#include "crash/kill_ledger.h"
#include "support/random.h"

#include <atomic>
#include <cstdint>
#include <string>

namespace millrace::crash_tests {

struct Life {
    client::Endpoint endpoint;
    std::atomic<bool> over{false}; // publishers and consumers end
    std::atomic<bool> alive{
        true};          // set to false before the kill: failures are expected from then on
    bool paced = false; // publishers leave the broker time to breathe
};

// Queues and an exchange, all durable. Empty, or what went wrong.
std::string declareTopology(const client::Endpoint& endpoint,
                            const std::vector<std::string>& queues);
inline constexpr const char* kFanout = "kill-both";

// Publishes until the life is over or the connection breaks. `exchange` "" means the queue `key`.
void publishLoop(Life& life, KillLedger& ledger, std::size_t publisher, const std::string& exchange,
                 const std::string& key, support::Random random);

// Consumes and acks until the life is over or the connection breaks; with `drain` until nothing has
// come for a while and the queue is empty.
void consumeLoop(Life& life, KillLedger& ledger, std::size_t queue, const std::string& name,
                 bool drain, support::Random random);

} // namespace millrace::crash_tests
