// SPDX-License-Identifier: Apache-2.0
// What the command line asks for, as values: one struct a verb. Whoever fills them knows CLI11,
// whoever reads them does not.
#pragma once

#include "base/result.h"

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace millrace::cli {

using NamedValues = std::vector<std::pair<std::string, std::string>>;

struct ServeRequest {
    std::string configFile; // empty: none
    std::string dataDirectory;
    std::vector<std::string> listeners;
    NamedValues settings;
};

// Which broker, and as whom.
struct ServerRequest {
    std::string uri;
    std::string user, vhost; // empty: the URI's
    std::string passwordFile;
    bool uriIsArgument = false; // then a password in it is visible to others on this machine
};

struct StatusRequest {
    std::string dataDirectory;
    bool json = false;
};

struct PublishRequest {
    ServerRequest server;
    std::string exchange, key;
    NamedValues headers, properties;
    std::vector<std::string> bodies; // as given; else out of `file`
    std::string file;                // "-": standard input
    bool lines = false;              // each line of the file is a message
    std::uint64_t count = 1;         // of copies of each message
    bool transient = false, mandatory = true;
    bool declareQueue = false; // `key` names a queue that is made if it does not exist
};

struct ConsumeRequest {
    ServerRequest server;
    std::string queue;
    std::uint64_t count = 0; // 0: until the queue is empty, or for ever with follow
    bool follow = false, requeue = false, json = false;
    std::uint32_t prefetch = 100;
};

// What the lock file of a data directory says about the server that holds it.
struct RunningServer {
    std::int64_t pid = 0;
    std::string version;
    std::vector<std::string> listeners;
};

// What the program at hand can do besides being a client.
struct Program {
    std::string version;
    std::string defaultDataDirectory;
    std::function<int(const ServeRequest&)> serve; // returns the exit code
    std::function<base::Result<RunningServer>(const std::string& dataDirectory)> running;
};

} // namespace millrace::cli
