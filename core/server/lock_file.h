// SPDX-License-Identifier: Apache-2.0
// The lock on a data directory: one server at a time, and for others to read who that is.
//
// Held by flock, so it ends with its process whatever way that ends; the file itself stays. Any
// thread.
#pragma once

#include "base/result.h"
#include "net/socket.h"

#include <cstdint>
#include <string>
#include <vector>

namespace millrace::server {

// What the file says about the server that holds it.
struct LockHolder {
    std::int64_t pid = 0;
    std::string version;
    std::vector<std::string> listeners; // amqp://127.0.0.1:5672; empty until it is ready
};

class LockFile final {
  public:
    // Makes the directory (0700) if it does not exist. ErrorCode::locked names the holder.
    static base::Result<LockFile> acquire(const std::string& dataDirectory, std::string version);
    // For `status`: who holds the directory now; ErrorCode::notFound if nobody does.
    static base::Result<LockHolder> holder(const std::string& dataDirectory);

    base::Status setListeners(std::vector<std::string> listeners);

  private:
    LockFile(net::Socket file, LockHolder content);
    base::Status write() const;

    net::Socket file_;
    LockHolder content_;
};

} // namespace millrace::server
