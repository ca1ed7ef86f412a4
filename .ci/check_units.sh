#!/usr/bin/env bash
# Builds and runs the unit tests of some modules in the preset dev: check_units.sh MODULE...
set -euo pipefail
[ -f build/dev/build.ninja ] || cmake --preset dev -DWB_TESTS=ON >/dev/null
cmake --build build/dev -j"$(nproc)" --target $(printf 'unit_%s ' "$@")
ctest --test-dir build/dev --output-on-failure --no-tests=error -j2 -E played_cuda \
  -R "^unit_($(IFS='|'; echo "$*"))(_|$)"
