// SPDX-License-Identifier: Apache-2.0
// The flag that SIGINT sets.
#include "cli/interruption.h"

#include "cli/exit_code.h"

#include <csignal>
#include <unistd.h>

namespace millrace::cli {

namespace {

volatile std::sig_atomic_t asked = 0;

void onSignal(int) {
    if (asked != 0) {
        ::_exit(static_cast<int>(ExitCode::interrupted));
    }
    asked = 1;
}

} // namespace

void watchForInterruption() {
    std::signal(SIGINT, onSignal);
    std::signal(SIGTERM, onSignal);
    std::signal(SIGPIPE, SIG_IGN);
}

bool interrupted() {
    return asked != 0;
}

} // namespace millrace::cli
