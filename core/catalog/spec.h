// SPDX-License-Identifier: Apache-2.0
// What exists, as plain data: the words of the catalog. Arguments are AMQP field tables, raw, as
// the client sent them.
#pragma once

#include "base/ids.h"

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

namespace millrace::catalog {

enum class QueueType : std::uint8_t { classic, quorum, stream };

struct VhostSpec {
    std::string name;
};
struct UserSpec {
    std::string name;
    std::string passwordHash; // catalog/access.h
    std::vector<std::string> tags;
};
struct ExchangeSpec {
    std::string vhost, name, type; // direct, fanout, topic, headers
    bool durable = true, autoDelete = false, internal = false;
    std::string arguments;
};
struct QueueSpec {
    base::QueueId id = 0;
    std::string vhost, name;
    QueueType type = QueueType::classic;
    bool durable = true, exclusive = false, autoDelete = false;
    std::string arguments;
};
struct BindingSpec {
    std::string vhost, source, destination, routingKey;
    bool toExchange = false;
    std::string arguments;
};

using Object = std::variant<VhostSpec, UserSpec, ExchangeSpec, QueueSpec, BindingSpec>;

// One durable change of the catalog, as it stands in the log and goes to the store. Dropping names
// the object by its key fields (a queue by its id). Dropping a vhost, an exchange or a queue does
// not imply its bindings: each is a change of its own.
struct Change {
    bool put = true;
    Object object;
};

} // namespace millrace::catalog
