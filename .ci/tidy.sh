#!/usr/bin/env bash
# clang-tidy over the sources of the product with the short check list of .clang-tidy: tidy.sh BUILD_DIR.
set -euo pipefail
build=$1
cmake --preset release -DCMAKE_EXPORT_COMPILE_COMMANDS=ON >/dev/null
git ls-files 'workbench/**/*.cpp' |
  xargs -P"$(nproc)" -n4 clang-tidy -p "$build" --quiet --warnings-as-errors='*' --extra-arg=-Wno-unknown-warning-option 2>/dev/null
