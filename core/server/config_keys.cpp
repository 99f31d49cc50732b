// SPDX-License-Identifier: Apache-2.0
// What each configuration key does, one row a key. Any thread.
#include "server/config_keys.h"

#include "base/limits.h"
#include "server/config_values.h"

#include <algorithm>
#include <utility>

namespace millrace::server {

namespace {

template <typename Value, typename Parsed>
base::Status assign(Value& to, base::Result<Parsed> parsed) {
    if (!parsed) {
        return parsed.error();
    }
    to = static_cast<Value>(*parsed);
    return {};
}

base::Status applyListener(Configured& to, std::string_view, std::string_view value) {
    auto listeners = parseListener(value);
    if (!listeners) {
        return listeners.error();
    }
    for (const ListenAddress& listener : *listeners) {
        to.options.listeners.push_back(listener);
    }
    return {};
}

base::Status applyNoListener(Configured&, std::string_view, std::string_view value) {
    if (value != "none") {
        return base::Error{
            base::ErrorCode::invalid,
            "only 'none' may stand here; name a listener, e.g. listeners.tcp.default"};
    }
    return {};
}

base::Status applySeconds(std::chrono::seconds& to, std::string_view value) {
    auto parsed = parseNumber(value, 0, 65535);
    if (!parsed) {
        return parsed.error();
    }
    to = std::chrono::seconds{*parsed};
    return {};
}

base::Status applyHandshakeTimeout(Configured& to, std::string_view, std::string_view value) {
    auto parsed = parseNumber(value, 1, 3'600'000);
    if (!parsed) {
        return parsed.error();
    }
    to.options.session.handshakeTimeout =
        std::chrono::ceil<std::chrono::seconds>(std::chrono::milliseconds{*parsed});
    return {};
}

base::Status applyLoopbackUser(Configured& to, std::string_view name, std::string_view value) {
    auto limited = parseBoolean(value);
    if (!limited) {
        return limited.error();
    }
    std::vector<std::string>& users = to.options.session.loopbackUsers;
    std::erase(users, name);
    if (*limited) {
        users.emplace_back(name);
    }
    return {};
}

base::Status applyLoopbackUsers(Configured& to, std::string_view, std::string_view value) {
    std::vector<std::string>& users = to.options.session.loopbackUsers;
    users.clear();
    while (value != "none" && !value.empty()) {
        const std::size_t comma = std::min(value.find(','), value.size());
        std::string_view name = value.substr(0, comma);
        name.remove_prefix(std::min(name.find_first_not_of(' '), name.size()));
        name = name.substr(0, name.find_last_not_of(' ') + 1);
        if (!name.empty()) {
            users.emplace_back(name);
        }
        value.remove_prefix(std::min(comma + 1, value.size()));
    }
    return {};
}

base::Status applyLogLevel(Configured& to, std::string_view, std::string_view value) {
    return assign(to.options.logLevel, parseLogLevel(value));
}

base::Status applyEventLoop(Configured& to, std::string_view, std::string_view value) {
    if (value != "epoll" && value != "poll") {
        return base::Error{base::ErrorCode::invalid,
                           "'" + std::string(value) + "' is neither epoll nor poll"};
    }
    to.options.backend = value == "poll" ? net::Backend::poll : net::Backend::epoll;
    return {};
}

template <Share Options::*share>
base::Status applyAbsolute(Configured& to, std::string_view, std::string_view value) {
    auto parsed = parseSize(value);
    if (!parsed) {
        return parsed.error();
    }
    to.options.*share = {*parsed, 0};
    return {};
}

template <Share Options::*share>
base::Status applyRelative(Configured& to, std::string_view, std::string_view value) {
    auto parsed = parseShare(value);
    if (!parsed) {
        return parsed.error();
    }
    to.options.*share = {std::nullopt, *parsed};
    return {};
}

template <std::string Options::*text>
base::Status applyText(Configured& to, std::string_view, std::string_view value) {
    to.options.*text = std::string(value);
    return value.empty() ? base::Status(base::Error{base::ErrorCode::invalid, "the value is empty"})
                         : base::Status{};
}

// For clients that ask for RabbitMQ by name before they use what it can do.
base::Status applyProduct(Configured& to, std::string_view, std::string_view value) {
    to.options.session.product = std::string(value);
    return value.empty() ? base::Status(base::Error{base::ErrorCode::invalid, "the value is empty"})
                         : base::Status{};
}

// Checked now, so that the file still starts when the listener is there.
base::Status noteListener(Configured& to, std::string_view value, std::string_view what) {
    auto listeners = parseListener(value);
    if (!listeners) {
        return listeners.error();
    }
    to.notes.push_back("the " + std::string(what) + " listener comes with a later version: " +
                       std::string(value) + " is accepted and not opened");
    return {};
}
base::Status noteStream(Configured& to, std::string_view, std::string_view value) {
    return noteListener(to, value, "stream protocol");
}
base::Status noteManagement(Configured& to, std::string_view, std::string_view value) {
    return noteListener(to, value, "management");
}
base::Status noteManagementIp(Configured& to, std::string_view, std::string_view value) {
    auto address = net::Address::parse(value, 0);
    if (!address) {
        return address.error();
    }
    to.notes.push_back("the management listener comes with a later version: " + std::string(value) +
                       " is accepted and not opened");
    return {};
}

constexpr EffectiveKey kEffectiveKeys[] = {
    {"listeners.tcp", applyNoListener},
    {"listeners.tcp.*", applyListener},
    {"default_user", applyText<&Options::defaultUser>},
    {"default_pass", applyText<&Options::defaultPassword>},
    {"default_vhost", applyText<&Options::defaultVhost>},
    {"loopback_users", applyLoopbackUsers},
    {"loopback_users.*", applyLoopbackUser},
    {"heartbeat",
     [](Configured& to, std::string_view, std::string_view value) {
         return applySeconds(to.options.session.heartbeat, value);
     }},
    {"channel_max",
     [](Configured& to, std::string_view, std::string_view value) {
         return assign(to.options.session.channelMax, parseNumber(value, 0, 65535));
     }},
    {"frame_max",
     [](Configured& to, std::string_view, std::string_view value) {
         return assign(to.options.session.frameMax,
                       parseNumber(value, limits::kFrameMaxBeforeTune, limits::kFrameMaxCap));
     }},
    {"max_message_size",
     [](Configured& to, std::string_view, std::string_view value) {
         return assign(to.options.session.maxMessageSize,
                       parseNumber(value, 0, limits::kMaxMessageSizeCap));
     }},
    {"handshake_timeout", applyHandshakeTimeout},
    {"log.console.level", applyLogLevel},
    {"vm_memory_high_watermark.absolute", applyAbsolute<&Options::memoryWatermark>},
    {"vm_memory_high_watermark.relative", applyRelative<&Options::memoryWatermark>},
    {"total_memory_available_override_value",
     [](Configured& to, std::string_view, std::string_view value) {
         return assign(to.options.totalMemory, parseSize(value));
     }},
    {"disk_free_limit.absolute", applyAbsolute<&Options::diskFreeLimit>},
    {"disk_free_limit.relative", applyRelative<&Options::diskFreeLimit>},
    {"millrace.data_dir", applyText<&Options::dataDirectory>},
    {"millrace.event_loop", applyEventLoop},
    {"millrace.advertised_product", applyProduct},
    {"stream.listeners.tcp.*", noteStream},
    {"management.tcp.ip", noteManagementIp},
    {"management.tcp.port", noteManagement},
};

} // namespace

bool keyMatches(std::string_view name, std::string_view key, std::string_view& rest) {
    if (!name.ends_with(".*")) {
        rest = {};
        return name == key;
    }
    const std::string_view prefix = name.substr(0, name.size() - 1);
    if (!key.starts_with(prefix) || key.size() == prefix.size()) {
        return false;
    }
    rest = key.substr(prefix.size());
    return true;
}

const EffectiveKey* findEffectiveKey(std::string_view key, std::string_view& rest) {
    for (const EffectiveKey& known : kEffectiveKeys) {
        if (keyMatches(known.name, key, rest)) {
            return &known;
        }
    }
    return nullptr;
}

std::vector<std::string_view> knownKeys() {
    std::vector<std::string_view> names;
    for (const EffectiveKey& key : kEffectiveKeys) {
        names.push_back(key.name);
    }
    for (const IdleKey& key : idleKeys()) {
        names.push_back(key.name);
    }
    return names;
}

} // namespace millrace::server
