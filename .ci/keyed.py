#!/usr/bin/env python3
"""What `make check` runs: checks keyed by a hash of what they depend on.

.ci/check.json lists them: command, inputs, tools. build/dev/passed.json holds the hash of the
inputs with which each passed last. A check whose hash stands there is left out; every other one
runs whole.

    python3 .ci/keyed.py run [GROUP] [--note]    those that are due; --note notes the passes
    python3 .ci/keyed.py due [GROUP]             names them

With --since REF what no change since that commit touches is not due. WB_WHOLE=1 runs every check,
whatever is noted.
"""

from __future__ import annotations

import argparse
import fnmatch
import hashlib
import json
import os
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TABLE, PASSED = ".ci/check.json", "build/dev/passed.json"
INCLUDE = re.compile(r'^\s*#include\s+"([^"]+)"', re.M)
INCLUDED_FROM = ["workbench", "tests", "kernels/common"]


def git(root: Path, *words: str) -> set[str]:
    """The paths that a git command lists. Raises CalledProcessError."""
    words = ("git", "-C", str(root), *words)
    listed = subprocess.run(words, capture_output=True, text=True, check=True).stdout
    return set(listed.split("\0")) - {""}


def is_named(path: str, one: str) -> bool:
    """Whether an input names the file: itself, a folder above it, or a pattern, whose stars reach
    over folders."""
    return path == one or path.startswith(one + "/") or fnmatch.fnmatchcase(path, one)


class Tree:
    """The files of a checkout: tracked ones and new ones that git does not ignore. Of a tree
    without git, such as an unpacked sdist, nothing is known, and every check is due."""

    def __init__(self, root: Path):
        self.root = root
        try:
            listed = git(root, "ls-files", "-z", "-co", "--exclude-standard")
        except (OSError, subprocess.CalledProcessError):
            listed = set()
        self.paths = sorted(path for path in listed if (root / path).is_file())
        self.known = frozenset(self.paths)

    @cache  # noqa: B019  (one tree a run)
    def hash_of(self, path: str) -> str:
        return hashlib.sha256((self.root / path).read_bytes()).hexdigest()

    def below(self, inputs: list[str]) -> list[str]:
        """The files that inputs name."""
        return [path for path in self.paths if any(is_named(path, one) for one in inputs)]

    @cache  # noqa: B019
    def included_by(self, path: str) -> frozenset[str]:
        """The files of the tree that a C++ file includes itself."""
        if not path.endswith((".cpp", ".hpp", ".h", ".cu", ".cuh")):
            return frozenset()
        text = (self.root / path).read_text(errors="replace")
        found = set()
        for name in INCLUDE.findall(text):
            for folder in [str(Path(path).parent), *INCLUDED_FROM]:
                place = os.path.normpath(f"{folder}/{name}")
                if place in self.known:
                    found.add(place)
                    break
        return frozenset(found)

    def includes(self, paths: list[str]) -> set[str]:
        """What those files include, directly or not."""
        due, seen = list(paths), set(paths)
        while due:
            new = self.included_by(due.pop()) - seen
            seen |= new
            due.extend(new)
        return seen

    @cache  # noqa: B019
    def modules(self) -> dict[str, list[str]]:
        """Each module of workbench/, and the modules whose code it needs: those that it includes,
        and those that their sources include."""
        places = sorted((self.root / "workbench").glob("*/CMakeLists.txt"))
        folders = [place.parent.name for place in places]
        direct = {
            folder: {
                place.split("/")[1]
                for path in self.below([f"workbench/{folder}"])
                for place in self.included_by(path) if place.startswith("workbench/")
            }
            for folder in folders
        }  # fmt: skip
        reached = {}
        for module in folders:
            due, seen = [module], {module}
            while due:
                new = direct.get(due.pop(), set()) - seen
                seen |= new
                due.extend(new)
            reached[module] = sorted(seen - {module})
        return reached


@cache
def version_of(tool: str, root: Path) -> str:
    """What a tool says of itself; a tool that is not there has a word for that, too."""
    done = subprocess.run(tool, shell=True, cwd=root, capture_output=True, text=True)
    return done.stdout.strip() if done.returncode == 0 else "absent"


def checks(tree: Tree, table: str = TABLE) -> dict[str, dict]:
    """The checks by name. One with "each": "module" stands for one of each module, one with
    "each": "file" for one of each file that "files" names. "{one}" is its name, "{below}" each
    module that it, or the module named by "of", needs; "more" has further inputs of some."""
    found = {}
    for name, check in json.loads((tree.root / table).read_text()).items():
        ones: dict[str, list[str]] = {name: tree.modules().get(check.get("of"), [])}
        if check.get("each") == "module":
            ones = {one: below for one, below in tree.modules().items()}
        elif check.get("each") == "file":
            ones = {one: [] for one in tree.below(check["files"])}
        for one, below in ones.items():
            if one in check.get("except", []):
                continue
            inputs = [table]
            for text in check["inputs"] + check.get("more", {}).get(one, []):
                many = below if "{below}" in text else [""]
                inputs += [text.replace("{one}", one).replace("{below}", module) for module in many]
            paths = tree.below(inputs)
            if check.get("with_includes"):
                paths = sorted(tree.includes(paths))
            full = name if one == name else f"{name}:{one}"
            found[full] = {**check, "inputs": inputs, "paths": paths, "kind": name, "one": one}
    return found


def key_of(tree: Tree, check: dict) -> str:
    """The hash of everything that decides how a check ends."""
    state = hashlib.sha256()
    for path in check["paths"]:
        state.update(f"{path}\0{tree.hash_of(path)}\n".encode())
    for tool in check.get("tools", []):
        state.update(f"{tool}\0{version_of(tool, tree.root)}\n".encode())
    return state.hexdigest()


class Ledger:
    """The checks of a table, and which of them passed with which inputs."""

    def __init__(self, tree: Tree, table: str, notes: str):
        self.tree, self.notes = tree, notes
        self.checks = checks(tree, table)
        self.path = tree.root / notes
        self.noted = json.loads(self.path.read_text()) if self.path.exists() else {}

    def due(self, since: str | None = None) -> dict[str, dict]:
        if os.environ.get("WB_WHOLE") == "1" or not self.tree.paths:
            return self.checks
        changed = None if since is None else changes(self.tree.root, since)
        return {
            name: check for name, check in self.checks.items()
            if self.noted.get(name, {}).get("inputs") != key_of(self.tree, check)
            and (changed is None or touches(changed, check))
        }  # fmt: skip

    def note(self, keys: dict[str, str]) -> None:
        """Notes passes; entries of checks that are no more go."""
        for name, key in keys.items():
            self.noted[name] = {"inputs": key}
        kept = {name: self.noted[name] for name in sorted(self.noted) if name in self.checks}
        self.path.parent.mkdir(parents=True, exist_ok=True)
        part = self.path.with_name(self.path.name + ".part")
        part.write_text(json.dumps(kept, indent=1) + "\n")
        part.rename(self.path)


def changes(root: Path, since: str) -> set[str]:
    """The files that differ from a commit, new and removed ones too."""
    differing = git(root, "diff", "-z", "--name-only", "--no-renames", since)
    return differing | git(root, "ls-files", "-z", "-o", "--exclude-standard")


def touches(changed: set[str], check: dict) -> bool:
    """By name, as what was removed has no content to look at, or through an include."""
    named = any(is_named(path, one) for path in changed for one in check["inputs"])
    return named or not changed.isdisjoint(check["paths"])


def run(ledger: Ledger, due: dict[str, dict], build: str, note: bool) -> int:
    """Runs what is due, those of one kind by one command; 1 at the first that fails."""
    kinds: dict[str, list[str]] = {}
    for name, check in due.items():
        kinds.setdefault(check["kind"], []).append(name)
    for names in kinds.values():
        check = due[names[0]]
        ones = " ".join(due[name]["one"] for name in names)
        command = check["command"].replace("{build}", build).replace("{ones}", ones)
        print(f"== {', '.join(names)}", flush=True)
        keys = {name: key_of(ledger.tree, due[name]) for name in names}
        status = subprocess.run(["bash", "-c", command], cwd=ledger.tree.root).returncode
        if status != 0:
            print(f"failed ({status}): {command}", file=sys.stderr)
            return 1
        if note:
            ledger.note(keys)
    return 0


def main(words: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=["run", "due"])
    parser.add_argument("group", nargs="?")
    parser.add_argument("--build", default="build/release")
    parser.add_argument("--root", type=Path, default=ROOT)
    parser.add_argument("--table", default=TABLE)
    parser.add_argument("--notes", default=PASSED)
    parser.add_argument("--since")
    parser.add_argument("--note", action="store_true")
    asked = parser.parse_args(words)
    ledger = Ledger(Tree(asked.root), asked.table, asked.notes)
    mine = {name for name, check in ledger.checks.items() if asked.group in (None, check["group"])}
    due = {name: check for name, check in ledger.due(asked.since).items() if name in mine}
    if asked.what == "due":
        print("\n".join(due))
        return 0
    if asked.since is None:
        for name in sorted(mine - due.keys()):
            print(f"{name}: passed with equal inputs ({asked.notes}); WB_WHOLE=1 runs it")
    return run(ledger, due, asked.build, asked.note)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
