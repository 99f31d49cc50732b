// SPDX-License-Identifier: Apache-2.0
// Cuts an AMQP URI at its marks first and decodes escapes after, so that an escaped mark is never
// taken for one.
#include "client/uri.h"

#include <charconv>
#include <optional>

namespace millrace::client {

namespace {

base::Error invalid(const std::string& why) {
    return {base::ErrorCode::invalid,
            "the AMQP URI " + why + "; write amqp://user:password@host:5672/vhost"};
}

std::optional<std::string> decoded(std::string_view text) {
    std::string out;
    for (std::size_t at = 0; at < text.size(); ++at) {
        if (text[at] != '%') {
            out.push_back(text[at]);
            continue;
        }
        unsigned value = 0;
        const std::string_view digits = text.substr(at + 1, 2);
        const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), value, 16);
        if (digits.size() != 2 || read.ptr != digits.data() + 2) {
            return std::nullopt;
        }
        out.push_back(static_cast<char>(value));
        at += 2;
    }
    return out;
}

// Decodes into `to` unless `text` is empty.
bool decodeInto(std::string& to, std::string_view text) {
    if (text.empty()) {
        return true;
    }
    std::optional<std::string> plain = decoded(text);
    if (plain) {
        to = std::move(*plain);
    }
    return plain.has_value();
}

base::Status readLogin(std::string_view text, Endpoint& endpoint) {
    const std::size_t colon = text.find(':');
    if (!decodeInto(endpoint.user, text.substr(0, colon))) {
        return invalid("has a broken %XX escape in its user");
    }
    if (colon != std::string_view::npos) {
        endpoint.password.clear();
        if (!decodeInto(endpoint.password, text.substr(colon + 1))) {
            return invalid("has a broken %XX escape in its password");
        }
    }
    return {};
}

base::Status readHost(std::string_view text, Endpoint& endpoint) {
    std::string_view host = text;
    std::string_view port;
    if (text.starts_with('[')) {
        const std::size_t close = text.find(']');
        if (close == std::string_view::npos) {
            return invalid("has an IPv6 address without its closing bracket");
        }
        host = text.substr(1, close - 1);
        port = text.substr(close + 1);
    } else if (const std::size_t colon = text.find(':'); colon != std::string_view::npos) {
        host = text.substr(0, colon);
        port = text.substr(colon);
    }
    if (!decodeInto(endpoint.host, host)) {
        return invalid("has a broken %XX escape in its host");
    }
    if (port.empty() || port == ":") {
        return {};
    }
    const char* const end = port.data() + port.size();
    const auto read = std::from_chars(port.data() + 1, end, endpoint.port);
    if (port[0] != ':' || read.ec != std::errc{} || read.ptr != end || endpoint.port == 0) {
        return invalid("has a port that is not a number from 1 to 65535");
    }
    return {};
}

} // namespace

base::Result<Endpoint> parseUri(std::string_view uri) {
    constexpr std::string_view kScheme = "amqp://";
    if (uri.starts_with("amqps://")) {
        return base::Error{
            base::ErrorCode::unsupported,
            "amqps:// (TLS) is not supported by this client; use amqp:// on a trusted network"};
    }
    if (!uri.starts_with(kScheme)) {
        return invalid("does not begin with amqp://");
    }
    std::string_view rest = uri.substr(kScheme.size());
    rest = rest.substr(0, rest.find_first_of("?#"));
    const std::size_t slash = rest.find('/');
    std::string_view authority = rest.substr(0, slash);
    Endpoint endpoint;
    if (const std::size_t at = authority.rfind('@'); at != std::string_view::npos) {
        if (base::Status login = readLogin(authority.substr(0, at), endpoint); !login) {
            return login.error();
        }
        authority.remove_prefix(at + 1);
    }
    if (base::Status host = readHost(authority, endpoint); !host) {
        return host.error();
    }
    if (slash == std::string_view::npos) {
        return endpoint;
    }
    const std::string_view vhost = rest.substr(slash + 1);
    if (vhost.find('/') != std::string_view::npos) {
        return invalid("has a / in its vhost: write %2F");
    }
    if (!decodeInto(endpoint.vhost, vhost)) {
        return invalid("has a broken %XX escape in its vhost");
    }
    return endpoint;
}

} // namespace millrace::client
