// SPDX-License-Identifier: Apache-2.0
// The table of configuration keys: those that do something, those of RabbitMQ that do nothing here
// and why.
#pragma once

#include "server/config.h"

#include <span>
#include <string_view>
#include <vector>

namespace millrace::server {

// A key that works. `name` may end in ".*": any single word or words there, which `apply` gets as
// `rest`.
struct EffectiveKey {
    std::string_view name;
    base::Status (*apply)(Configured& to, std::string_view rest, std::string_view value);
};

// A key of RabbitMQ (a prefix ending in ".*", or a name) without effect here.
struct IdleKey {
    std::string_view name;
    std::string_view reason;
};

// Whether `name` of a table covers `key`; `rest` is what stands for the star.
bool keyMatches(std::string_view name, std::string_view key, std::string_view& rest);
const EffectiveKey* findEffectiveKey(std::string_view key, std::string_view& rest);
const IdleKey* findIdleKey(std::string_view key);
std::span<const IdleKey> idleKeys();
std::vector<std::string_view> knownKeys();

} // namespace millrace::server
