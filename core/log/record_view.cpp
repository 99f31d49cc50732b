// SPDX-License-Identifier: Apache-2.0
#include "log/record_view.h"

#include "base/check.h"
#include "base/crc32c.h"

#include <algorithm>

namespace millrace::log {

namespace {

constexpr std::size_t kHeaderCrcFrom = offsetof(RecordHeader, index);

std::uint32_t headerCrc(const RecordHeader& header) {
    const auto* raw = reinterpret_cast<const base::Byte*>(&header);
    return base::crc32c({raw + kHeaderCrcFrom, sizeof header - kHeaderCrcFrom});
}

template <typename T> std::span<const T> viewOf(base::Bytes bytes, std::size_t count) {
    return {reinterpret_cast<const T*>(bytes.data()), count};
}

} // namespace

void sealHeader(RecordHeader& header) {
    header.crc = headerCrc(header);
}

std::optional<RecordHeader> parseHeader(base::Bytes bytes, std::uint64_t salt, std::uint64_t room) {
    if (bytes.size() < sizeof(RecordHeader) ||
        base::loadLittle<std::uint32_t>(bytes.data()) != kRecordMagic) {
        return std::nullopt;
    }
    RecordHeader header;
    std::memcpy(&header, bytes.data(), sizeof header);
    if (header.salt != salt || header.crc != headerCrc(header) || recordBytes(header) > room ||
        header.routeBytes % 8 != 0 || header.index == 0) {
        return std::nullopt;
    }
    return header;
}

RecordView::RecordView(const RecordHeader& header, base::Bytes bytes) : header_(header) {
    MILLRACE_CHECK(bytes.size() >= recordBytes(header) &&
                   reinterpret_cast<std::uintptr_t>(bytes.data()) % 8 == 0);
    payload_ = bytes.subspan(sizeof(RecordHeader), header.payloadBytes);
    tableIntact_ = checkTable(bytes.subspan(tableOffset(header), tableBytes(header)));
}

// The checksum says that the table is as it was written; the ends are checked too, so that no view
// can leave the record.
bool RecordView::checkTable(base::Bytes table) {
    if (base::crc32c(table) != header_.tableCrc) {
        return false;
    }
    table_ = viewOf<TableEntry>(table, header_.entries);
    base::Bytes rest = table.subspan(table_.size_bytes());
    if ((header_.flags & kRecordSparse) != 0) {
        slots_ = viewOf<std::uint32_t>(rest, header_.entries);
        rest = rest.subspan(slotBytes(header_));
    }
    routeWords_ = viewOf<std::uint64_t>(rest, rest.size() / 8);
    std::uint32_t end = 0;
    for (const TableEntry& entry : table_) {
        if (entry.end < end || entry.end > header_.payloadBytes) {
            return false;
        }
        end = entry.end;
    }
    return true;
}

base::Bytes RecordView::payload(std::uint32_t position) const {
    const std::uint32_t begin = position == 0 ? 0 : table_[position - 1].end;
    return payload_.subspan(begin, table_[position].end - begin);
}

bool RecordView::payloadIntact(std::uint32_t position) const {
    return base::crc32c(payload(position)) == table_[position].crc;
}

std::optional<std::uint32_t> RecordView::find(std::uint32_t slot) const {
    if (slots_.empty()) {
        return slot < table_.size() ? std::optional(slot) : std::nullopt;
    }
    const auto at = std::lower_bound(slots_.begin(), slots_.end(), slot);
    if (at == slots_.end() || *at != slot) {
        return std::nullopt;
    }
    return static_cast<std::uint32_t>(at - slots_.begin());
}

std::span<const base::QueueId> RecordView::routes(std::uint32_t position) const {
    const std::uint16_t ordinal = table_[position].routeList;
    if (ordinal == 0) {
        return {};
    }
    if (routeStarts_.empty()) {
        for (std::uint64_t word = 0; word < routeWords_.size(); word += 1 + routeWords_[word]) {
            routeStarts_.push_back(static_cast<std::uint32_t>(word));
        }
    }
    if (ordinal > routeStarts_.size()) {
        return {};
    }
    const std::uint32_t start = routeStarts_[ordinal - 1];
    const std::uint64_t count =
        std::min<std::uint64_t>(routeWords_[start], routeWords_.size() - start - 1);
    return routeWords_.subspan(start + 1, count);
}

bool RecordView::intact() const {
    if (!tableIntact_) {
        return false;
    }
    for (std::uint32_t position = 0; position < entries(); ++position) {
        if (!payloadIntact(position)) {
            return false;
        }
    }
    return true;
}

} // namespace millrace::log
