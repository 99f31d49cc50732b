// SPDX-License-Identifier: Apache-2.0
// The bytes of the checkpoint folder, drawn. Little-endian. docs/FORMAT.md tells the same at
// length.
//
//   roots             0          8192       16384     a finished round writes the slot that the
//   round before did not
//                     | root     | root     |
//
//   page-00000001 ..  0          4096                                 limits::kPageSegmentBytes
//                     | header   | record | record | gap | record ... |
//
//   record            0          64                +length (padded to 8)
//                     | header   | payload         |      payload: a page's bytes, or the entries
//                     of a bucket
//
//   root -> 256 buckets -> pages. A page belongs to the bucket of its key; a bucket lists its
//   pages. What no root names is free space: nothing is ever found by searching, so what a power
//   cut left behind does no harm.
#pragma once

#include "base/bytes.h"

#include <cstddef>
#include <cstdint>

namespace millrace::log {

inline constexpr std::uint64_t kPageSegmentMagic = 0x31534B43'4C4C494DULL; // "MILLCKS1"
inline constexpr std::uint64_t kRootMagic = 0x31524B43'4C4C494DULL;        // "MILLCKR1"
inline constexpr std::uint32_t kPageMagic = 0x4741504D;                    // "MPAG"
inline constexpr std::uint16_t kCheckpointVersion = 1;
inline constexpr std::size_t kBuckets = 256;
inline constexpr std::uint64_t kRootSlotBytes = 8192;
inline constexpr std::uint64_t kPageBlockBytes =
    4096; // header of a segment; every write begins at a multiple of it

// First block of a segment; the rest of the block is zero. Written once, when the file is made.
struct PageSegmentHeader {
    std::uint64_t magic = kPageSegmentMagic;
    std::uint32_t crc = 0; // CRC32C of the header's bytes behind it
    std::uint16_t version = kCheckpointVersion;
    std::uint16_t reserved = 0;
    std::uint64_t requiredFeatures =
        0;                    // a reader that does not know one of these bits must refuse the file
    std::uint64_t number = 0; // the one in the file's name
    std::uint64_t fileBytes = 0;
    std::uint64_t reserved2[3] = {};
};
static_assert(sizeof(PageSegmentHeader) == 64);
static_assert(offsetof(PageSegmentHeader, version) == 12 &&
              offsetof(PageSegmentHeader, number) == 24);

enum class PageType : std::uint32_t { page = 1, bucket = 2 };

struct PageHeader {
    std::uint32_t magic = kPageMagic;
    std::uint32_t crc = 0;      // CRC32C of the header's bytes behind it
    std::uint64_t sequence = 0; // of this version of the page; kept when it is copied forward
    std::uint64_t reflects = 0; // log index; 0 in a bucket
    std::uint32_t kind = 0;
    PageType type = PageType::page;
    std::uint64_t object = 0; // in a bucket its number
    std::uint64_t record = 0;
    std::uint32_t slot = 0;
    std::uint32_t length = 0; // of the payload, without the padding
    std::uint32_t payloadCrc = 0;
    std::uint32_t reserved = 0;
};
static_assert(sizeof(PageHeader) == 64);
static_assert(offsetof(PageHeader, sequence) == 8 && offsetof(PageHeader, object) == 32);
static_assert(offsetof(PageHeader, length) == 52 && offsetof(PageHeader, payloadCrc) == 56);

// Where a record lies and what its payload must be.
struct PageSpot {
    std::uint32_t segment = 0; // 0: nowhere
    std::uint32_t offset = 0;
    std::uint32_t length = 0;
    std::uint32_t crc = 0;
    friend bool operator==(const PageSpot&, const PageSpot&) = default;
};
static_assert(sizeof(PageSpot) == 16);

// One page in a bucket's payload.
struct BucketEntry {
    std::uint64_t object = 0;
    std::uint64_t record = 0;
    std::uint64_t sequence = 0;
    std::uint32_t kind = 0;
    std::uint32_t slot = 0;
    PageSpot spot;
};
static_assert(sizeof(BucketEntry) == 48 && offsetof(BucketEntry, spot) == 32);

// A finished round.
struct Root {
    std::uint64_t magic = kRootMagic;
    std::uint32_t crc = 0; // CRC32C of the root's bytes behind it
    std::uint16_t version = kCheckpointVersion;
    std::uint16_t buckets = kBuckets;
    std::uint64_t requiredFeatures = 0;
    std::uint64_t round = 0; // of two valid roots the higher one counts
    std::uint64_t replayFrom = 0;
    std::uint64_t nextSequence = 0;
    std::uint64_t reserved[2] = {};
    PageSpot bucket[kBuckets]; // segment 0: no page
};
static_assert(sizeof(Root) == 64 + kBuckets * sizeof(PageSpot) && sizeof(Root) <= kRootSlotBytes);
static_assert(offsetof(Root, version) == 12 && offsetof(Root, replayFrom) == 32);

// Bytes of a record on disk.
constexpr std::uint64_t pageRecordBytes(std::uint64_t length) {
    return (sizeof(PageHeader) + length + 7) & ~std::uint64_t{7};
}

} // namespace millrace::log
