// SPDX-License-Identifier: Apache-2.0
// From command line and environment to a running server and back.
#include "server/serve.h"

#include "base/diagnostics.h"
#include "base/file.h"
#include "server/config.h"
#include "server/notify.h"
#include "server/server.h"
#include "server/signals.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <unistd.h>

namespace millrace::server {

namespace {

void fail(const base::Error& error) {
    std::fprintf(stderr, "millrace: %s\n", error.text.c_str());
}

base::Result<Configured> configure(const ServeArguments& arguments, Config& config) {
    config.addEnvironment(environ);
    for (const auto& [key, value] : arguments.settings) {
        config.add({key, value, "--set"});
    }
    if (!arguments.dataDirectory.empty()) {
        config.add({"millrace.data_dir", arguments.dataDirectory, "--data"});
    }
    if (!arguments.listeners.empty()) {
        config.replaceListeners(arguments.listeners);
    }
    return config.resolve();
}

} // namespace

ServeEnd serve(const ServeArguments& arguments) {
    Config config;
    if (!arguments.configFile.empty()) {
        if (auto added = config.addFile(arguments.configFile); !added) {
            fail(added.error());
            return added.error().code == base::ErrorCode::notFound ? ServeEnd::noConfiguration
                                                                   : ServeEnd::badConfiguration;
        }
    }
    auto configured = configure(arguments, config);
    if (!configured) {
        fail(configured.error());
        return ServeEnd::badConfiguration;
    }
    base::setDiagnosticsLevel(configured->options.logLevel);
    for (const std::string& warning : configured->warnings) {
        base::diagnose(base::Severity::warning, warning);
    }
    for (const std::string& note : configured->notes) {
        base::diagnose(base::Severity::info, note);
    }
    blockStopSignals();
    static const base::SystemClock clock;
    auto server = Server::start(std::move(configured->options), base::systemFiles(), clock);
    if (!server) {
        fail(server.error());
        return server.error().text.ends_with(std::strerror(EACCES)) ? ServeEnd::notPermitted
                                                                    : ServeEnd::notStarted;
    }
    if (auto watching = (*server)->stopOnSignals(); !watching) {
        fail(watching.error());
        return ServeEnd::notStarted;
    }
    std::printf("%s\n", (*server)->readyLine().c_str());
    std::fflush(stdout);
    notifyServiceManager("READY=1");
    (*server)->run();
    return ServeEnd::stopped;
}

} // namespace millrace::server
