// SPDX-License-Identifier: Apache-2.0
// Which messages a binding of a headers exchange takes.
//
// Rules (RabbitMQ's): x-match is all (default), any, all-with-x or any-with-x; the first two pass
// over binding arguments whose names begin with "x-". A void value asks for presence only;
// otherwise type class and value must be equal. `all` without arguments takes everything, `any`
// without arguments takes nothing. Lives on: the engine's loop.
#pragma once

#include "base/field_table.h"
#include "engine/routing_edge.h"

#include <span>
#include <vector>

namespace millrace::engine {

// The headers of one message, sorted by name, so that each pattern is matched by one merge. Views;
// reused from message to message.
class SortedHeaders {
  public:
    // Of fields with equal names the first counts.
    void assign(const base::FieldTable& headers);
    std::span<const base::Field> fields() const { return fields_; }

  private:
    std::vector<base::Field> fields_;
};

class HeadersPattern {
  public:
    // `arguments` (valid, x-match checked by catalog::checkHeadersBinding) must outlive the
    // pattern.
    explicit HeadersPattern(const base::FieldTable& arguments);
    bool matches(std::span<const base::Field> headers) const;

  private:
    std::vector<base::Field> wanted_; // sorted by name
    bool any_ = false;
};

class HeadersIndex {
  public:
    void add(Edge& edge); // the edge's arguments are the pattern
    void remove(Edge& edge);

    template <typename Visit> void match(const SortedHeaders& headers, const Visit& visit) const {
        for (const Item& item : items_) {
            if (item.pattern.matches(headers.fields())) {
                visit(*item.edge);
            }
        }
    }

  private:
    struct Item {
        HeadersPattern pattern;
        Edge* edge;
    };
    std::vector<Item> items_; // at Edge::groupPlace
};

} // namespace millrace::engine
