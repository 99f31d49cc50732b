// SPDX-License-Identifier: Apache-2.0
// The queue arguments as a table: which type takes which (in the order in which differences are
// told), what their values may be (in the order in which faults are told), and which do something
// in this version. Rules: RabbitMQ 4.0.5, and 4.3 for what is newer.
#pragma once

#include "base/field_table.h"
#include "catalog/spec.h"

#include <span>
#include <string>
#include <string_view>

namespace millrace::catalog {

// The arguments that a queue of this type takes. They are compared on a second declaration; all
// others are stored and ignored.
std::span<const std::string_view> argumentsOf(QueueType type);
// "rabbit_classic_queue" ...: what RabbitMQ's texts call the type.
std::string_view moduleOf(QueueType type);

struct ArgumentRule {
    std::string_view name;
    // The fault as RabbitMQ prints it, e.g. {value_negative,-1}; empty: none. `all` is the whole
    // table.
    std::string (*fault)(const base::FieldValue& value, const base::FieldTable& all);
};
std::span<const ArgumentRule> argumentRules();

// Whether the argument asks for something that this version does not do yet.
bool isWithoutEffect(std::string_view argument);

} // namespace millrace::catalog
