#!/usr/bin/env bash
# clang-tidy over the sources of the product with the short check list of .clang-tidy. Most of its
# time is headers', so it sees ten files at once, as the unity build does. It needs no build.
set -euo pipefail
cmake --preset dev -B build/tidy -DWB_TESTS=OFF -DCMAKE_UNITY_BUILD=ON \
  -DCMAKE_EXPORT_COMPILE_COMMANDS=ON >/dev/null
files=$(python3 - <<'PYTHON'
import json
print("\n".join(entry["file"] for entry in json.load(open("build/tidy/compile_commands.json"))
                if entry["file"].endswith((".cpp", ".cxx"))))
PYTHON
)
# One check is about what a unity build does.
xargs -P"$(nproc)" -n1 clang-tidy -p build/tidy --quiet --warnings-as-errors='*' \
  --checks=-bugprone-suspicious-include --extra-arg=-Wno-unknown-warning-option \
  <<<"$files" 2>/dev/null
