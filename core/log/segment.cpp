// SPDX-License-Identifier: Apache-2.0
#include "log/segment.h"

#include "base/crc32c.h"

#include <algorithm>
#include <cstdio>
#include <random>

namespace millrace::log {

namespace {

using base::Byte;
using base::Bytes;
using base::ErrorCode;

template <typename T> std::uint32_t crcBehind(const T& block, std::size_t from) {
    return base::crc32c({reinterpret_cast<const Byte*>(&block) + from, sizeof block - from});
}

constexpr std::size_t kHeaderCrcFrom = offsetof(SegmentHeader, version);
constexpr std::size_t kFooterCrcFrom = offsetof(SegmentFooter, spots);

} // namespace

void sealSegmentHeader(SegmentHeader& header) {
    header.crc = crcBehind(header, kHeaderCrcFrom);
}

base::Result<SegmentHeader> readSegmentHeader(base::File& file, const std::string& path) {
    SegmentHeader header;
    if (base::Status read = file.read(0, {reinterpret_cast<Byte*>(&header), sizeof header});
        !read) {
        return read.error();
    }
    if (header.magic != kSegmentMagic || header.crc != crcBehind(header, kHeaderCrcFrom)) {
        return base::Error{ErrorCode::damaged, path + " is not a segment: its header is damaged"};
    }
    if (header.version > kFormatVersion || header.requiredFeatures != 0) {
        return base::Error{
            ErrorCode::unsupported,
            path + " was written by a newer Millrace (format " + std::to_string(header.version) +
                "); start that version, or move the file away to lose what is in it"};
    }
    return header;
}

base::Status writeSegmentHeader(base::File& file, const SegmentHeader& header) {
    Byte block[kBlockBytes] = {};
    std::memcpy(block, &header, sizeof header);
    const Bytes part{block, sizeof block};
    return file.write(0, {&part, 1});
}

void sealFooter(SegmentFooter& footer) {
    footer.crc = crcBehind(footer, kFooterCrcFrom);
}

bool readFooter(base::File& file, const SegmentHeader& header, SegmentFooter& footer) {
    const base::Status read = file.read(header.fileBytes - kBlockBytes,
                                        {reinterpret_cast<Byte*>(&footer), sizeof footer});
    return read.ok() && footer.magic == kFooterMagic && footer.salt == header.salt &&
           footer.crc == crcBehind(footer, kFooterCrcFrom) && footer.spots <= SegmentFooter::kSpots;
}

void describe(const Segment& segment, SegmentFooter& footer) {
    footer.firstIndex = segment.first;
    footer.lastIndex = segment.last;
    footer.dataEnd = segment.dataEnd;
    footer.references = segment.totalReferences;
    footer.referencedBytes = segment.referencedBytes;
    footer.wallMs = segment.wallMs;
    footer.spots =
        static_cast<std::uint32_t>(std::min(segment.spots.size(), SegmentFooter::kSpots));
    std::copy_n(segment.spots.begin(), footer.spots, footer.spot);
}

void noteSpot(std::vector<Spot>& spots, base::LogIndex first, base::LogIndex index,
              std::uint64_t offset, std::uint64_t fileBytes) {
    if (spots.empty() || offset - spots.back().offset >= spotStride(fileBytes)) {
        spots.push_back(
            {static_cast<std::uint32_t>(index - first), static_cast<std::uint32_t>(offset)});
    }
}

std::uint64_t offsetBefore(std::span<const Spot> spots, base::LogIndex first,
                           base::LogIndex index) {
    const auto after = std::upper_bound(spots.begin(), spots.end(), index,
                                        [first](base::LogIndex wanted, const Spot& spot) {
                                            return wanted < first + spot.indexDelta;
                                        });
    return after == spots.begin() ? kBlockBytes : (after - 1)->offset;
}

std::uint64_t newSalt() {
    static thread_local std::random_device random;
    return (std::uint64_t{random()} << 32) | random();
}

std::string segmentName(std::uint64_t sequence, std::uint32_t generation) {
    char name[64];
    std::snprintf(name, sizeof name, "%016llx.%u.seg", static_cast<unsigned long long>(sequence),
                  generation);
    return name;
}

} // namespace millrace::log
