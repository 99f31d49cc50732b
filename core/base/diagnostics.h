// SPDX-License-Identifier: Apache-2.0
// The server's own log lines (not the message log). Any thread. Written to standard error by spdlog, which only this unit names.
#pragma once

#include <string>
#include <string_view>

namespace millrace::base {

enum class Severity { debug, info, warning, error, none };

void setDiagnosticsLevel(Severity lowest);
bool diagnosticsEnabled(Severity severity);
void diagnose(Severity severity, std::string_view text);

} // namespace millrace::base
