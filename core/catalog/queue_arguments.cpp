// SPDX-License-Identifier: Apache-2.0
#include "catalog/queue_arguments.h"

#include "base/field_table.h"
#include "catalog/equivalence.h"
#include "catalog/erlang_text.h"
#include "catalog/queue_argument_rules.h"
#include "catalog/resource_text.h"

#include <algorithm>
#include <array>
#include <limits>

namespace millrace::catalog {
namespace {

using base::FieldTable;
using base::FieldValue;
using base::Refusal;
using base::ReplyCode;
using MaybeRefusal = std::optional<Refusal>;

constexpr std::string_view kQueueType = "x-queue-type";
constexpr std::array<QueueType, 3> kTypes{QueueType::classic, QueueType::quorum, QueueType::stream};

Refusal precondition(std::string text) {
    return {ReplyCode::preconditionFailed, std::move(text)};
}

FieldTable tableOf(const QueueSpec& spec) {
    return FieldTable(base::bytesOf(spec.arguments));
}

std::string resourceOf(const QueueSpec& spec) {
    return queueText(spec.name, spec.vhost);
}

bool takes(QueueType type, std::string_view argument) {
    const auto names = argumentsOf(type);
    return std::find(names.begin(), names.end(), argument) != names.end();
}

std::optional<QueueType> typeNamed(std::string_view name) {
    if (name == "classic" || name == "undefined") {
        return QueueType::classic;
    }
    if (name == "quorum") {
        return QueueType::quorum;
    }
    if (name == "stream") {
        return QueueType::stream;
    }
    return std::nullopt;
}

// Nothing: the table asks for a type that does not exist.
std::optional<QueueType> typeAskedBy(const FieldTable& table) {
    const auto value = table.find(kQueueType);
    if (!value) {
        return QueueType::classic;
    }
    return value->isText() ? typeNamed(value->text()) : std::nullopt;
}

// What the table says about the type; nothing means classic.
FieldValue typeValue(const FieldTable& table) {
    return table.find(kQueueType).value_or(FieldValue{'S', base::bytesOf("classic")});
}

Refusal invalidArgument(const QueueSpec& asked, std::string_view name, const std::string& fault) {
    return precondition("invalid arg '" + std::string(name) + "' for " + resourceOf(asked) + fault);
}

Refusal unknownType(const QueueSpec& asked) {
    const FieldValue value = typeValue(tableOf(asked));
    const std::string fault =
        value.isText() ? erlangString("unsupported queue type '" + std::string(value.text()) + "'")
                       : std::string("{unacceptable_type,") + value.typeName() + "}";
    return invalidArgument(asked, kQueueType, ": " + fault);
}

// RabbitMQ looks at the dead letter exchange's type before all other arguments, with a text of its
// own.
MaybeRefusal checkDeadLetterExchange(const QueueSpec& asked) {
    const auto value = tableOf(asked).find("x-dead-letter-exchange");
    if (!value || value->isText()) {
        return std::nullopt;
    }
    return precondition(std::string("invalid type '") + value->typeName() +
                        "' for arg 'x-dead-letter-exchange' in " + resourceOf(asked));
}

MaybeRefusal checkValues(const QueueSpec& asked, QueueType type) {
    const FieldTable table = tableOf(asked);
    for (const ArgumentRule& rule : argumentRules()) {
        const auto value = takes(type, rule.name) ? table.find(rule.name) : std::nullopt;
        const std::string fault = value ? rule.fault(*value, table) : std::string();
        if (!fault.empty()) {
            return invalidArgument(asked, rule.name, ": " + fault);
        }
    }
    return std::nullopt;
}

MaybeRefusal checkForeignArguments(const QueueSpec& asked, QueueType type) {
    const FieldTable table = tableOf(asked);
    for (const QueueType other : kTypes) {
        for (const std::string_view name : argumentsOf(other)) {
            if (!takes(type, name) && table.find(name)) {
                return invalidArgument(asked, name,
                                       " of queue type " + std::string(moduleOf(type)));
            }
        }
    }
    return std::nullopt;
}

MaybeRefusal checkProperties(const QueueSpec& asked, QueueType type) {
    const char* fault = nullptr;
    if (asked.autoDelete) {
        fault = "auto-delete";
    } else if (asked.exclusive) {
        fault = "exclusive-owner";
    } else if (!asked.durable) {
        fault = "non-durable";
    }
    if (type == QueueType::classic || fault == nullptr) {
        return std::nullopt;
    }
    return precondition(std::string("invalid property '") + fault + "' for " + resourceOf(asked));
}

std::optional<std::uint64_t> countOf(const FieldTable& table, std::string_view name) {
    const auto value = table.find(name);
    if (!value || !value->isInteger() || value->integer() < 0) {
        return std::nullopt;
    }
    return static_cast<std::uint64_t>(value->integer());
}

std::optional<std::string> textIn(const FieldTable& table, std::string_view name) {
    const auto value = table.find(name);
    return value && value->isText() ? std::optional(std::string(value->text())) : std::nullopt;
}

std::optional<Overflow> overflowIn(const FieldTable& table) {
    const auto text = textIn(table, "x-overflow");
    if (text == "drop-head") {
        return Overflow::dropHead;
    }
    if (text == "reject-publish") {
        return Overflow::rejectPublish;
    }
    return text == "reject-publish-dlx" ? std::optional(Overflow::rejectPublishDlx) : std::nullopt;
}

} // namespace

QueueArguments readQueueArguments(base::Bytes arguments) {
    const FieldTable table(arguments);
    QueueArguments out;
    out.type = typeAskedBy(table).value_or(QueueType::classic);
    out.messageTtlMs = countOf(table, "x-message-ttl");
    out.expiresMs = countOf(table, "x-expires");
    out.maxLength = countOf(table, "x-max-length");
    out.maxLengthBytes = countOf(table, "x-max-length-bytes");
    out.overflow = overflowIn(table);
    const auto priority = countOf(table, "x-max-priority");
    if (priority && *priority <= std::numeric_limits<std::uint8_t>::max()) {
        out.maxPriority = static_cast<std::uint8_t>(*priority);
    }
    const auto limit = table.find("x-delivery-limit");
    if (limit && limit->isInteger()) {
        out.deliveryLimit = limit->integer();
    }
    out.deadLetterExchange = textIn(table, "x-dead-letter-exchange");
    out.deadLetterRoutingKey = textIn(table, "x-dead-letter-routing-key");
    out.deadLetterAtLeastOnce = textIn(table, "x-dead-letter-strategy") == "at-least-once";
    const auto single = table.find("x-single-active-consumer");
    out.singleActiveConsumer = single && single->boolean();
    out.consumerTimeoutMs = countOf(table, "x-consumer-timeout");
    return out;
}

base::Outcome<QueueArguments> checkNewQueue(const QueueSpec& asked) {
    const auto type = typeAskedBy(tableOf(asked));
    if (type && *type != QueueType::classic && asked.name.empty()) {
        return precondition("Cannot declare a server-named queue for type " +
                            std::string(moduleOf(*type)));
    }
    if (auto refusal = checkDeadLetterExchange(asked)) {
        return *std::move(refusal);
    }
    if (!type) {
        return unknownType(asked);
    }
    if (auto refusal = checkValues(asked, *type)) {
        return *std::move(refusal);
    }
    if (auto refusal = checkForeignArguments(asked, *type)) {
        return *std::move(refusal);
    }
    if (auto refusal = checkProperties(asked, *type)) {
        return *std::move(refusal);
    }
    if (*type == QueueType::stream) {
        return precondition("queue type 'stream' is not available yet: " + resourceOf(asked) +
                            " may be a classic or a quorum queue");
    }
    return readQueueArguments(base::bytesOf(asked.arguments));
}

MaybeRefusal checkQueueName(std::string_view name) {
    if (!name.starts_with("amq.")) {
        return std::nullopt;
    }
    return Refusal{ReplyCode::accessRefused,
                   "queue name '" + std::string(name) + "' contains reserved prefix 'amq.*'"};
}

MaybeRefusal checkEquivalent(const QueueSpec& current, const QueueSpec& asked) {
    // An exclusive queue never outlives its connection: whether it is called durable makes no
    // difference.
    Equivalence equivalence(resourceOf(current));
    equivalence
        .flag("durable", current.durable && !current.exclusive, asked.durable && !asked.exclusive)
        .flag("auto_delete", current.autoDelete, asked.autoDelete);
    const FieldTable before = tableOf(current);
    const FieldTable now = tableOf(asked);
    for (const std::string_view name : argumentsOf(current.type)) {
        if (name == kQueueType) {
            equivalence.argument(name, typeValue(before), typeValue(now));
        } else {
            equivalence.argument(name, before.find(name), now.find(name));
        }
    }
    return equivalence.refusal();
}

std::vector<std::string_view> argumentsWithoutEffect(base::Bytes arguments) {
    std::vector<std::string_view> out;
    auto fields = FieldTable(arguments).fields();
    while (const auto field = fields.next()) {
        if (isWithoutEffect(field->name)) {
            out.push_back(field->name);
        }
    }
    return out;
}

} // namespace millrace::catalog
