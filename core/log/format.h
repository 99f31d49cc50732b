// SPDX-License-Identifier: Apache-2.0
// The bytes of a segment file, drawn. Little-endian, everything starts at a multiple of 8.
// docs/FORMAT.md tells the same at length.
//
//   segment   0        4096                                             fileBytes - 4096
//             | header | record | record | ... | zeros or an older life | footer |
//
//   record    0        64                    +payloadBytes (padded to 8)
//             | header | payload of entries  | entries: 16 each | slots: 4 each (sparse only) |
//             route lists |
//
//   route list   count u64, count times queue id u64; an entry names it by its ordinal, from 1
//
// A record belongs to the life of the file whose salt it carries; what an older life left behind
// never counts.
#pragma once

#include "base/bytes.h"

#include <cstddef>
#include <cstdint>

namespace millrace::log {

inline constexpr std::uint64_t kSegmentMagic = 0x31474553'4C4C494DULL; // "MILLSEG1"
inline constexpr std::uint64_t kFooterMagic = 0x31544F46'4C4C494DULL;  // "MILLFOT1"
inline constexpr std::uint32_t kRecordMagic = 0x4345524D;              // "MREC"
inline constexpr std::uint16_t kFormatVersion = 1;
inline constexpr std::uint64_t kBlockBytes = 4096; // header and footer; a file system's page

enum class SegmentClass : std::uint16_t {
    log = 1,       // as the writer wrote it
    compacted = 2, // what was still needed of one or more neighbours
    scratch = 3,   // never synced, emptied at open
};

// First block of a segment; the rest of the block is zero.
struct SegmentHeader {
    std::uint64_t magic = kSegmentMagic;
    std::uint32_t crc = 0; // CRC32C of the bytes behind it
    std::uint16_t version = kFormatVersion;
    std::uint16_t segmentClass = 0;
    std::uint64_t requiredFeatures =
        0;                  // a reader that does not know one of these bits must refuse the file
    std::uint64_t salt = 0; // of this life of the file; random
    std::uint64_t sequence = 0;     // order of the segments in the log
    std::uint64_t lastSequence = 0; // a compacted one stands for [sequence, lastSequence]
    std::uint32_t generation = 0;   // of equal ranges the higher one counts
    std::uint32_t term = 0;         // of the start of the node that prepared it
    std::uint64_t fileBytes = 0;    // where the footer ends
};
static_assert(sizeof(SegmentHeader) == 64);
static_assert(offsetof(SegmentHeader, crc) == 8 && offsetof(SegmentHeader, version) == 12);
static_assert(offsetof(SegmentHeader, salt) == 24 && offsetof(SegmentHeader, fileBytes) == 56);

enum RecordFlags : std::uint32_t {
    kRecordSparse = 1, // only some entries are left: their slot numbers stand behind the entries
};

struct RecordHeader {
    std::uint32_t magic = kRecordMagic;
    std::uint32_t crc = 0; // CRC32C of the header's bytes behind it
    std::uint64_t index = 0;
    std::uint64_t salt = 0;
    std::uint64_t knownDurable = 0; // every record up to here was synced when this one was written
    std::int64_t wallMs = 0;        // log time: max(previous record's, wall clock)
    std::uint32_t term = 0;
    std::uint32_t payloadBytes = 0; // without the padding
    std::uint32_t entries = 0;
    std::uint32_t routeBytes = 0;
    std::uint32_t tableCrc = 0; // CRC32C of entries, slots and route lists
    std::uint32_t flags = 0;
};
static_assert(sizeof(RecordHeader) == 64);
static_assert(offsetof(RecordHeader, index) == 8 && offsetof(RecordHeader, salt) == 16);
static_assert(offsetof(RecordHeader, wallMs) == 32 && offsetof(RecordHeader, tableCrc) == 56);

// One entry of a record's table. Its payload begins where the previous entry's ends.
struct TableEntry {
    std::uint32_t end = 0; // in the record's payload
    std::uint32_t crc = 0; // CRC32C of the payload
    std::uint32_t references = 0;
    std::uint16_t routeList = 0; // ordinal from 1; 0: none
    std::uint8_t kind = 0;
    std::uint8_t flags = 0; // 0 so far
};
static_assert(sizeof(TableEntry) == 16 && offsetof(TableEntry, kind) == 14);

// Where a record begins; every so many bytes one, so that a reader steps over few headers to the
// one it wants.
struct Spot {
    std::uint32_t indexDelta = 0; // to the footer's firstIndex
    std::uint32_t offset = 0;
};
static_assert(sizeof(Spot) == 8);

// Last block of a sealed segment. Only a summary: a bad one is made again from the records.
struct SegmentFooter {
    static constexpr std::size_t kSpots = 500;
    std::uint64_t magic = kFooterMagic;
    std::uint32_t crc = 0; // CRC32C of the block behind it
    std::uint32_t spots = 0;
    std::uint64_t salt = 0;
    std::uint64_t firstIndex = 0;
    std::uint64_t lastIndex = 0; // records behind it are void: a recovery has cut them off
    std::uint64_t dataEnd = 0;
    std::uint64_t references = 0;      // sum over the entries when sealed
    std::uint64_t referencedBytes = 0; // payload of entries with references
    std::int64_t wallMs = 0;           // log time of the last record
    std::uint64_t reserved[3] = {};
    Spot spot[kSpots];
};
static_assert(sizeof(SegmentFooter) == kBlockBytes && offsetof(SegmentFooter, spot) == 96);

constexpr std::uint64_t align8(std::uint64_t bytes) {
    return (bytes + 7) & ~std::uint64_t{7};
}

constexpr std::uint64_t tableOffset(const RecordHeader& header) {
    return sizeof(RecordHeader) + align8(header.payloadBytes);
}
constexpr std::uint64_t slotBytes(const RecordHeader& header) {
    return (header.flags & kRecordSparse) != 0 ? align8(std::uint64_t{header.entries} * 4) : 0;
}
constexpr std::uint64_t tableBytes(const RecordHeader& header) {
    return std::uint64_t{header.entries} * sizeof(TableEntry) + slotBytes(header) +
           header.routeBytes;
}
constexpr std::uint64_t recordBytes(const RecordHeader& header) {
    return tableOffset(header) + tableBytes(header);
}

// How far apart the spots of a footer stand at least.
constexpr std::uint64_t spotStride(std::uint64_t fileBytes) {
    return fileBytes / SegmentFooter::kSpots + 1;
}

} // namespace millrace::log
