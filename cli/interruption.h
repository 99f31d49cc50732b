// SPDX-License-Identifier: Apache-2.0
// Ctrl+C for the client verbs: the first asks to finish what is begun, the second ends the process
// at once.
#pragma once

namespace millrace::cli {

// From now on SIGINT and SIGTERM only set the flag.
void watchForInterruption();
bool interrupted();

} // namespace millrace::cli
