// SPDX-License-Identifier: Apache-2.0
// Which broker a client verb speaks to and as whom: URI, then flags, then password file and
// environment. A password is never a flag.
#pragma once

#include "base/result.h"
#include "cli/requests.h"

#include <cstdint>
#include <string>

namespace millrace::cli {

struct Broker {
    std::string host = "127.0.0.1";
    std::uint16_t port = 5672;
    std::string user = "guest";
    std::string password = "guest";
    std::string vhost = "/";
};

// amqp://user:password@host:port/vhost with percent escapes, as in RabbitMQ's URI specification.
// `passwordGiven` tells whether it has one.
base::Result<Broker> parseUri(const std::string& uri, bool& passwordGiven);
// Warns on standard error about a password that others on this machine can see.
base::Result<Broker> brokerFor(const ServerRequest& request);

} // namespace millrace::cli
