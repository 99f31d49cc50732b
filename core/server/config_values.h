// SPDX-License-Identifier: Apache-2.0
// The values of configuration keys, from their text. What is refused says what would be right.
#pragma once

#include "base/result.h"
#include "server/options.h"

#include <cstdint>
#include <string_view>
#include <vector>

namespace millrace::server {

base::Result<std::uint64_t> parseNumber(std::string_view text, std::uint64_t least,
                                        std::uint64_t most);
// 1000, 64MiB, 2GB, 512k: k M G T P and KiB MiB ... count in 1024, KB MB ... in 1000, as RabbitMQ
// reads them.
base::Result<std::uint64_t> parseSize(std::string_view text);
base::Result<double> parseShare(std::string_view text);
base::Result<bool> parseBoolean(std::string_view text);
base::Result<base::Severity> parseLogLevel(std::string_view text);
// 5672, 127.0.0.1:5672, [::1]:5672, localhost:5672. A port alone means every address of the
// machine, as it does to RabbitMQ.
base::Result<std::vector<ListenAddress>> parseListener(std::string_view text);
// 127.0.0.1 and ::1, the latter not required.
std::vector<ListenAddress> loopbackListeners(std::uint16_t port);

} // namespace millrace::server
