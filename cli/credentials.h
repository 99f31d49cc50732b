// SPDX-License-Identifier: Apache-2.0
// Which broker a client verb speaks to and as whom: URI, then flags, then environment and password
// file. A password is never a flag.
#pragma once

#include "cli/exit_code.h"
#include "cli/requests.h"
#include "client/amqp_client.h"

#include <memory>
#include <string_view>

namespace millrace::cli {

// Whether user:password stands before the @.
bool hasPassword(std::string_view uri);
// Warns on standard error about a password that others on this machine can see.
base::Result<client::Endpoint> endpointFor(const ServerRequest& request);
// Null: it was said why on standard error, and `code` is set.
std::unique_ptr<client::AmqpClient> connect(const ServerRequest& request, ExitCode& code);
// The exit code for what a client call returned.
ExitCode codeOf(const base::Error& error);

} // namespace millrace::cli
