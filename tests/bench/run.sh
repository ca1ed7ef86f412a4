#!/usr/bin/env bash
# The workbench's own speed: run.sh BUILD_DIR VENV. Figures go to docs/results/workbench.md by hand.
set -euo pipefail
build=$1 venv=$2
cd "$(dirname "$0")/../.."
"$build/tests/bench/bench_session"
"$build/tests/bench/bench_cache" kernels
"$venv/bin/python3" tests/bench/overhead.py "$build/sdpa-wb"
