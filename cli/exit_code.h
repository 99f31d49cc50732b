// SPDX-License-Identifier: Apache-2.0
// What the program's exit codes mean: those of sysexits.h, as RabbitMQ's command lines use them.
#pragma once

namespace millrace::cli {

enum class ExitCode : int {
    ok = 0,
    failed = 1,       // a check did not hold: no such message, no server
    partly = 3,       // some of it was done; details are on standard error
    usage = 64,       // the command line is wrong
    badData = 65,     // input or a name is malformed
    noInput = 66,     // an input file is missing
    badLogin = 67,    // unknown user or wrong password
    unreachable = 69, // no broker there
    internal = 70,    // a fault of this program
    cannotCreate = 73,
    ioError = 74,
    tryAgain = 75, // a timeout
    refused = 77,  // not permitted
    badConfiguration = 78,
    interrupted = 130,
};

} // namespace millrace::cli
