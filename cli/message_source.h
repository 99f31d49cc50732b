// SPDX-License-Identifier: Apache-2.0
// The messages that `publish` sends: bodies and properties out of flags, arguments, a file or
// standard input.
#pragma once

#include "base/result.h"
#include "cli/requests.h"

#include <fstream>
#include <optional>
#include <string>

namespace millrace::cli {

// The encoded properties; a name that is none is refused with the nearest one.
base::Result<std::string> encodeProperties(const PublishRequest& request);

// Bodies one after the other, in memory one at a time.
class MessageSource final {
  public:
    explicit MessageSource(const PublishRequest& request) : request_(request) {}
    base::Status open();
    // None: that was the last one.
    std::optional<std::string> next();

  private:
    std::istream& input();

    const PublishRequest& request_;
    std::ifstream file_;
    std::size_t nextBody_ = 0;
    bool wholeRead_ = false;
};

} // namespace millrace::cli
