// SPDX-License-Identifier: Apache-2.0
// The command tree. The only unit that names CLI11; errors become sysexits codes here, with the
// nearest name where one was mistyped.
#include "cli/command_line.h"

#include "base/nearest_name.h"
#include "cli/exit_code.h"
#include "cli/verbs.h"

#include <CLI/CLI.hpp>

#include <cstdlib>
#include <iostream>

namespace millrace::cli {

namespace {

constexpr const char* kMainFooter = R"(
Examples:
  millrace serve                                   start a broker on 127.0.0.1:5672 and [::1]:5672
  millrace publish -q greetings "hello"            publish one message, wait until it is on disk
  millrace consume greetings                       print what is there, acknowledge it
  millrace status                                  is it running, and where?

Any AMQP 0-9-1 client works: amqp://guest:guest@127.0.0.1:5672/
Exit codes: 0 ok, 1 not so, 64 usage, 66 no such file, 67 login refused, 69 no broker there,
            70 internal, 73 cannot create, 74 I/O, 75 try again, 77 not permitted,
            78 configuration, 130 interrupted)";

constexpr const char* kServeFooter = R"(
Examples:
  millrace serve                                   data below your home (root: /var/lib/millrace)
  millrace serve -c /etc/millrace/millrace.conf    a file in the form of rabbitmq.conf
  millrace serve --data ./data --listen 127.0.0.1:5673
  millrace serve --set heartbeat=30 --set vm_memory_high_watermark.absolute=512MiB
  MILLRACE_LISTENERS__TCP__DEFAULT=0.0.0.0:5672 millrace serve

A flag outranks the environment, the environment the file. The user guest (password guest) may log
in from this machine only; set default_user and default_pass before the first start for others.
SIGTERM or Ctrl+C stops it in order: clients are told, everything is on disk when it ends.)";

constexpr const char* kStatusFooter = R"(
Examples:
  millrace status                                  of the default data directory
  millrace status --data ./data --json
Exit code 0: running and answering; 69: not running, or a listener does not answer.)";

CLI::App* addServe(CLI::App& app, ServeRequest& request, std::vector<std::string>& settings) {
    CLI::App* serve = app.add_subcommand("serve", "Run the broker in the foreground");
    serve
        ->add_option("-c,--config", request.configFile,
                     "Configuration in the form of rabbitmq.conf")
        ->type_name("FILE");
    serve->add_option("--data", request.dataDirectory, "Directory for everything that is kept")
        ->type_name("DIR");
    serve->add_option("--listen", request.listeners, "Where AMQP clients connect; may be repeated")
        ->type_name("ADDR:PORT")
        ->allow_extra_args(false);
    serve->add_option("--set", settings, "A configuration key; may be repeated")
        ->type_name("KEY=VALUE")
        ->allow_extra_args(false);
    serve->footer(kServeFooter);
    return serve;
}

CLI::App* addStatus(CLI::App& app, StatusRequest& request) {
    CLI::App* status = app.add_subcommand("status", "Show whether a server runs and answers");
    status->add_option("--data", request.dataDirectory, "The server's data directory")
        ->type_name("DIR");
    status->add_flag("--json", request.json, "One line of JSON");
    status->footer(kStatusFooter);
    return status;
}

// Splits KEY=VALUE; false if there is no key.
bool split(const std::vector<std::string>& texts, NamedValues& into, std::string& wrong) {
    for (const std::string& text : texts) {
        const std::size_t equals = text.find('=');
        if (equals == std::string::npos || equals == 0) {
            wrong = text;
            return false;
        }
        into.emplace_back(text.substr(0, equals), text.substr(equals + 1));
    }
    return true;
}

std::vector<std::string> optionNames(const CLI::App& app) {
    std::vector<std::string> names;
    for (const CLI::Option* option : app.get_options()) {
        for (const std::string& name : option->get_lnames()) {
            names.push_back("--" + name);
        }
    }
    return names;
}

const CLI::App* chosenVerb(const CLI::App& app) {
    const auto chosen = app.get_subcommands();
    return chosen.empty() ? nullptr : chosen.front();
}

// What somebody typed may be a verb or a flag of the verb.
std::string suggestion(const CLI::App& app, int argc, const char* const* argv) {
    const CLI::App* verb = chosenVerb(app);
    std::vector<std::string> names = optionNames(verb != nullptr ? *verb : app);
    if (verb == nullptr) {
        for (const CLI::App* known : app.get_subcommands([](const CLI::App*) { return true; })) {
            names.push_back(known->get_name());
        }
    }
    for (int i = 1; i < argc; ++i) {
        const std::string typed = std::string(argv[i]).substr(0, std::string(argv[i]).find('='));
        const bool known = std::find(names.begin(), names.end(), typed) != names.end();
        if (known || (verb != nullptr && (typed == verb->get_name() || !typed.starts_with("--")))) {
            continue;
        }
        const std::string nearest = base::nearestName(typed, names);
        return nearest.empty() ? std::string() : "; did you mean '" + nearest + "'?";
    }
    return {};
}

int parseError(const CLI::App& app, const CLI::ParseError& error, int argc,
               const char* const* argv) {
    if (error.get_exit_code() == 0) { // help was asked for
        return app.exit(error);
    }
    const CLI::App* verb = chosenVerb(app);
    complain(std::string(error.what()) + suggestion(app, argc, argv));
    std::cerr << "Try: millrace " << (verb != nullptr ? verb->get_name() + " " : "") << "--help\n";
    return static_cast<int>(ExitCode::usage);
}

} // namespace

void complain(const std::string& text) {
    std::cerr << "millrace: " << text << '\n';
}

int run(int argc, const char* const* argv, const Program& program) {
    CLI::App app{"Millrace " + program.version +
                     ": a message broker for AMQP 0-9-1 clients. Start it with: millrace serve",
                 "millrace"};
    app.footer(kMainFooter);
    app.set_help_all_flag("--help-all", "The help of every verb");
    app.require_subcommand(0, 1);
    app.set_version_flag("--version", "millrace " + program.version);

    ServeRequest serve;
    std::vector<std::string> settings;
    StatusRequest status;
    status.dataDirectory = program.defaultDataDirectory;
    const CLI::App* serveVerb = addServe(app, serve, settings);
    const CLI::App* statusVerb = addStatus(app, status);
    const CLI::App* versionVerb = app.add_subcommand("version", "Print the version");
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
        return parseError(app, error, argc, argv);
    }
    if (serveVerb->parsed()) {
        if (std::string wrong; !split(settings, serve.settings, wrong)) {
            complain("--set " + wrong + ": KEY=VALUE is needed");
            return static_cast<int>(ExitCode::usage);
        }
        return program.serve(serve);
    }
    if (statusVerb->parsed()) {
        return static_cast<int>(showStatus(status, program));
    }
    if (versionVerb->parsed()) {
        std::cout << "millrace " << program.version << '\n';
        return 0;
    }
    std::cout << app.help();
    return 0;
}

} // namespace millrace::cli
