#!/usr/bin/env bash
# Whether an interpreter can make an environment: check_python.sh PYTHON LEAST_VERSION. Seconds, for
# what would otherwise end after a build.
set -euo pipefail
python=$1 least=$2
refuse() {
  echo "check_python.sh: PYTHON=$python: $1; $2" >&2
  exit 1
}
path=$(command -v -- "$python") || refuse "there is no such program" "name one that is installed, such as python3"
says=$("$path" -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2>/dev/null </dev/null) ||
  refuse "it does not run Python code" "name a Python interpreter"
[[ $says =~ ^[0-9]+\.[0-9]+$ ]] || refuse "it does not answer as Python does" "name a Python interpreter"
[ "$(printf '%s\n%s\n' "$least" "$says" | sort -V | head -1)" = "$least" ] ||
  refuse "it is Python $says" "Python $least or newer is needed"
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
if ! "$path" -m venv "$folder/venv" >"$folder/log" 2>&1 ||
   ! "$folder/venv/bin/python3" -m pip --version >>"$folder/log" 2>&1; then
  tail -n 3 "$folder/log" >&2
  refuse "it cannot make a virtual environment" "install its venv and ensurepip (Debian: python$says-venv)"
fi
