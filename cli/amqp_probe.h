// SPDX-License-Identifier: Apache-2.0
// Whether an AMQP 0-9-1 broker answers at an address: its greeting is asked for, nobody logs in.
#pragma once

#include "base/result.h"

#include <chrono>
#include <string>

namespace millrace::cli {

// `listener` as in the lock file: amqp://127.0.0.1:5672. Addresses of "any" are tried on loopback.
base::Status probeAmqp(const std::string& listener, std::chrono::milliseconds longest);

} // namespace millrace::cli
