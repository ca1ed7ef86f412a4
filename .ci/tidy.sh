#!/usr/bin/env bash
# clang-tidy over the sources of the product, or of some modules: tidy.sh [MODULE...], with the short
# check list of .clang-tidy. It sees ten files at once, as the unity build does: most of the time is
# their headers'. It needs no build, and leaves out what passed before (.ci/tidy.py).
# Its version is fixed: every release adds checks, and those before 21 go through system headers, too.
set -euo pipefail
tidy=.venv/bin/clang-tidy
[ -x .venv/bin/python3 ] || python3 -m venv .venv
if ! "$tidy" --version 2>/dev/null | grep -q 'version 23\.'; then
  .venv/bin/python3 -m pip --quiet --disable-pip-version-check install 'clang-tidy==23.1.*'
fi
cmake --preset dev -B build/tidy -DWB_TESTS=OFF -DWB_CCACHE=OFF -DCMAKE_UNITY_BUILD=ON \
  -DCMAKE_EXPORT_COMPILE_COMMANDS=ON >/dev/null
python3 .ci/tidy.py "$tidy" build/tidy "$@"
