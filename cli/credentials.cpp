// SPDX-License-Identifier: Apache-2.0
// Where user and password come from, and logging in with them.
#include "cli/credentials.h"

#include "cli/verbs.h"

#include <cstdlib>
#include <fstream>

namespace millrace::cli {

bool hasPassword(std::string_view uri) {
    const std::size_t begin = uri.find("://");
    if (begin == std::string_view::npos) {
        return false;
    }
    std::string_view authority = uri.substr(begin + 3);
    authority = authority.substr(0, authority.find('/'));
    const std::size_t at = authority.rfind('@');
    return at != std::string_view::npos &&
           authority.substr(0, at).find(':') != std::string_view::npos;
}

base::Result<client::Endpoint> endpointFor(const ServerRequest& request) {
    auto endpoint = client::parseUri(request.uri);
    if (!endpoint) {
        return endpoint;
    }
    if (request.uriIsArgument && hasPassword(request.uri)) {
        complain("warning: everybody on this machine can see the password of the URI; use "
                 "--password-file or MILLRACE_PASSWORD");
    }
    if (!request.user.empty()) {
        endpoint->user = request.user;
    }
    if (!request.vhost.empty()) {
        endpoint->vhost = request.vhost;
    }
    if (const char* password = std::getenv("MILLRACE_PASSWORD"); password != nullptr) {
        endpoint->password = password;
    }
    if (!request.passwordFile.empty()) {
        std::ifstream file(request.passwordFile);
        if (!file || !std::getline(file, endpoint->password)) {
            return base::Error{base::ErrorCode::notFound,
                               "cannot read a password from " + request.passwordFile};
        }
    }
    return endpoint;
}

std::unique_ptr<client::AmqpClient> connect(const ServerRequest& request, ExitCode& code) {
    auto endpoint = endpointFor(request);
    if (!endpoint) {
        complain(endpoint.error().text);
        code = endpoint.error().code == base::ErrorCode::notFound ? ExitCode::noInput
                                                                  : ExitCode::badData;
        return nullptr;
    }
    client::ClientOptions options;
    options.name = "millrace command line";
    auto client = client::AmqpClient::connect(*endpoint, options);
    if (!client) {
        complain(client.error().text);
        code = client.error().code == base::ErrorCode::denied ? ExitCode::badLogin
                                                              : ExitCode::unreachable;
        return nullptr;
    }
    return std::move(*client);
}

ExitCode codeOf(const base::Error& error) {
    switch (error.code) {
    case base::ErrorCode::denied:
        return ExitCode::refused;
    case base::ErrorCode::timeout:
        return ExitCode::tryAgain;
    case base::ErrorCode::notFound:
        return ExitCode::failed;
    case base::ErrorCode::invalid:
        return ExitCode::badData;
    case base::ErrorCode::stopped:
        return ExitCode::unreachable;
    default:
        return ExitCode::ioError;
    }
}

} // namespace millrace::cli
