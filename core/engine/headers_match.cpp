// SPDX-License-Identifier: Apache-2.0
#include "engine/headers_match.h"

#include <algorithm>
#include <utility>

namespace millrace::engine {
namespace {

// Fields of equal names stay in the order of the table, which is that of their bytes in memory.
void collectSorted(const base::FieldTable& table, std::vector<base::Field>& out) {
    out.clear();
    auto fields = table.fields();
    while (const auto field = fields.next()) {
        out.push_back(*field);
    }
    std::sort(out.begin(), out.end(), [](const base::Field& a, const base::Field& b) {
        const int order = a.name.compare(b.name);
        return order != 0 ? order < 0 : std::less<>{}(a.name.data(), b.name.data());
    });
}

bool accepts(const base::Field& wanted, const base::Field& given) {
    return wanted.value.tag == 'V' || base::equivalent(wanted.value, given.value);
}

} // namespace

void SortedHeaders::assign(const base::FieldTable& headers) {
    collectSorted(headers, fields_);
}

HeadersPattern::HeadersPattern(const base::FieldTable& arguments) {
    const auto match = arguments.find("x-match");
    const std::string_view mode = match ? match->text() : "all";
    any_ = mode.substr(0, 3) == "any";
    const bool withX = mode.size() > 3;
    collectSorted(arguments, wanted_);
    std::erase_if(wanted_, [withX](const base::Field& field) {
        return field.name == "x-match" || (!withX && field.name.substr(0, 2) == "x-");
    });
}

bool HeadersPattern::matches(std::span<const base::Field> headers) const {
    auto header = headers.begin();
    for (const base::Field& wanted : wanted_) {
        while (header != headers.end() && header->name < wanted.name) {
            ++header;
        }
        const bool found =
            header != headers.end() && header->name == wanted.name && accepts(wanted, *header);
        if (found == any_) {
            return any_; // `any` is decided by the first hit, `all` by the first miss
        }
    }
    return !any_;
}

void HeadersIndex::add(Edge& edge) {
    edge.groupPlace = static_cast<std::uint32_t>(items_.size());
    items_.push_back({HeadersPattern(base::FieldTable(base::bytesOf(edge.arguments))), &edge});
}

void HeadersIndex::remove(Edge& edge) {
    const std::uint32_t place = edge.groupPlace;
    MILLRACE_CHECK(place < items_.size() && items_[place].edge == &edge);
    items_.back().edge->groupPlace = place;
    if (place + 1 != items_.size()) {
        items_[place] = std::move(items_.back());
    }
    items_.pop_back();
}

} // namespace millrace::engine
