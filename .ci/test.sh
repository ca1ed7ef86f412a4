#!/usr/bin/env bash
# Runs the tests of a built tree: test.sh BUILD_DIR VENV [long]. ctest covers Catch2 and Lua, pytest the
# rest. What tests/long.txt names is left out; with "long" it is all that runs (long.py).
# What fails is run once more, by itself, and what passes only then is named under "unstable:" at the end.
set -euo pipefail
build=$1 venv=$2 tier=${3:-short}
# As `activate` does: Python subjects run on the interpreter that has the packages.
export VIRTUAL_ENV=$PWD/$venv
export PATH="$VIRTUAL_ENV/bin:$PATH"
. .ci/stages.sh
scratch_in_memory

if [ "$tier" = long ]; then
  python3 .ci/long.py "$build"
  exit
fi
files=()
while read -r file; do
  [ -e "${file%%::*}" ] || { echo "test.sh: tests/long.txt names $file, which is not there" >&2; exit 1; }
  files+=("--deselect=$file")
done < <(grep '^tests/' tests/long.txt)
files+=(tests/python tests/scenario tests/hostile tests/torture)

# The times of all tests, for .ci/summary.py; a second try's beside the first one's.
unit_tests() {
  ctest --test-dir "$build" --output-on-failure --no-tests=error -LE '^long$' \
    --output-junit "Testing/ctest_$((++tries)).xml" "$@"
}
failed_unit_tests() {
  cut -d: -f2 "$build/Testing/Temporary/LastTestsFailed.log" 2>/dev/null | sort || true
}
python_tests() {
  WB_BUILD_DIR="$build" python3 -m pytest "${files[@]}" -q -rsfE \
    -o cache_dir="$scratch/pytest" --junitxml="$build/Testing/pytest_$((++tries)).xml" "$@"
}
failed_python_tests() {
  python3 -c 'import json, sys; print(*sorted(json.load(open(sys.argv[1]))), sep="\n")' \
    "$scratch/pytest/v/cache/lastfailed" 2>/dev/null || true
}

# once_more TESTS FAILED FIRST AGAIN: runs TESTS with the options FIRST; if some failed, whom FAILED
# names, with the options AGAIN.
tries=0 fault=0 unstable="" failing=""
once_more() {
  local tests=$1 failed=$2 first=$3 again=$4 before
  # shellcheck disable=SC2086 # options are words
  "$tests" $first && return
  before=$("$failed")
  if [ -z "$before" ]; then
    fault=1 # not a test's failure
    return
  fi
  printf '\nonce more, by themselves:\n%s\n\n' "$before"
  # shellcheck disable=SC2086
  if "$tests" $again; then
    unstable+=$before$'\n'
  else
    fault=1
    failing+=$("$failed")$'\n'
    unstable+=$(comm -23 <(echo "$before") <("$failed"))$'\n'
  fi
}
rm -f "$build"/Testing/*.xml "$build/Testing/Temporary/LastTestsFailed.log"
stage "make test: ctest"
once_more unit_tests failed_unit_tests "-j2" "-j1 --rerun-failed"
stage "make test: pytest"
once_more python_tests failed_python_tests "-n 2 --dist loadfile" "--lf --lfnf=none"
printf '\n== tests %s (%ss since the build)\n' "$([ $fault = 0 ] && echo passed || echo failed)" "$SECONDS"
names() { # HEADING NAMES: nothing where there are none
  local lines
  lines=$(sed '/^$/d; s/^/  /' <<<"$2")
  [ -z "$lines" ] || printf '\n%s:\n%s\n' "$1" "$lines"
}
names failed "$failing"
names unstable "$unstable" | tee ${WB_UNSTABLE:+"$WB_UNSTABLE"}
exit $fault
