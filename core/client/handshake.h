// SPDX-License-Identifier: Apache-2.0
// The start of a connection: header, login by PLAIN, tuning, vhost. Done once, then nothing of it
// is left but what was negotiated.
#pragma once

#include "base/result.h"
#include "client/uri.h"

namespace millrace::client {

class AmqpClient;

class Handshake final {
  public:
    explicit Handshake(AmqpClient& client) : client_(client) {}
    base::Status run(const Endpoint& endpoint);

  private:
    base::Status awaitStart();
    base::Status logIn(const Endpoint& endpoint);
    base::Status tune();

    AmqpClient& client_;
};

} // namespace millrace::client
