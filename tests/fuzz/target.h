// SPDX-License-Identifier: Apache-2.0
// What every target defines: takes any bytes, and ends the program (MILLRACE_CHECK, a sanitizer) if
// a promise is broken.
#pragma once

#include <cstddef>
#include <cstdint>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);
