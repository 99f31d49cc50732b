// SPDX-License-Identifier: Apache-2.0
// Whether a second declaration says the same as the first, property by property, and RabbitMQ's
// text where it does not.
#pragma once

#include "base/field_table.h"
#include "base/refusal.h"

#include <optional>
#include <string>
#include <string_view>

namespace millrace::catalog {

// Collects the first difference. `resource` is as resource_text.h says it.
class Equivalence {
  public:
    explicit Equivalence(std::string resource) : resource_(std::move(resource)) {}

    Equivalence& flag(std::string_view name, bool current, bool asked);
    Equivalence& text(std::string_view name, std::string_view current, std::string_view asked);
    // Integers of any width, and times, are compared by value; texts and byte arrays by content.
    Equivalence& argument(std::string_view name, const std::optional<base::FieldValue>& current,
                          const std::optional<base::FieldValue>& asked);

    const std::optional<base::Refusal>& refusal() const { return refusal_; }

  private:
    void differ(std::string_view name, const std::string& current, const std::string& asked);

    std::string resource_;
    std::optional<base::Refusal> refusal_;
};

} // namespace millrace::catalog
