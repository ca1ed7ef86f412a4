#!/usr/bin/env bash
# Runs tests for `make check`. check_tests.sh --units MODULE...: the unit tests of some modules, built
# in the preset dev. check_tests.sh [--lua] FILE...: files of tests that drive the command, where `make
# test` built it before; --lua: and ctest's dry runs of playbooks.
set -euo pipefail
if [ "$1" = --units ]; then
  shift
  [ -f build/dev/build.ninja ] || cmake --preset dev -DWB_TESTS=ON >/dev/null
  cmake --build build/dev -j"$(nproc)" --target $(printf 'unit_%s ' "$@")
  ctest --test-dir build/dev --output-on-failure --no-tests=error -j2 -E played_cuda \
    -R "^unit_($(IFS='|'; echo "$*"))(_|$)"
  exit
fi
if [ ! -x build/release/sdpa-wb ] || [ ! -x .venv/bin/python3 ]; then
  echo "make check: left out, as they want \`make test\` once: $*"
  exit 0
fi
cmake --build build/release -j"$(nproc)" --target sdpa-wb sdpa-wb-worker
if [ "$1" = --lua ]; then
  shift
  ctest --test-dir build/release --output-on-failure --no-tests=error -j2 -R '^(lua|playbook)_'
fi
export VIRTUAL_ENV=$PWD/.venv PATH="$PWD/.venv/bin:$PATH" WB_BUILD_DIR=build/release
python3 -m pytest -q -rs "$@"
