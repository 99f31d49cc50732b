// SPDX-License-Identifier: Apache-2.0
// The program: joins the command line with the server. The only place that knows both.
#include "cli/command_line.h"
#include "cli/exit_code.h"
#include "server/config.h"
#include "server/lock_file.h"
#include "server/serve.h"
#include "server/server.h"

namespace {

using millrace::cli::ExitCode;
using millrace::server::ServeEnd;

ExitCode exitCodeOf(ServeEnd end) {
    switch (end) {
    case ServeEnd::stopped:
        return ExitCode::ok;
    case ServeEnd::noConfiguration:
        return ExitCode::noInput;
    case ServeEnd::badConfiguration:
        return ExitCode::badConfiguration;
    case ServeEnd::notPermitted:
        return ExitCode::refused;
    case ServeEnd::notStarted:
        break;
    }
    return ExitCode::cannotCreate;
}

int serve(const millrace::cli::ServeRequest& request) {
    return static_cast<int>(exitCodeOf(millrace::server::serve(
        {request.configFile, request.dataDirectory, request.listeners, request.settings})));
}

millrace::base::Result<millrace::cli::RunningServer> running(const std::string& dataDirectory) {
    auto holder = millrace::server::LockFile::holder(dataDirectory);
    if (!holder) {
        return holder.error();
    }
    return millrace::cli::RunningServer{holder->pid, holder->version, holder->listeners};
}

} // namespace

int main(int argc, char** argv) {
    return millrace::cli::run(
        argc, argv,
        {millrace::server::version(), millrace::server::defaultDataDirectory(), serve, running});
}
