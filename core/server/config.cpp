// SPDX-License-Identifier: Apache-2.0
// Reading configuration lines, environment and flags, and resolving them by precedence. Any thread.
#include "server/config.h"

#include "base/nearest_name.h"
#include "server/config_keys.h"
#include "server/config_values.h"

#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>
#include <unistd.h>

namespace millrace::server {

namespace {

constexpr std::string_view kBlank = " \t\r";
constexpr std::uint16_t kAmqpPort = 5672;

std::string_view trimmed(std::string_view text) {
    const std::size_t first = text.find_first_not_of(kBlank);
    if (first == std::string_view::npos) {
        return {};
    }
    return text.substr(first, text.find_last_not_of(kBlank) - first + 1);
}

base::Error invalid(std::string text) {
    return {base::ErrorCode::invalid, std::move(text)};
}

// text begins with a quote. In double quotes \" and \\ stand for themselves; in single quotes
// everything does.
base::Result<std::string> quotedValue(std::string_view text) {
    const char quote = text.front();
    std::string value;
    std::size_t at = 1;
    for (; at < text.size() && text[at] != quote; ++at) {
        if (quote == '"' && text[at] == '\\' && at + 1 < text.size()) {
            ++at;
        }
        value += text[at];
    }
    if (at >= text.size()) {
        return invalid("the closing quote is missing");
    }
    const std::string_view behind = trimmed(text.substr(at + 1));
    if (!behind.empty() && behind.front() != '#') {
        return invalid("there is text behind the closing quote");
    }
    return value;
}

base::Result<std::string> plainValue(std::string_view text) {
    const std::size_t hash = text.find('#');
    if (hash == std::string_view::npos) {
        return std::string(text);
    }
    if (hash > 0 && kBlank.find(text[hash - 1]) == std::string_view::npos) {
        return invalid("a value with # in it needs quotes: '...'");
    }
    return std::string(trimmed(text.substr(0, hash)));
}

std::string keyOfVariable(std::string_view name) {
    std::string key;
    for (std::size_t i = 0; i < name.size(); ++i) {
        if (name.substr(i).starts_with("__")) {
            key += '.';
            ++i;
        } else {
            key +=
                name[i] >= 'A' && name[i] <= 'Z' ? static_cast<char>(name[i] - 'A' + 'a') : name[i];
        }
    }
    return key;
}

bool isKnown(std::string_view key) {
    std::string_view rest;
    return findEffectiveKey(key, rest) != nullptr || findIdleKey(key) != nullptr;
}

base::Error unknownKey(const Setting& setting) {
    std::string text = setting.origin + ": unknown key '" + setting.key + "'";
    if (const std::string nearest = base::nearestName(setting.key, knownKeys()); !nearest.empty()) {
        text += "; did you mean '" + nearest + "'?";
    }
    return invalid(std::move(text));
}

} // namespace

base::Result<ConfigLine> parseConfigLine(std::string_view line) {
    const std::string_view text = trimmed(line);
    if (text.empty() || text.front() == '#') {
        return ConfigLine{};
    }
    const std::size_t equals = text.find('=');
    if (equals == std::string_view::npos) {
        return invalid("'" + std::string(text) + "' is not of the form key = value");
    }
    const std::string_view key = trimmed(text.substr(0, equals));
    const std::string_view raw = trimmed(text.substr(equals + 1));
    if (key.empty() || key.find_first_of(" \t'\"") != std::string_view::npos) {
        return invalid("'" + std::string(key) + "' is not a key");
    }
    const bool quoted = !raw.empty() && (raw.front() == '\'' || raw.front() == '"');
    auto value = quoted ? quotedValue(raw) : plainValue(raw);
    if (!value) {
        return value.error();
    }
    return ConfigLine{std::string(key), std::move(*value)};
}

base::Status Config::addFile(const std::string& path) {
    std::ifstream file(path);
    if (!file) {
        return base::Error{base::ErrorCode::notFound, "cannot read the configuration " + path};
    }
    std::stringstream content;
    content << file.rdbuf();
    return addText(content.str(), path);
}

base::Status Config::addText(std::string_view text, const std::string& name) {
    std::size_t number = 0;
    while (!text.empty()) {
        const std::size_t end = std::min(text.find('\n'), text.size());
        const std::string origin = name + ":" + std::to_string(++number);
        auto line = parseConfigLine(text.substr(0, end));
        if (!line) {
            return invalid(origin + ": " + line.error().text);
        }
        if (!line->key.empty()) {
            add({std::move(line->key), std::move(line->value), origin});
        }
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return {};
}

void Config::addEnvironment(const char* const* variables) {
    std::vector<Setting> own;
    for (; variables != nullptr && *variables != nullptr; ++variables) {
        const std::string_view variable = *variables;
        const std::size_t equals = variable.find('=');
        if (equals == std::string_view::npos) {
            continue;
        }
        const std::string name(variable.substr(0, equals));
        const std::string value(variable.substr(equals + 1));
        if (name == "RABBITMQ_DEFAULT_USER" || name == "RABBITMQ_DEFAULT_PASS" ||
            name == "RABBITMQ_DEFAULT_VHOST") {
            add({keyOfVariable(name.substr(9)), value, name});
        }
        if (!name.starts_with("MILLRACE_")) {
            continue;
        }
        std::string key = keyOfVariable(name.substr(9));
        if (!isKnown(key) && isKnown("millrace." + key)) {
            key = "millrace." + key;
        }
        // Other programs of this product have variables of their own, so an unknown one is no
        // error.
        if (isKnown(key)) {
            own.push_back({key, value, name});
        } else if (name.find("__") != std::string::npos) {
            warnings_.push_back("the environment variable " + name + " names no known key");
        }
    }
    for (Setting& setting : own) {
        add(std::move(setting));
    }
}

void Config::add(Setting setting) {
    settings_.push_back(std::move(setting));
}

void Config::replaceListeners(std::vector<std::string> addresses) {
    listeners_ = std::move(addresses);
}

base::Result<Configured> Config::resolve() const {
    Configured result;
    result.warnings = warnings_;
    // The last setting of a key holds; keys that are families (listeners.tcp.a, .b) stand side by
    // side.
    std::map<std::string, const Setting*> effective;
    for (const Setting& setting : settings_) {
        if (!isKnown(setting.key)) {
            return unknownKey(setting);
        }
        effective[setting.key] = &setting;
    }
    const bool tcpKey = effective.contains("listeners.tcp");
    bool listenersGiven = tcpKey || !listeners_.empty();
    for (const auto& [key, setting] : effective) {
        std::string_view rest;
        const EffectiveKey* known = findEffectiveKey(key, rest);
        if (known == nullptr) {
            result.warnings.push_back(setting->origin + ": '" + key +
                                      "' has no effect: " + std::string(findIdleKey(key)->reason));
            continue;
        }
        const bool isListener = key.starts_with("listeners.tcp.");
        if (isListener && !listeners_.empty()) {
            continue;
        }
        listenersGiven = listenersGiven || isListener;
        if (auto applied = known->apply(result, rest, setting->value); !applied) {
            return invalid(setting->origin + ": " + key + ": " + applied.error().text);
        }
    }
    for (const std::string& text : listeners_) {
        auto parsed = parseListener(text);
        if (!parsed) {
            return invalid("--listen: " + parsed.error().text);
        }
        result.options.listeners.insert(result.options.listeners.end(), parsed->begin(),
                                        parsed->end());
    }
    if (!listenersGiven) {
        result.options.listeners = loopbackListeners(kAmqpPort);
    }
    if (result.options.dataDirectory.empty()) {
        result.options.dataDirectory = defaultDataDirectory();
    }
    return result;
}

std::string defaultDataDirectory() {
    if (::geteuid() == 0) {
        return "/var/lib/millrace";
    }
    if (const char* data = std::getenv("XDG_DATA_HOME"); data != nullptr && *data != '\0') {
        return std::string(data) + "/millrace";
    }
    const char* home = std::getenv("HOME");
    return (home != nullptr && *home != '\0' ? std::string(home) : std::string(".")) +
           "/.local/share/millrace";
}

} // namespace millrace::server
