#!/usr/bin/env bash
# Makes the virtual environment for tests and Python subjects: install_python.sh PYTHON VENV
# [subjects], which leaves out what only tests need.
# PyTorch is optional: it is installed when that brings a CPU build, or any build with WB_TORCH=yes;
# WB_TORCH=no leaves it out. Without it the tests that need it skip and there is no PyTorch rival;
# where CI is set, nothing skips unasked: there it comes, or WB_TORCH=no says that it need not.
set -euo pipefail
python=$1 venv=$2 only=${3:-}
torch="torch==2.13.0"
root=$(cd "$(dirname "$0")/.." && pwd)
requirements="$root/tests/python/requirements.txt"
stamp="$venv/.installed-$(cat "$requirements" "$0" | sha256sum | cut -c1-16)-${WB_TORCH:-auto}"
[ -e "$stamp" ] && exit 0
if [ "$only" = subjects ]; then
  stamp="$stamp-subjects"
  [ -e "$stamp" ] && exit 0
fi

[ -x "$venv/bin/python3" ] || "$python" -m venv "$venv"
pip=("$venv/bin/python3" -m pip --quiet --disable-pip-version-check)
three_times() { # an index may be away for a moment
  "$@" || { sleep 5; "$@"; } || { sleep 20; "$@"; }
}
without_torch() {
  echo "install_python.sh: $1" >&2
  if [ -n "${CI:-}" ]; then
    echo "install_python.sh: in CI that is an error; WB_TORCH=no goes on without PyTorch" >&2
    exit 1
  fi
}
wanted=$(mktemp) plan=$(mktemp)
trap 'rm -f "$wanted" "$plan"' EXIT
grep "${only:+^numpy}" "$requirements" >"$wanted"
if ! three_times "${pip[@]}" install -r "$wanted"; then
  echo "install_python.sh: pip failed; install the packages of tests/python/requirements.txt into $venv" >&2
  exit 1
fi
if "$venv/bin/python3" -c 'import torch' 2>/dev/null || [ "${WB_TORCH:-auto}" = no ]; then
  touch "$stamp"
  exit 0
fi
if ! three_times timeout 300 "${pip[@]}" install --dry-run --report "$plan" "$torch" >/dev/null 2>&1; then
  without_torch "no $torch for this Python: going on without PyTorch"
elif [ "${WB_TORCH:-auto}" != yes ] && grep -q '"nvidia[-_]' "$plan"; then
  without_torch "$torch would bring CUDA packages of several GB: going on without PyTorch \
(install a CPU build into $venv, or set WB_TORCH=yes)"
else
  three_times "${pip[@]}" install "$torch" || without_torch "$torch failed: going on without PyTorch"
fi
touch "$stamp"
