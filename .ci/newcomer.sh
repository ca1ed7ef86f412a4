#!/usr/bin/env bash
# What docs/guide/python.md promises: in a fresh clone and a fresh environment of PYTHON the
# package is installed by pip, and its tests pass. newcomer.sh [PYTHON [REQUIREMENT...]]; what is
# required (a CPU build of PyTorch, say) is installed first.
set -euo pipefail
python=${1:-python3}
root=$(cd "$(dirname "$0")/.." && pwd)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
git clone -q "$root" "$folder/sdpa-workbench" # the name that a checkout has, not any
"$python" -m venv "$folder/venv"
export VIRTUAL_ENV="$folder/venv" PATH="$folder/venv/bin:$PATH"
unset WB_BUILD_DIR PYTHONPATH
[ $# -lt 2 ] || pip install --quiet "${@:2}"
cd "$folder/sdpa-workbench"
SECONDS=0
pip install --quiet ".[mcp,search,test]"
echo "newcomer.sh: installed in $((SECONDS / 60)) min, with $(python --version)"
python -c 'import sdpa_workbench; sdpa_workbench.Session' # without it the tests would skip
python -m pytest tests/python -q -rs
