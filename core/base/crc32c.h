// SPDX-License-Identifier: Apache-2.0
// CRC32C (Castagnoli) with CPU instructions where the processor has them, about 10 GB/s; a table elsewhere.
#pragma once

#include "base/bytes.h"

#include <cstdint>

namespace millrace::base {

// Continues `crc` (0 to begin) over `bytes`.
std::uint32_t crc32c(Bytes bytes, std::uint32_t crc = 0);
// The same sum without the instruction, for processors that lack it.
std::uint32_t crc32cByTables(Bytes bytes, std::uint32_t crc = 0);

} // namespace millrace::base
