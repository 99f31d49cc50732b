// SPDX-License-Identifier: Apache-2.0
// Numbers, sizes, shares, levels and listeners out of configuration text. Any thread.
#include "server/config_values.h"

#include <array>
#include <charconv>
#include <limits>

namespace millrace::server {

namespace {

base::Error wrong(std::string_view text, std::string_view needed) {
    return {base::ErrorCode::invalid, "'" + std::string(text) + "' is not " + std::string(needed)};
}

struct Unit {
    std::string_view name;
    std::uint64_t bytes;
};

constexpr std::uint64_t power(std::uint64_t of, int exponent) {
    return exponent == 0 ? 1 : of * power(of, exponent - 1);
}

constexpr std::array<Unit, 21> kUnits{{
    {"", 1},
    {"k", power(1024, 1)},
    {"ki", power(1024, 1)},
    {"kib", power(1024, 1)},
    {"kb", power(1000, 1)},
    {"m", power(1024, 2)},
    {"mi", power(1024, 2)},
    {"mib", power(1024, 2)},
    {"mb", power(1000, 2)},
    {"g", power(1024, 3)},
    {"gi", power(1024, 3)},
    {"gib", power(1024, 3)},
    {"gb", power(1000, 3)},
    {"t", power(1024, 4)},
    {"ti", power(1024, 4)},
    {"tib", power(1024, 4)},
    {"tb", power(1000, 4)},
    {"p", power(1024, 5)},
    {"pi", power(1024, 5)},
    {"pib", power(1024, 5)},
    {"pb", power(1000, 5)},
}};

std::string lower(std::string_view text) {
    std::string result(text);
    for (char& c : result) {
        c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    }
    return result;
}

base::Status addListener(std::vector<ListenAddress>& to, std::string_view host, std::uint16_t port,
                         bool required) {
    auto address = net::Address::parse(host, port);
    if (!address) {
        return address.error();
    }
    to.push_back({*address, required});
    return {};
}

base::Result<std::vector<ListenAddress>> listenersOf(std::string_view host, std::uint16_t port) {
    std::vector<ListenAddress> found;
    if (host.empty() || host == "*") {
        // IPv6 first, as a dual listener; a machine without it is served by IPv4 alone.
        if (addListener(found, "::", port, false) && addListener(found, "0.0.0.0", port, true)) {
            return found;
        }
    }
    if (host == "localhost") {
        return loopbackListeners(port);
    }
    if (auto added = addListener(found, host, port, true); !added) {
        return added.error();
    }
    return found;
}

} // namespace

base::Result<std::uint64_t> parseNumber(std::string_view text, std::uint64_t least,
                                        std::uint64_t most) {
    std::uint64_t value = 0;
    const char* end = text.data() + text.size();
    const auto [stopped, error] = std::from_chars(text.data(), end, value);
    if (error != std::errc{} || stopped != end || value < least || value > most) {
        return wrong(text, "a whole number from " + std::to_string(least) + " to " +
                               std::to_string(most));
    }
    return value;
}

base::Result<std::uint64_t> parseSize(std::string_view text) {
    constexpr std::string_view kNeeded = "a size, e.g. 1000000, 64MiB or 2GB";
    std::uint64_t value = 0;
    const char* end = text.data() + text.size();
    const auto [stopped, error] = std::from_chars(text.data(), end, value);
    if (error != std::errc{}) {
        return wrong(text, kNeeded);
    }
    std::string_view name(stopped, static_cast<std::size_t>(end - stopped));
    while (!name.empty() && name.front() == ' ') {
        name.remove_prefix(1);
    }
    const std::string unitName = lower(name);
    for (const Unit& unit : kUnits) {
        if (unit.name == unitName) {
            const bool fits = value <= std::numeric_limits<std::uint64_t>::max() / unit.bytes;
            return fits ? base::Result<std::uint64_t>(value * unit.bytes) : wrong(text, kNeeded);
        }
    }
    return wrong(text, kNeeded);
}

base::Result<double> parseShare(std::string_view text) {
    double value = 0;
    const char* end = text.data() + text.size();
    const auto [stopped, error] = std::from_chars(text.data(), end, value);
    if (error != std::errc{} || stopped != end || !(value > 0) || value > 100) {
        return wrong(text, "a share of memory, e.g. 0.6");
    }
    return value;
}

base::Result<bool> parseBoolean(std::string_view text) {
    if (text == "true" || text == "on" || text == "yes") {
        return true;
    }
    if (text == "false" || text == "off" || text == "no") {
        return false;
    }
    return wrong(text, "true or false");
}

base::Result<base::Severity> parseLogLevel(std::string_view text) {
    if (text == "debug") {
        return base::Severity::debug;
    }
    if (text == "info") {
        return base::Severity::info;
    }
    if (text == "warning") {
        return base::Severity::warning;
    }
    if (text == "error" || text == "critical") {
        return base::Severity::error;
    }
    if (text == "none") {
        return base::Severity::none;
    }
    return wrong(text, "a level: debug, info, warning, error, critical or none");
}

base::Result<std::vector<ListenAddress>> parseListener(std::string_view text) {
    const std::size_t colon = text.rfind(':');
    std::string_view host = colon == std::string_view::npos ? "" : text.substr(0, colon);
    const std::string_view port = colon == std::string_view::npos ? text : text.substr(colon + 1);
    auto number = parseNumber(port, 0, 65535);
    if (!number) {
        return wrong(text, "a listener; write PORT or ADDRESS:PORT, e.g. 127.0.0.1:5672 or "
                           "[::1]:5672");
    }
    if (host.size() >= 2 && host.front() == '[' && host.back() == ']') {
        host = host.substr(1, host.size() - 2);
    }
    return listenersOf(host, static_cast<std::uint16_t>(*number));
}

std::vector<ListenAddress> loopbackListeners(std::uint16_t port) {
    std::vector<ListenAddress> listeners;
    (void)addListener(listeners, "127.0.0.1", port, true).ok();
    (void)addListener(listeners, "::1", port, false).ok();
    return listeners;
}

} // namespace millrace::server
