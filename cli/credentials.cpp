// SPDX-License-Identifier: Apache-2.0
// AMQP URIs, and where a password comes from.
#include "cli/credentials.h"

#include "cli/verbs.h"

#include <charconv>
#include <cstdlib>
#include <fstream>

namespace millrace::cli {

namespace {

base::Error wrong(const std::string& uri, const std::string& why) {
    // The URI may hold a password, so it is not repeated.
    (void)uri;
    return {base::ErrorCode::invalid,
            "the URI is not valid, " + why + "; write amqp://user@host:5672/vhost"};
}

int digit(char c) {
    if (c >= '0' && c <= '9') {
        return c - '0';
    }
    const char lower = static_cast<char>(c | 0x20);
    return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

bool decode(std::string_view text, std::string& out) {
    out.clear();
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] != '%') {
            out += text[i];
            continue;
        }
        if (i + 2 >= text.size() || digit(text[i + 1]) < 0 || digit(text[i + 2]) < 0) {
            return false;
        }
        out += static_cast<char>(digit(text[i + 1]) * 16 + digit(text[i + 2]));
        i += 2;
    }
    return true;
}

bool readUser(std::string_view text, Broker& broker, bool& passwordGiven) {
    const std::size_t colon = text.find(':');
    passwordGiven = colon != std::string_view::npos;
    return decode(text.substr(0, colon), broker.user) &&
           (!passwordGiven || decode(text.substr(colon + 1), broker.password));
}

bool readHost(std::string_view text, Broker& broker) {
    const std::size_t close = text.find(']');
    const std::size_t colon = text.find(':', close == std::string_view::npos ? 0 : close);
    std::string_view host = text.substr(0, colon);
    if (host.starts_with('[')) {
        host = host.substr(1, close - 1);
    }
    if (!host.empty()) {
        broker.host = host;
    }
    if (colon == std::string_view::npos) {
        return true;
    }
    const std::string_view port = text.substr(colon + 1);
    const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), broker.port);
    return error == std::errc{} && end == port.data() + port.size();
}

} // namespace

base::Result<Broker> parseUri(const std::string& uri, bool& passwordGiven) {
    Broker broker;
    passwordGiven = false;
    std::string_view rest = uri;
    if (rest.starts_with("amqps://")) {
        return wrong(uri, "TLS (amqps) comes with a later version");
    }
    if (!rest.starts_with("amqp://")) {
        return wrong(uri, "it does not begin with amqp://");
    }
    rest.remove_prefix(7);
    const std::size_t slash = rest.find('/');
    std::string_view authority = rest.substr(0, slash);
    if (const std::size_t at = authority.rfind('@'); at != std::string_view::npos) {
        if (!readUser(authority.substr(0, at), broker, passwordGiven)) {
            return wrong(uri, "a percent escape is broken");
        }
        authority.remove_prefix(at + 1);
    }
    if (!readHost(authority, broker)) {
        return wrong(uri, "the port is not a number");
    }
    if (slash != std::string_view::npos && slash + 1 < rest.size()) {
        const std::string_view vhost = rest.substr(slash + 1);
        if (!decode(vhost.substr(0, vhost.find('?')), broker.vhost)) {
            return wrong(uri, "a percent escape is broken");
        }
    }
    return broker;
}

base::Result<Broker> brokerFor(const ServerRequest& request) {
    bool passwordInUri = false;
    auto broker = parseUri(request.uri, passwordInUri);
    if (!broker) {
        return broker;
    }
    if (passwordInUri && request.uriIsArgument) {
        complain("warning: everybody on this machine can see the password of the URI; use "
                 "--password-file or MILLRACE_PASSWORD");
    }
    if (!request.user.empty()) {
        broker->user = request.user;
    }
    if (!request.vhost.empty()) {
        broker->vhost = request.vhost;
    }
    if (const char* password = std::getenv("MILLRACE_PASSWORD"); password != nullptr) {
        broker->password = password;
    }
    if (!request.passwordFile.empty()) {
        std::ifstream file(request.passwordFile);
        if (!file || !std::getline(file, broker->password)) {
            return base::Error{base::ErrorCode::notFound,
                               "cannot read a password from " + request.passwordFile};
        }
    }
    return broker;
}

} // namespace millrace::cli
