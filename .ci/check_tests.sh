#!/usr/bin/env bash
# Runs files of tests that drive the command, where `make test` built it before: check_tests.sh
# [--lua] FILE...; --lua: and ctest's dry runs of playbooks.
set -euo pipefail
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
