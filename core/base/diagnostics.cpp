// SPDX-License-Identifier: Apache-2.0
// The only unit that names spdlog: one logger on standard error, safe to use from any thread.
#include "base/diagnostics.h"

#include <spdlog/logger.h>
#include <spdlog/sinks/stdout_sinks.h>

#include <memory>

namespace millrace::base {

namespace {

spdlog::level::level_enum levelOf(Severity severity) {
    switch (severity) {
    case Severity::debug:
        return spdlog::level::debug;
    case Severity::info:
        return spdlog::level::info;
    case Severity::warning:
        return spdlog::level::warn;
    case Severity::error:
        return spdlog::level::err;
    case Severity::none:
        break;
    }
    return spdlog::level::off;
}

spdlog::logger& logger() {
    // Never destroyed: threads and destructors of other statics may still have something to say at
    // exit.
    // NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables): it has state by nature
    static spdlog::logger* const instance = [] {
        auto sink = std::make_shared<spdlog::sinks::stderr_sink_mt>();
        auto* made = new spdlog::logger("millrace", std::move(sink));
        made->set_pattern("%Y-%m-%d %H:%M:%S.%e [%l] %v");
        made->set_level(spdlog::level::info);
        made->flush_on(spdlog::level::debug);
        return made;
    }();
    return *instance;
}

} // namespace

void setDiagnosticsLevel(Severity lowest) {
    logger().set_level(levelOf(lowest));
}

bool diagnosticsEnabled(Severity severity) {
    return severity != Severity::none && logger().should_log(levelOf(severity));
}

void diagnose(Severity severity, std::string_view text) {
    if (severity != Severity::none) {
        logger().log(levelOf(severity), spdlog::string_view_t(text.data(), text.size()));
    }
}

} // namespace millrace::base
