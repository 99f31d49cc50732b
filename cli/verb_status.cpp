// SPDX-License-Identifier: Apache-2.0
// `millrace status`: who holds the data directory, and whether each of its listeners greets.
#include "cli/amqp_probe.h"
#include "cli/delivery_print.h"
#include "cli/verbs.h"

#include <cstdio>

namespace millrace::cli {

namespace {

constexpr std::chrono::milliseconds kProbeTime{3000};

struct Probed {
    std::string listener;
    base::Status answer;
};

void printJson(const RunningServer& server, const std::vector<Probed>& probes) {
    std::string line = "{\"pid\":" + std::to_string(server.pid) +
                       ",\"version\":" + jsonText(server.version) + ",\"listeners\":[";
    for (std::size_t i = 0; i < probes.size(); ++i) {
        line += std::string(i == 0 ? "" : ",") + "{\"uri\":" + jsonText(probes[i].listener) +
                ",\"amqp\":" + (probes[i].answer ? "true" : "false") + "}";
    }
    std::printf("%s]}\n", line.c_str());
}

void printText(const RunningServer& server, const std::string& directory,
               const std::vector<Probed>& probes) {
    std::printf("Millrace %s is running, process %lld, data in %s\n", server.version.c_str(),
                static_cast<long long>(server.pid), directory.c_str());
    for (const Probed& probe : probes) {
        std::printf("  %-32s %s\n", probe.listener.c_str(),
                    probe.answer ? "AMQP 0-9-1 answers"
                                 : ("no AMQP: " + probe.answer.error().text).c_str());
    }
}

} // namespace

ExitCode showStatus(const StatusRequest& request, const Program& program) {
    auto server = program.running(request.dataDirectory);
    if (!server) {
        complain(server.error().text + "; start one with: millrace serve --data " +
                 request.dataDirectory);
        return server.error().code == base::ErrorCode::io ? ExitCode::refused
                                                          : ExitCode::unreachable;
    }
    std::vector<Probed> probes;
    for (const std::string& listener : server->listeners) {
        probes.push_back({listener, probeAmqp(listener, kProbeTime)});
    }
    request.json ? printJson(*server, probes) : printText(*server, request.dataDirectory, probes);
    if (probes.empty()) {
        complain("it does not listen yet, or is stopping");
        return ExitCode::tryAgain;
    }
    for (const Probed& probe : probes) {
        if (!probe.answer) {
            return ExitCode::unreachable;
        }
    }
    return ExitCode::ok;
}

} // namespace millrace::cli
