// SPDX-License-Identifier: Apache-2.0
// The client verbs. Standard output is data, standard error is for people. Each returns when it is
// done or interrupted.
#pragma once

#include "cli/exit_code.h"
#include "cli/requests.h"

namespace millrace::cli {

ExitCode showStatus(const StatusRequest& request, const Program& program);
ExitCode publish(const PublishRequest& request);
ExitCode consume(const ConsumeRequest& request);

// "millrace: text" on standard error.
void complain(const std::string& text);

} // namespace millrace::cli
