# Sourced. stage NAME: says which one begins, and notes it for the table of .ci/run, where that asks.
stage() {
  local notes=${WB_STAGES:-/dev/null} first
  printf '%s\t%s\t%s\n' "$(date +%s)" "$(stat -c %s "${CCACHE_STATSLOG:-}" 2>/dev/null || echo 0)" "$1" >>"$notes"
  first=$(head -n 1 "$notes" | cut -f1)
  printf '\n== %s (%ss)\n' "$1" "$(($(date +%s) - ${first:-$(date +%s)}))"
}

# scratch_in_memory: makes a folder, TMPDIR where memory has room for it: thousands of small sessions
# are synced to disk, and in memory that takes no time. Sets `scratch`, which goes at the end.
scratch_in_memory() {
  scratch=$(mktemp -d /dev/shm/sdpa-wb-test-XXXXXX 2>/dev/null || mktemp -d)
  trap 'rm -rf "$scratch"' EXIT
  chmod 1777 "$scratch" # some tests become another user
  if [ "$(df --output=avail -B1G "$scratch" | tail -1)" -ge 4 ] && cp /bin/true "$scratch/" && "$scratch/true"; then
    export TMPDIR=$scratch
  fi
}
