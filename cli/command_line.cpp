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

constexpr const char* kPublishFooter = R"(
Examples:
  millrace publish --declare -q greetings "hello"      the queue is made if it does not exist
  millrace publish -q greetings one two three          three messages
  millrace publish -x logs -k app.error -H app=web "it broke"
  millrace publish -q lines --lines --file input.txt   each line is a message
  date | millrace publish -q greetings                 standard input is the message
  MILLRACE_PASSWORD=... millrace publish --uri amqp://me@10.0.0.1/ -q greetings "hello"

Every message is confirmed: what is reported as published is on the broker's disk. A message that no
queue takes is an error (--no-mandatory: it is not). Exit code 3: only a part was published.)";

constexpr const char* kConsumeFooter = R"(
Examples:
  millrace consume greetings                       what is there now, then stop
  millrace consume greetings -n 1                  one message
  millrace consume greetings --follow              go on until Ctrl+C
  millrace consume greetings --requeue --json      look, and give everything back
Bodies go to standard output, one a line; a message is acknowledged after it has been printed.)";

void addServer(CLI::App& verb, ServerRequest& server) {
    verb.add_option("--uri", server.uri, "Broker, default amqp://guest@127.0.0.1:5672/")
        ->envname("MILLRACE_URI")
        ->type_name("URI");
    verb.add_option("--user", server.user, "User name, instead of the URI's")->type_name("NAME");
    verb.add_option("--password-file", server.passwordFile,
                    "File whose first line is the password (or set MILLRACE_PASSWORD)")
        ->type_name("FILE");
    verb.add_option("--vhost", server.vhost, "Virtual host, instead of the URI's")
        ->type_name("NAME");
}

// Values of publish that must be taken apart after parsing.
struct PublishTexts {
    std::string queue;
    std::vector<std::string> headers, properties;
    bool notMandatory = false;
};

CLI::App* addPublish(CLI::App& app, PublishRequest& request, PublishTexts& texts) {
    CLI::App* publish =
        app.add_subcommand("publish", "Publish messages, and wait until they are on disk");
    CLI::Option* queue =
        publish->add_option("-q,--queue", texts.queue, "To this queue")->type_name("QUEUE");
    publish->add_option("-x,--exchange", request.exchange, "To this exchange")
        ->type_name("EXCHANGE")
        ->excludes(queue);
    publish->add_option("-k,--key", request.key, "Routing key")->type_name("KEY")->excludes(queue);
    publish
        ->add_flag("--declare", request.declareQueue,
                   "Make the queue (durable) if it does not exist")
        ->needs(queue);
    publish->add_option("-H,--header", texts.headers, "Header; may be repeated")
        ->type_name("NAME=VALUE")
        ->allow_extra_args(false);
    publish
        ->add_option("--prop", texts.properties,
                     "Property, e.g. content_type=text/plain; may be repeated")
        ->type_name("NAME=VALUE")
        ->allow_extra_args(false);
    publish->add_option("-n,--count", request.count, "Copies of each message")
        ->type_name("N")
        ->check(CLI::PositiveNumber);
    CLI::Option* file =
        publish
            ->add_option("--file", request.file, "Take the body from a file, - is standard input")
            ->type_name("FILE");
    publish->add_flag("--lines", request.lines, "Each line of the file is a message");
    publish->add_flag("--transient", request.transient, "Not kept over a restart of the broker");
    publish->add_flag("--no-mandatory", texts.notMandatory,
                      "Messages may vanish if no queue takes them");
    publish->add_option("body", request.bodies, "Messages; without any, standard input is one")
        ->excludes(file);
    addServer(*publish, request.server);
    publish->footer(kPublishFooter);
    return publish;
}

CLI::App* addConsume(CLI::App& app, ConsumeRequest& request) {
    CLI::App* consume =
        app.add_subcommand("consume", "Print the messages of a queue and acknowledge them");
    consume->add_option("queue", request.queue, "The queue")->required();
    consume->add_option("-n,--count", request.count, "At most so many")
        ->type_name("N")
        ->check(CLI::PositiveNumber);
    CLI::Option* requeue =
        consume->add_flag("--requeue", request.requeue, "Give the messages back");
    consume->add_flag("--follow", request.follow, "Wait for more")->excludes(requeue);
    consume->add_flag("--json", request.json, "One line of JSON a message, with its properties");
    consume->add_option("--prefetch", request.prefetch, "Unacknowledged messages at a time")
        ->type_name("N")
        ->check(CLI::Range(1, 65535));
    addServer(*consume, request.server);
    consume->footer(kConsumeFooter);
    return consume;
}

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

int usage(const std::string& text) {
    complain(text);
    return static_cast<int>(ExitCode::usage);
}

void completeServer(ServerRequest& server) {
    // A URI out of the environment is nobody else's to see.
    const char* variable = std::getenv("MILLRACE_URI");
    server.uriIsArgument = variable == nullptr || server.uri != variable;
    if (server.uri.empty()) {
        server.uri = "amqp://guest@127.0.0.1:5672/";
    }
}

int runPublish(PublishRequest& request, const PublishTexts& texts) {
    std::string wrong;
    if (!split(texts.headers, request.headers, wrong) ||
        !split(texts.properties, request.properties, wrong)) {
        return usage("'" + wrong + "': NAME=VALUE is needed");
    }
    if (texts.queue.empty() && request.exchange.empty()) {
        return usage(
            "where to? Give a queue (-q) or an exchange (-x); see millrace publish --help");
    }
    if (!texts.queue.empty()) {
        request.key = texts.queue;
    }
    if (request.bodies.empty() && request.file.empty()) {
        request.file = "-";
    }
    request.mandatory = !texts.notMandatory;
    completeServer(request.server);
    return static_cast<int>(publish(request));
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
    PublishRequest publishing;
    PublishTexts publishTexts;
    ConsumeRequest consuming;
    const CLI::App* publishVerb = addPublish(app, publishing, publishTexts);
    const CLI::App* consumeVerb = addConsume(app, consuming);
    const CLI::App* versionVerb = app.add_subcommand("version", "Print the version");
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
        return parseError(app, error, argc, argv);
    }
    if (serveVerb->parsed()) {
        if (std::string wrong; !split(settings, serve.settings, wrong)) {
            return usage("--set " + wrong + ": KEY=VALUE is needed");
        }
        return program.serve(serve);
    }
    if (statusVerb->parsed()) {
        return static_cast<int>(showStatus(status, program));
    }
    if (publishVerb->parsed()) {
        return runPublish(publishing, publishTexts);
    }
    if (consumeVerb->parsed()) {
        completeServer(consuming.server);
        return static_cast<int>(consume(consuming));
    }
    if (versionVerb->parsed()) {
        std::cout << "millrace " << program.version << '\n';
        return 0;
    }
    std::cout << app.help();
    return 0;
}

} // namespace millrace::cli
