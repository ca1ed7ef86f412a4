#!/bin/sh
# Usage: run.sh SDPA_WB ROOT FILE
# Dry-runs a playbook and compares how it ends with its first line:
#   -- expect: ok ["part of the output"]
#   -- expect: exit CODE "part of the message"
program=$1 root=$2 file=$3
IFS= read -r first <"$file"
case $first in
  "-- expect: ok"*) expected=0 ;;
  "-- expect: exit "*) expected=${first#"-- expect: exit "} expected=${expected%% *} ;;
  *) echo "$file: its first line is no expectation" && exit 1 ;;
esac
case $first in
  *'"'*'"') part=${first#*\"} part=${part%\"} ;;
  *) part= ;;
esac
said=$("$program" playbook check "$file" --path "$root" --quiet 2>&1 </dev/null)
code=$?
if [ "$code" -ne "$expected" ]; then
  printf '%s: exit %s, expected %s\n%s\n' "$file" "$code" "$expected" "$said"
  exit 1
fi
case $said in
  *"$part"*) ;;
  *) printf '%s: its message lacks "%s"\n%s\n' "$file" "$part" "$said" && exit 1 ;;
esac
# One message: what was attempted, on what, why, what to do.
if [ "$expected" -ne 0 ] && [ "$(printf '%s\n' "$said" | wc -l)" -ne 1 ]; then
  printf '%s: more than one line\n%s\n' "$file" "$said"
  exit 1
fi
