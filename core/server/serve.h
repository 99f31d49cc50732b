// SPDX-License-Identifier: Apache-2.0
// A server as a foreground process: configuration, ready line, signals, service manager. Lives on:
// the main thread, before any other.
#pragma once

#include "base/result.h"

#include <string>
#include <utility>
#include <vector>

namespace millrace::server {

struct ServeArguments {
    std::string configFile; // empty: none
    std::string dataDirectory;
    std::vector<std::string> listeners;
    std::vector<std::pair<std::string, std::string>> settings;
};

// How it ended; errors are said on standard error.
enum class ServeEnd {
    stopped,          // in order, after a signal
    noConfiguration,  // the file cannot be read
    badConfiguration, // what it says is refused
    notStarted,       // data directory or listener taken, damaged data, I/O
    notPermitted,
};

ServeEnd serve(const ServeArguments& arguments);

} // namespace millrace::server
