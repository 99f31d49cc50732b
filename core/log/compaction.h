// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/file.h"
namespace millrace::log {
class Compaction {
  public:
    bool step(base::FileSystem&) { return false; }
};
} // namespace millrace::log
