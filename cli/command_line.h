// SPDX-License-Identifier: Apache-2.0
// The verbs, flags and help of `millrace`. Returns the exit code of the process (exit_code.h).
#pragma once

#include "cli/requests.h"

namespace millrace::cli {

int run(int argc, const char* const* argv, const Program& program);

} // namespace millrace::cli
