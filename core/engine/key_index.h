// SPDX-License-Identifier: Apache-2.0
// The bindings of a direct exchange by routing key. Looking up neither allocates nor copies. Lives
// on: the engine's loop.
#pragma once

#include "engine/hash_index.h"
#include "engine/routing_edge.h"
#include "engine/slab.h"

#include <functional>
#include <string_view>

namespace millrace::engine {

class KeyIndex {
  public:
    void add(Edge& edge);
    void remove(Edge& edge);

    // Edges with exactly this key, or null.
    const MatchGroup* find(std::string_view key) const {
        const std::uint32_t number = numberOf(key);
        return number == HashIndex::kNone ? nullptr : &groups_[number];
    }

  private:
    // The key of a group is that of its edges: a group without edges does not stay.
    std::uint32_t numberOf(std::string_view key) const {
        return keys_.find(hashOf(key), [&](std::uint32_t number) {
            return groups_[number].front().routingKey == key;
        });
    }
    static std::uint64_t hashOf(std::string_view key) { return std::hash<std::string_view>{}(key); }

    HashIndex keys_;
    Slab<MatchGroup> groups_;
};

} // namespace millrace::engine
