#!/bin/bash
# Builds the release and runs every test; then a sample with sanitizers.
set -euo pipefail
cd "$(dirname "$0")/.."
jobs=${JOBS:-$(nproc)}

cmake --preset release -DMILLRACE_TESTS=ON
cmake --build --preset release -j "$jobs"
ctest --preset release -j "$jobs" -LE 'soak|interop|crash|server'
ctest --preset release -L 'interop|crash|server' -LE soak

# A sample; `make asan` and `make tsan` run everything that input and threads reach.
echo "== AddressSanitizer and UBSan: the decoders over the fuzz corpus"
cmake --preset asan
cmake --build --preset asan -j "$jobs" --target tst_fuzz_frame tst_fuzz_methods tst_fuzz_content tst_fuzz_table
ctest --preset asan -j "$jobs" -R tst_fuzz_
