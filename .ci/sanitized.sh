#!/usr/bin/env bash
# The unit tests of a tree built with the asan preset: sanitized.sh BUILD_DIR.
set -euo pipefail
build=$1
# A subject that is killed, or ends by _exit, has no say in what it leaks: leaks count in the tests'
# own processes, which is where the libraries run. Kernels are built by their users' compilers,
# without sanitizers: tests of nothing else are left out.
ASAN_OPTIONS=detect_leaks=1 UBSAN_OPTIONS=print_stacktrace=1 \
  ctest --test-dir "$build" --output-on-failure --no-tests=error -j2 -L unit -E 'played_cuda|simd|nvcc'
