#!/usr/bin/env python3
"""Rules of the tree that a compiler does not check: size caps, header openings, machine paths.

Exit status 1 and one line for each violation.
"""

import re
import subprocess
import sys
from pathlib import Path

HARD_LINES = 500
COLUMNS = 100
CODE = {".cpp", ".hpp", ".h", ".cu", ".cuh", ".py", ".lua"}
# Paths of a machine, addresses of package hosts, and what only one workplace knows.
FORBIDDEN = re.compile(
    r"(/(home/[a-z]|root/|work/|Users/)|https?://(?!(docs|www)\.)[a-z0-9.-]*(pypi|npm|debian)\b)"
)
# Rules about paths must be able to name them.
EXEMPT = {".ci/check_names.py"}


def tracked(root):
    # Untracked files that git does not ignore count: they are about to be committed.
    out = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=root, capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    return [root / line for line in out.splitlines() if (root / line).is_file()]


def check_header(lines):
    """SPDX first; purpose in comments; the first declaration or include by line 10."""
    if "SPDX-License-Identifier" not in lines[0]:
        yield "line 1 must hold the SPDX identifier"
    opening = [line for line in lines[1:10] if line.lstrip().startswith(("//", "*", "/*"))]
    if not opening:
        yield "a header opens with what it is for and who calls it"


def check_file(root, path):
    name = path.relative_to(root).as_posix()
    try:
        text = path.read_text()
    except UnicodeDecodeError:
        return
    lines = text.splitlines()
    if path.suffix in CODE:
        if len(lines) > HARD_LINES:
            yield f"{name}: {len(lines)} lines; the hard cap is {HARD_LINES}"
        for number, line in enumerate(lines, 1):
            if len(line) > COLUMNS and path.suffix in {".cpp", ".hpp", ".h", ".lua"}:
                yield f"{name}:{number}: {len(line)} columns; the cap is {COLUMNS}"
    if path.suffix in {".hpp", ".h", ".cuh"} and lines:
        for fault in check_header(lines):
            yield f"{name}: {fault}"
    if name not in EXEMPT:
        for number, line in enumerate(lines, 1):
            if FORBIDDEN.search(line):
                yield f"{name}:{number}: names a path or host of a machine"


def main(root):
    faults = [fault for path in tracked(root) for fault in check_file(root, path)]
    for fault in faults:
        print(fault, file=sys.stderr)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1] if len(sys.argv) > 1 else ".").resolve()))
