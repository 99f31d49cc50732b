// SPDX-License-Identifier: Apache-2.0
// Where a broker is and as whom to log in, out of an AMQP URI.
#pragma once

#include "base/result.h"

#include <cstdint>
#include <string>
#include <string_view>

namespace millrace::client {

struct Endpoint {
    std::string host = "127.0.0.1";
    std::uint16_t port = 5672;
    std::string user = "guest";
    std::string password = "guest";
    std::string vhost = "/";
};

// amqp://[user[:password]@]host[:port][/vhost][?...], with %XX escapes in user, password, host and
// vhost; an IPv6 address stands in brackets. What is missing keeps the defaults above; a lone "/"
// at the end is the default vhost. The query is passed over. Error texts never repeat the URI: it
// may hold a password.
base::Result<Endpoint> parseUri(std::string_view uri);

} // namespace millrace::client
