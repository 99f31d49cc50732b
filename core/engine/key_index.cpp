// SPDX-License-Identifier: Apache-2.0
#include "engine/key_index.h"

namespace millrace::engine {

void KeyIndex::add(Edge& edge) {
    std::uint32_t number = numberOf(edge.routingKey);
    if (number == HashIndex::kNone) {
        number = groups_.add();
        groups_[number].add(edge);
        keys_.insert(hashOf(edge.routingKey), number);
    } else {
        groups_[number].add(edge);
    }
}

void KeyIndex::remove(Edge& edge) {
    const std::uint32_t number = numberOf(edge.routingKey);
    MILLRACE_CHECK(number != HashIndex::kNone);
    groups_[number].remove(edge);
    if (groups_[number].empty()) {
        keys_.erase(hashOf(edge.routingKey), number);
        groups_.remove(number);
    }
}

} // namespace millrace::engine
