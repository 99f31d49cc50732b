// SPDX-License-Identifier: Apache-2.0
#include "catalog/equivalence.h"

#include "catalog/erlang_text.h"

namespace millrace::catalog {
namespace {

std::string quoted(std::string_view text) {
    std::string out = "'";
    out.append(text).append("'");
    return out;
}

bool same(const base::FieldValue& a, const base::FieldValue& b) {
    return base::equivalent(a, b) || erlangTerm(a) == erlangTerm(b);
}

} // namespace

Equivalence& Equivalence::flag(std::string_view name, bool current, bool asked) {
    return text(name, current ? "true" : "false", asked ? "true" : "false");
}

Equivalence& Equivalence::text(std::string_view name, std::string_view current,
                               std::string_view asked) {
    if (current != asked) {
        differ(name, quoted(current), quoted(asked));
    }
    return *this;
}

Equivalence& Equivalence::argument(std::string_view name,
                                   const std::optional<base::FieldValue>& current,
                                   const std::optional<base::FieldValue>& asked) {
    const bool equal =
        current && asked ? same(*current, *asked) : current.has_value() == asked.has_value();
    if (!equal) {
        differ(name, givenText(current, asked), givenText(asked, current));
    }
    return *this;
}

void Equivalence::differ(std::string_view name, const std::string& current,
                         const std::string& asked) {
    if (!refusal_) {
        refusal_ = base::Refusal{base::ReplyCode::preconditionFailed,
                                 "inequivalent arg " + quoted(name) + " for " + resource_ +
                                     ": received " + asked + " but current is " + current};
    }
}

} // namespace millrace::catalog
