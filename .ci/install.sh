#!/usr/bin/env bash
# Installs the system packages that are missing: `install.sh build [test] [lint]`.
# Debian 12 and Ubuntu 24.04 use the same names. Without root one line says what to install.
set -euo pipefail

declare -A packages=(
  [build]="g++ cmake ninja-build pkg-config libfmt-dev nlohmann-json3-dev libssl-dev libcli11-dev liblua5.4-dev libgit2-dev libarchive-dev libmd4c-dev zlib1g-dev"
  [test]="ccache catch2 python3 python3-venv git chromium strace g++-11"
  [lint]="clang libclang-rt-dev clang-format"
)

missing=()
for group in "$@"; do
  for package in ${packages[$group]}; do
    state=$(dpkg-query -W -f='${Status}' "$package" 2>/dev/null || true)
    [ "$state" = "install ok installed" ] && continue
    # Tools may come from elsewhere than a package.
    case "$package" in
      chromium)
        # Ubuntu has it as a snap only: there the tests of pages say that they were skipped.
        command -v chromium >/dev/null && continue
        grep -q '^ID=ubuntu' /etc/os-release 2>/dev/null && continue ;;
      g++ | g++-11 | cmake | git | python3 | clang | clang-format)
        command -v "$package" >/dev/null && continue ;;
      pkg-config) command -v pkg-config >/dev/null && continue ;;
      ninja-build) command -v ninja >/dev/null && continue ;;
      python3-venv) python3 -c 'import ensurepip, venv' 2>/dev/null && continue ;;
    esac
    missing+=("$package")
  done
done
as_root=()
may_install=true
if [ "$(id -u)" -ne 0 ]; then
  if sudo -n true 2>/dev/null; then as_root=(sudo -n); else may_install=false; fi
fi
# Compilers are shut in by bubblewrap where it starts; everything works without, so whether it can be
# had decides nothing. `sdpa-wb doctor` says what became of it.
wish_for_bubblewrap() {
  command -v bwrap >/dev/null && return
  command -v apt-get >/dev/null && $may_install || return 0
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
    apt-get install -y -qq --no-install-recommends bubblewrap >/dev/null 2>&1 || true
}
if [ ${#missing[@]} -eq 0 ]; then
  wish_for_bubblewrap
  exit 0
fi

say="install.sh: missing: ${missing[*]}; install them: apt-get install -y ${missing[*]}"
if ! command -v apt-get >/dev/null; then
  echo "$say (or what your system calls them)" >&2
  exit 1
fi
if ! $may_install; then
  echo "$say (as root)" >&2
  exit 1
fi
log=$(mktemp)
trap 'rm -f "$log"' EXIT
install_missing() {
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get update -qq &&
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
      apt-get install -y -qq --no-install-recommends "${missing[@]}"
}
for wait in 5 20 0; do # a mirror may be away for a moment
  install_missing >"$log" 2>&1 && { wish_for_bubblewrap; exit 0; }
  sleep "$wait"
done
tail -n 5 "$log" >&2
echo "$say (the package manager failed: is there a network?)" >&2
exit 1
