// SPDX-License-Identifier: Apache-2.0
#include "log/sparse_record.h"

#include "base/crc32c.h"

namespace millrace::log {

namespace {

template <typename T> std::string_view rawOf(const std::vector<T>& values) {
    return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

} // namespace

void SparseRecord::begin(const RecordHeader& from, std::uint64_t salt) {
    header_ = from;
    header_.salt = salt;
    header_.flags |= kRecordSparse;
    header_.payloadBytes = 0;
    payload_.clear();
    table_.clear();
    slots_.clear();
    routeWords_.clear();
    ordinals_.clear();
    lists_ = 0;
    references_ = 0;
}

void SparseRecord::add(const RecordView& from, std::uint32_t position) {
    TableEntry entry = from.entry(position);
    payload_.append(base::textOf(from.payload(position)));
    header_.payloadBytes = static_cast<std::uint32_t>(payload_.size());
    entry.end = header_.payloadBytes;
    if (entry.routeList != 0) {
        if (ordinals_.size() <= entry.routeList) {
            ordinals_.resize(std::size_t{entry.routeList} + 1);
        }
        std::uint16_t& ordinal = ordinals_[entry.routeList];
        if (ordinal == 0) {
            const auto routes = from.routes(position);
            routeWords_.push_back(routes.size());
            routeWords_.insert(routeWords_.end(), routes.begin(), routes.end());
            ordinal = ++lists_;
        }
        entry.routeList = ordinal;
    }
    references_ += entry.references;
    table_.push_back(entry);
    slots_.push_back(from.slot(position));
}

void SparseRecord::write(std::string& out) {
    header_.entries = static_cast<std::uint32_t>(table_.size());
    header_.routeBytes = static_cast<std::uint32_t>(routeWords_.size() * 8);
    const std::size_t start = out.size();
    out.append(sizeof header_, '\0');
    out.append(payload_);
    out.resize(start + tableOffset(header_), '\0');
    out.append(rawOf(table_));
    out.append(rawOf(slots_));
    out.resize(start + tableOffset(header_) + table_.size() * sizeof(TableEntry) +
                   slotBytes(header_),
               '\0');
    out.append(rawOf(routeWords_));
    header_.tableCrc =
        base::crc32c(base::bytesOf(std::string_view(out).substr(start + tableOffset(header_))));
    sealHeader(header_);
    std::memcpy(out.data() + start, &header_, sizeof header_);
}

} // namespace millrace::log
