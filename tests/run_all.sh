#!/bin/bash
# Builds the release and runs every test; then builds with sanitizers and runs the tests that input and threads reach.
set -euo pipefail
cd "$(dirname "$0")/.."
jobs=${JOBS:-$(nproc)}

cmake --preset release -DMILLRACE_TESTS=ON
cmake --build --preset release -j "$jobs"
ctest --preset release -j "$jobs" -LE 'soak|interop|crash|server'
ctest --preset release -L 'interop|crash|server' -LE soak

echo "== AddressSanitizer and UBSan: unit, fuzz corpus, model"
cmake --preset asan
cmake --build --preset asan -j "$jobs"
ctest --preset asan -j "$jobs" -L 'unit|fuzz|model' -LE 'soak|tidy'
