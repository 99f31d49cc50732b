// SPDX-License-Identifier: Apache-2.0
// CRC32C two ways: the SSE4.2 instruction over three lanes at once (it has a latency of three
// cycles and takes one operand a cycle), and eight tables elsewhere. Both give the same sums; files
// written on one machine are read on the other.
#include "base/crc32c.h"

#include <array>

#if defined(__x86_64__)
#include <nmmintrin.h>
#endif

namespace millrace::base {

namespace {

constexpr std::uint32_t kPolynomial = 0x82F63B78; // reflected

using Table = std::array<std::uint32_t, 256>;

constexpr Table makeByteTable() {
    Table table{};
    for (std::uint32_t index = 0; index < table.size(); ++index) {
        std::uint32_t crc = index;
        for (int bit = 0; bit < 8; ++bit) {
            crc = (crc >> 1) ^ ((crc & 1) != 0 ? kPolynomial : 0);
        }
        table[index] = crc;
    }
    return table;
}

constexpr std::array<Table, 8> makeTables() {
    std::array<Table, 8> tables{};
    tables[0] = makeByteTable();
    for (std::size_t slice = 1; slice < tables.size(); ++slice) {
        for (std::size_t index = 0; index < 256; ++index) {
            const std::uint32_t before = tables[slice - 1][index];
            tables[slice][index] = (before >> 8) ^ tables[0][before & 0xFF];
        }
    }
    return tables;
}

constexpr std::array<Table, 8> kTables = makeTables();

std::uint32_t crcByTables(const Byte* at, std::size_t size, std::uint32_t crc) {
    for (; size >= 8; at += 8, size -= 8) {
        const std::uint64_t word = loadLittle<std::uint64_t>(at) ^ crc;
        crc = 0;
        for (std::size_t byte = 0; byte < 8; ++byte) {
            crc ^= kTables[7 - byte][(word >> (8 * byte)) & 0xFF];
        }
    }
    for (; size > 0; ++at, --size) {
        crc = (crc >> 8) ^ kTables[0][(crc ^ *at) & 0xFF];
    }
    return crc;
}

#if defined(__x86_64__)

// Three lanes of this size: long ones for records and segments, short ones for single messages.
constexpr std::size_t kLongLane = 1024;
constexpr std::size_t kShortLane = 128;

// What a sum becomes when Lane zero bytes follow, by the four bytes of the sum: the operator is
// linear.
template <std::size_t Lane> constexpr std::array<Table, 4> makeLaneShift() {
    std::array<std::uint32_t, 32> ofBit{};
    for (std::size_t bit = 0; bit < 32; ++bit) {
        std::uint32_t crc = std::uint32_t{1} << bit;
        for (std::size_t step = 0; step < Lane; ++step) {
            crc = (crc >> 8) ^ kTables[0][crc & 0xFF];
        }
        ofBit[bit] = crc;
    }
    std::array<Table, 4> shift{};
    for (std::size_t index = 0; index < 4 * 256; ++index) {
        for (std::size_t bit = 0; bit < 8; ++bit) {
            if (((index & 0xFF) >> bit & 1) != 0) {
                shift[index >> 8][index & 0xFF] ^= ofBit[(index >> 8) * 8 + bit];
            }
        }
    }
    return shift;
}

template <std::size_t Lane> constexpr std::array<Table, 4> kLaneShift = makeLaneShift<Lane>();

template <std::size_t Lane> std::uint32_t overLane(std::uint64_t crc) {
    constexpr const std::array<Table, 4>& kShift = kLaneShift<Lane>;
    return kShift[0][crc & 0xFF] ^ kShift[1][(crc >> 8) & 0xFF] ^ kShift[2][(crc >> 16) & 0xFF] ^
           kShift[3][(crc >> 24) & 0xFF];
}

// Takes whole triples of lanes off the front.
template <std::size_t Lane>
__attribute__((target("sse4.2"))) std::uint64_t overTriples(const Byte*& at, std::size_t& size,
                                                            std::uint64_t crc) {
    for (; size >= 3 * Lane; at += 3 * Lane, size -= 3 * Lane) {
        std::uint64_t second = 0;
        std::uint64_t third = 0;
        for (std::size_t step = 0; step < Lane; step += 8) {
            crc = _mm_crc32_u64(crc, loadLittle<std::uint64_t>(at + step));
            second = _mm_crc32_u64(second, loadLittle<std::uint64_t>(at + Lane + step));
            third = _mm_crc32_u64(third, loadLittle<std::uint64_t>(at + 2 * Lane + step));
        }
        crc = overLane<Lane>(overLane<Lane>(crc) ^ second) ^ third;
    }
    return crc;
}

__attribute__((target("sse4.2"))) std::uint32_t crcByInstruction(const Byte* at, std::size_t size,
                                                                 std::uint32_t start) {
    std::uint64_t crc = overTriples<kLongLane>(at, size, start);
    crc = overTriples<kShortLane>(at, size, crc);
    for (; size >= 8; at += 8, size -= 8) {
        crc = _mm_crc32_u64(crc, loadLittle<std::uint64_t>(at));
    }
    auto narrow = static_cast<std::uint32_t>(crc);
    for (; size > 0; ++at, --size) {
        narrow = _mm_crc32_u8(narrow, *at);
    }
    return narrow;
}

#endif

} // namespace

std::uint32_t crc32c(Bytes bytes, std::uint32_t crc) {
#if defined(__x86_64__)
    static const bool hasInstruction = __builtin_cpu_supports("sse4.2") != 0;
    if (hasInstruction) {
        return ~crcByInstruction(bytes.data(), bytes.size(), ~crc);
    }
#endif
    return ~crcByTables(bytes.data(), bytes.size(), ~crc);
}

std::uint32_t crc32cByTables(Bytes bytes, std::uint32_t crc) {
    return ~crcByTables(bytes.data(), bytes.size(), ~crc);
}

} // namespace millrace::base
