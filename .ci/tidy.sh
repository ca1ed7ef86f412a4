#!/usr/bin/env bash
# clang-tidy over the sources of the product, or of some modules: tidy.sh [MODULE...], with the short
# check list of .clang-tidy. It sees ten files at once, as the unity build does: most of the time is
# their headers'. It needs no build.
# Its version is fixed: every release adds checks, and those before 21 go through system headers, too.
# One check is the unity build's own (.ci/unity_check.py): no file may use what another keeps to itself.
set -euo pipefail
tidy=.venv/bin/clang-tidy
[ -x .venv/bin/python3 ] || python3 -m venv .venv
if ! "$tidy" --version 2>/dev/null | grep -q 'version 23\.'; then
  .venv/bin/python3 -m pip --quiet --disable-pip-version-check install 'clang-tidy==23.1.*'
fi
cmake --preset dev -B build/tidy -DWB_TESTS=OFF -DCMAKE_UNITY_BUILD=ON \
  -DCMAKE_EXPORT_COMPILE_COMMANDS=ON >/dev/null
batches=$(python3 .ci/unity_check.py build/tidy "$@")
check() {
  # One of the checks of .clang-tidy is about what a unity build does.
  xargs -P"$(nproc)" -L1 "$tidy" -p build/tidy --quiet --warnings-as-errors='*' \
    --experimental-custom-checks --checks='custom-*,-bugprone-suspicious-include' \
    --extra-arg=-Wno-unknown-warning-option --extra-arg=-Wno-deprecated-declarations \
    --extra-arg=-Wno-unused-command-line-argument 2>/dev/null
}
planted=$(head -n 1 <<<"$batches" | check || true)
if [[ "$planted" != *unity-capture* ]]; then
  echo "tidy: clang-tidy does not find the planted capture of .ci/unity_check.py" >&2
  exit 1
fi
tail -n +2 <<<"$batches" | check
