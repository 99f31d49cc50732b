// SPDX-License-Identifier: Apache-2.0
#include "catalog/exchange_arguments.h"

#include "base/field_table.h"
#include "catalog/equivalence.h"
#include "catalog/erlang_text.h"
#include "catalog/resource_text.h"

#include <algorithm>
#include <array>
#include <vector>

namespace millrace::catalog {
namespace {

using base::FieldTable;
using base::FieldValue;
using base::Refusal;
using base::ReplyCode;

constexpr std::string_view kAlternate = "alternate-exchange";

Refusal precondition(std::string text) {
    return {ReplyCode::preconditionFailed, std::move(text)};
}

FieldTable tableOf(const ExchangeSpec& spec) {
    return FieldTable(base::bytesOf(spec.arguments));
}

} // namespace

std::optional<ExchangeType> exchangeTypeOf(std::string_view name) {
    struct Known {
        std::string_view name;
        ExchangeType type;
    };
    static constexpr std::array<Known, 4> kKnown{{{"direct", ExchangeType::direct},
                                                  {"fanout", ExchangeType::fanout},
                                                  {"topic", ExchangeType::topic},
                                                  {"headers", ExchangeType::headers}}};
    for (const Known& known : kKnown) {
        if (known.name == name) {
            return known.type;
        }
    }
    return std::nullopt;
}

base::Outcome<ExchangeType> checkExchangeType(std::string_view name) {
    if (const auto type = exchangeTypeOf(name)) {
        return *type;
    }
    const std::string_view what = name.empty() ? "invalid" : "unknown";
    return precondition(std::string(what) + " exchange type '" + std::string(name) + "'");
}

std::optional<Refusal> checkNewExchange(const ExchangeSpec& spec) {
    if (spec.name.starts_with("amq.")) {
        return Refusal{ReplyCode::accessRefused,
                       "exchange name '" + spec.name + "' contains reserved prefix 'amq.*'"};
    }
    const auto alternate = tableOf(spec).find(kAlternate);
    if (alternate && !alternate->isText()) {
        return precondition(std::string("invalid type '") + alternate->typeName() +
                            "' for arg 'alternate-exchange' in " +
                            exchangeText(spec.name, spec.vhost));
    }
    return std::nullopt;
}

std::optional<Refusal> checkEquivalent(const ExchangeSpec& current, const ExchangeSpec& asked) {
    return Equivalence(exchangeText(current.name, current.vhost))
        .text("type", current.type, asked.type)
        .flag("durable", current.durable, asked.durable)
        .flag("auto_delete", current.autoDelete, asked.autoDelete)
        .flag("internal", current.internal, asked.internal)
        .argument(kAlternate, tableOf(current).find(kAlternate), tableOf(asked).find(kAlternate))
        .refusal();
}

std::optional<std::string> alternateExchangeOf(base::Bytes arguments) {
    const auto value = FieldTable(arguments).find(kAlternate);
    if (!value || !value->isText() || value->text().empty()) {
        return std::nullopt;
    }
    return std::string(value->text());
}

std::optional<Refusal> checkHeadersBinding(base::Bytes arguments) {
    const auto match = FieldTable(arguments).find("x-match");
    if (!match) {
        return std::nullopt;
    }
    if (!match->isText()) {
        return precondition(std::string("Invalid x-match field type ") + match->typeName() +
                            " (value " + erlangTerm(*match) + "); expected longstr");
    }
    static constexpr std::array<std::string_view, 4> kModes{"all", "any", "all-with-x",
                                                            "any-with-x"};
    if (std::find(kModes.begin(), kModes.end(), match->text()) == kModes.end()) {
        return precondition("Invalid x-match field value " + erlangBinary(match->text()) +
                            "; expected all, any, all-with-x, or any-with-x");
    }
    return std::nullopt;
}

std::string sortedArguments(base::Bytes arguments) {
    std::vector<base::Field> sorted;
    auto fields = FieldTable(arguments).fields();
    while (const auto field = fields.next()) {
        sorted.push_back(*field);
    }
    std::stable_sort(sorted.begin(), sorted.end(),
                     [](const auto& a, const auto& b) { return a.name < b.name; });
    std::string out;
    base::FieldTableWriter writer(out);
    for (const base::Field& field : sorted) {
        writer.raw(field.name, field.value);
    }
    return out;
}

} // namespace millrace::catalog
