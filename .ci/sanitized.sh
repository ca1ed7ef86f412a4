#!/usr/bin/env bash
# Builds and runs unit tests in a tree of the asan preset: sanitized.sh BUILD_DIR [MODULE...].
# WB_SANITIZE_ALL=1 takes those of the engine, search, tune, verbs, playbooks and command line as well (half of all the
# time here, for code that owns little memory by hand) and those of the worker that time turns.
set -euo pipefail
. .ci/stages.sh
build=$1
shift
stage "sanitizers: build"
cmake --preset asan -B "$build" >/dev/null
[ $# -gt 0 ] || set -- $(basename -a tests/unit/*/)
tests=()
for name in "$@"; do
  case "$name" in engine | search | tune | verbs | playbook | cli) [ "${WB_SANITIZE_ALL:-}" = 1 ] || continue ;; esac
  tests+=("unit_$name")
done
cmake --build "$build" -j"$(nproc)" --target "${tests[@]}"
stage "sanitizers: tests"
scratch_in_memory
# A subject that is killed, or ends by _exit, has no say in what it leaks: leaks count in the tests'
# own processes, which is where the libraries run. Tests that ctest runs apart are left out: they are
# of kernels, which their users' compilers build without sanitizers, and of simulations, plain arithmetic.
export ASAN_OPTIONS=detect_leaks=1 UBSAN_OPTIONS=print_stacktrace=1
export LSAN_OPTIONS=suppressions=$PWD/.ci/leaks.supp:print_suppressions=0
if [ "${WB_SANITIZE_ALL:-}" != 1 ] && [[ " ${tests[*]} " == *" unit_worker "* ]]; then
  # A subject ten times as slow keeps no promise about time.
  "$build/tests/unit/worker/unit_worker" \
    '~[hostile]~[fresh]~[timing]~[turn]~[witness]~[idle_watch]~[killed]~[python]~[torch]'
  kept=()
  for name in "${tests[@]}"; do [ "$name" = unit_worker ] || kept+=("$name"); done
  tests=("${kept[@]}")
fi
[ ${#tests[@]} -eq 0 ] || ctest --test-dir "$build" --output-on-failure --no-tests=error -j2 -L unit \
  -R "^($(IFS='|'; echo "${tests[*]}"))$"
