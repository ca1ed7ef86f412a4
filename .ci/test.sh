#!/usr/bin/env bash
# Runs every test of a built tree: test.sh BUILD_DIR VENV. ctest covers Catch2 and Lua, pytest the rest.
set -euo pipefail
build=$1 venv=$2
ctest --test-dir "$build" --output-on-failure --no-tests=error -j2
WB_BUILD_DIR="$build" "$venv/bin/python3" -m pytest tests/python tests/scenario tests/hostile tests/torture -q -rs
