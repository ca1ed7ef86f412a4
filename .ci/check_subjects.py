#!/usr/bin/env python3
"""A commit's subject has at most 72 characters: `check_subjects.py [ROOT]`.

Looked at are the commits after the one that .ci/subjects_since names. Exit status 1 and one line
for each that is longer. A shallow clone without that commit is looked at as far as it goes.
"""

import subprocess
import sys
from pathlib import Path

MOST = 72


def git(root, *words):
    return subprocess.run(["git", *words], cwd=root, capture_output=True, text=True)


def main(root):
    since = (root / ".ci" / "subjects_since").read_text().strip()
    known = git(root, "merge-base", "--is-ancestor", since, "HEAD").returncode == 0
    if not known:
        # Told apart from a wrong name, which would make this check look at everything.
        shallow = git(root, "rev-parse", "--is-shallow-repository").stdout.strip() == "true"
        if not shallow:
            return [f".ci/subjects_since: {since} is no commit before this one"]
    commits = f"{since}..HEAD" if known else "HEAD"
    listed = git(root, "log", "--no-merges", "--format=%h %s", commits)
    if listed.returncode != 0:
        return [f"git log: {listed.stderr.strip()}"]
    found = []
    for line in listed.stdout.splitlines():
        commit, _, subject = line.partition(" ")
        if len(subject) > MOST:
            found.append(f"{commit}: the subject has {len(subject)} characters; at most {MOST}")
    return found


if __name__ == "__main__":
    found = main(Path(sys.argv[1] if len(sys.argv) > 1 else ".").resolve())
    print("\n".join(found), file=sys.stderr, end="\n" if found else "")
    sys.exit(1 if found else 0)
