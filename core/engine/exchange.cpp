// SPDX-License-Identifier: Apache-2.0
#include "engine/exchange.h"

#include "base/field_table.h"

#include <type_traits>
#include <utility>

namespace millrace::engine {

Exchange::Exchange(catalog::ExchangeSpec spec, catalog::ExchangeType type)
    : spec_(std::move(spec)), type_(type),
      alternate_(catalog::alternateExchangeOf(base::bytesOf(spec_.arguments))) {
    switch (type_) {
    case catalog::ExchangeType::direct:
        index_.emplace<KeyIndex>();
        break;
    case catalog::ExchangeType::topic:
        index_.emplace<TopicTrie>();
        break;
    case catalog::ExchangeType::headers:
        index_.emplace<HeadersIndex>();
        break;
    case catalog::ExchangeType::fanout:
        break;
    }
}

void Exchange::add(Edge& edge) {
    all_.add(edge);
    std::visit(
        [&edge](auto& index) {
            if constexpr (!std::is_same_v<std::decay_t<decltype(index)>, Matching>) {
                index.add(edge);
            }
        },
        index_);
}

void Exchange::remove(Edge& edge) {
    std::visit(
        [&edge](auto& index) {
            if constexpr (!std::is_same_v<std::decay_t<decltype(index)>, Matching>) {
                index.remove(edge);
            }
        },
        index_);
    all_.remove(edge);
}

} // namespace millrace::engine
