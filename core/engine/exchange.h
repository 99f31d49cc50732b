// SPDX-License-Identifier: Apache-2.0
// One exchange at run time: what was declared, and its bindings indexed by its type so that only
// matching ones are looked at. Owned by the RoutingTable, which alone adds and removes bindings.
// Lives on: the engine's loop.
#pragma once

#include "catalog/exchange_arguments.h"
#include "catalog/spec.h"
#include "engine/headers_match.h"
#include "engine/key_index.h"
#include "engine/routing_edge.h"
#include "engine/topic_trie.h"

#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace millrace::engine {

class Exchange {
  public:
    Exchange(catalog::ExchangeSpec spec, catalog::ExchangeType type);

    const catalog::ExchangeSpec& spec() const { return spec_; }
    std::string_view name() const { return spec_.name; }
    catalog::ExchangeType type() const { return type_; }
    bool isDefault() const { return spec_.name.empty(); }
    bool isInternal() const { return spec_.internal; }
    bool isPredeclared() const { return predeclared_; }
    // Its outgoing bindings; the default exchange has none of its own.
    const AllEdges& bindings() const { return all_; }
    // Name of its alternate exchange, which need not exist. "" is the default exchange, nullopt is
    // none.
    const std::optional<std::string>& alternate() const { return alternate_; }

  private:
    friend class RoutingTable;
    struct Matching {}; // fanout: all of them

    void add(Edge& edge);
    void remove(Edge& edge);

    catalog::ExchangeSpec spec_;
    catalog::ExchangeType type_;
    bool predeclared_ = false;
    std::optional<std::string> alternate_;
    std::uint32_t number_ = 0; // in the table's slab
    std::uint64_t stamp_ = 0;  // the last route() that came through: cycles end here
    Edge* incoming_ = nullptr; // bindings whose destination it is, newest first
    AllEdges all_;
    std::variant<Matching, KeyIndex, TopicTrie, HeadersIndex> index_;
};

} // namespace millrace::engine
