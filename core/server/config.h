// SPDX-License-Identifier: Apache-2.0
// The configuration: files in rabbitmq.conf's form (key = value, # comments), environment and
// flags, made into Options.
//
// Strict: an unknown key is refused with its line and the nearest known name. Forgiving: a key of
// RabbitMQ that does nothing here is a warning with the reason. Precedence: flag, environment,
// file, default.
#pragma once

#include "base/result.h"
#include "server/options.h"

#include <string>
#include <string_view>
#include <vector>

namespace millrace::server {

struct Setting {
    std::string key;
    std::string value;
    std::string
        origin; // as shown to people: "rabbitmq.conf:12", "MILLRACE_HEARTBEAT", "--set heartbeat"
};

struct Configured {
    Options options;
    std::vector<std::string> warnings; // without effect here, or easily misunderstood
    std::vector<std::string> notes;    // accepted, effective later
};

class Config final {
  public:
    // Later calls outrank earlier ones: file, then environment, then flags.
    base::Status addFile(const std::string& path);
    base::Status addText(std::string_view text, const std::string& name);
    // MILLRACE_LISTENERS__TCP__DEFAULT and the like; RABBITMQ_DEFAULT_USER, _PASS and _VHOST below
    // them.
    void addEnvironment(const char* const* variables);
    void add(Setting setting);
    // --listen: takes the place of every listeners.tcp key.
    void replaceListeners(std::vector<std::string> addresses);

    base::Result<Configured> resolve() const;

  private:
    std::vector<Setting> settings_;
    std::vector<std::string> listeners_;
    std::vector<std::string> warnings_;
};

// One line: {key, value}, both empty for a blank line or a comment.
struct ConfigLine {
    std::string key, value;
};
base::Result<ConfigLine> parseConfigLine(std::string_view line);

// Where data goes unless it is said: /var/lib/millrace for root, else below the home directory.
std::string defaultDataDirectory();

} // namespace millrace::server
