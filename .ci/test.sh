#!/usr/bin/env bash
# Runs every test of a built tree: test.sh BUILD_DIR VENV. ctest covers Catch2 and Lua, pytest the rest.
set -euo pipefail
build=$1 venv=$2
# As `activate` does: Python subjects run on the interpreter that has the packages.
export VIRTUAL_ENV=$PWD/$venv
export PATH="$VIRTUAL_ENV/bin:$PATH"
# Thousands of small sessions are synced to disk; in memory, where there is room, that takes no time.
scratch=$(mktemp -d /dev/shm/sdpa-wb-test-XXXXXX 2>/dev/null || mktemp -d)
trap 'rm -rf "$scratch"' EXIT
chmod 1777 "$scratch" # some tests become another user
if [ "$(df --output=avail -B1G "$scratch" | tail -1)" -ge 4 ] && cp /bin/true "$scratch/" && "$scratch/true"; then
  export TMPDIR=$scratch
fi

ctest --test-dir "$build" --output-on-failure --no-tests=error -j2
WB_BUILD_DIR="$build" python3 -m pytest tests/python tests/scenario tests/hostile tests/torture -q -rs
