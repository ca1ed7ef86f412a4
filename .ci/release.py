#!/usr/bin/env python3
"""What `make release` does beside the wheel: `release.py ready`, and `release.py finish DIST`.

`ready` takes no time: the version stands in CMakeLists.txt alone, CHANGELOG.md has its heading, and
the tree is that of a commit. `finish` adds the sdist to the wheel in DIST, tries it in a fresh
environment of this Python, which builds everything anew, and writes SHA256SUMS. Needs `build`
(tests/python/requirements.txt).
"""

import hashlib
import os
import re
import subprocess
import sys
import tempfile
from datetime import date
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
NAME = "sdpa_workbench"
SUMS = "SHA256SUMS"


class Refusal(Exception):
    """Why there is no release, and what to do."""


def output_of(*words, **more):
    done = subprocess.run([*map(str, words)], capture_output=True, text=True, **more)
    if done.returncode != 0:
        said = (done.stderr or done.stdout).strip()
        raise Refusal(f"{' '.join(map(str, words))} failed:\n{said[-4000:]}")
    return done.stdout


def version_of(root):
    text = (root / "CMakeLists.txt").read_text()
    found = re.search(rf"^project\({NAME} VERSION ([0-9.]+)", text, re.M)
    if not found:
        raise Refusal(
            f"CMakeLists.txt has no `project({NAME} VERSION X.Y.Z`: write the version there"
        )
    return found[1]


def check_heading(root, version):
    """CHANGELOG.md has `## VERSION (YYYY-MM-DD)`, with a day that there is."""
    text = (root / "CHANGELOG.md").read_text()
    found = re.search(rf"^## {re.escape(version)} \((\d{{4}}-\d\d-\d\d)\)$", text, re.M)
    if not found:
        raise Refusal(
            f"CHANGELOG.md has no heading `## {version} (YYYY-MM-DD)`, which is the version of "
            "CMakeLists.txt: put it between `## Unreleased` and what is released, or change the "
            "version, and commit that"
        )
    try:
        date.fromisoformat(found[1])
    except ValueError:
        raise Refusal(f"CHANGELOG.md: {found[1]} is no day: correct the heading") from None


def tracked(root):
    return set(output_of("git", "ls-files", "-z", cwd=root).split("\0")) - {""}


def check_clean(root):
    """What is released is a commit's, so that it can be found again."""
    if not (root / ".git").exists():
        raise Refusal("this is no checkout of git: make a release in a clone")
    lines = output_of("git", "status", "--porcelain", cwd=root).splitlines()
    if lines:
        more = f" and {len(lines) - 1} more" if len(lines) > 1 else ""
        raise Refusal(
            f"{lines[0][3:]}{more} is in no commit: commit, stash or remove what "
            "`git status` names, then try again"
        )


def ready(root):
    """The version that is to be released. Raises Refusal."""
    version = version_of(root)
    check_heading(root, version)
    check_clean(root)
    return version


def only_file(dist, pattern):
    found = sorted(dist.glob(pattern))
    if len(found) != 1:
        names = ", ".join(path.name for path in found) or "none"
        raise Refusal(f"{dist} must have one file {pattern}, and has: {names}")
    return found[0]


def check_sdist(sdist, version, files, scratch):
    """It unpacks into one folder, which has `files`, its metadata and nothing else."""
    output_of("tar", "-xzf", sdist, "-C", scratch)
    top = scratch / f"{NAME}-{version}"
    if list(scratch.iterdir()) != [top]:
        raise Refusal(f"{sdist.name} does not unpack into the one folder {top.name}")
    held = {str(path.relative_to(top)) for path in top.rglob("*") if not path.is_dir()}
    for what, names in (("lacks", files - held), ("has", held - files - {"PKG-INFO"})):
        if names:
            raise Refusal(f"{sdist.name} {what} {len(names)} files, such as {min(names)}")
    said = re.search(r"^Version: (.*)$", (top / "PKG-INFO").read_text(), re.M)
    if not said or said[1] != version:
        raise Refusal(f"{sdist.name} says that it is {said and said[1]}, not {version}")


def try_sdist(sdist, version, scratch):
    """pip builds and installs it, and the program and the package say the version."""
    output_of(sys.executable, "-m", "venv", scratch / "venv")
    python = scratch / "venv" / "bin" / "python3"
    env = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "WB_BUILD_DIR")}
    output_of(python, "-m", "pip", "--disable-pip-version-check", "install", "--quiet", sdist,
              cwd=scratch, env=env)  # fmt: skip
    said = output_of(python.with_name("sdpa-wb"), "--version", cwd=scratch, env=env).strip()
    if said != f"sdpa-wb {version}":
        raise Refusal(f"installed from {sdist.name}, `sdpa-wb --version` says {said!r}")
    code = "import sdpa_workbench as wb; wb.Session; print(wb.__version__)"
    said = output_of(python, "-c", code, cwd=scratch, env=env).strip()
    if said != version:
        raise Refusal(f"installed from {sdist.name}, the package says that it is {said!r}")


def write_sums(dist, version):
    """SHA-256 of both, for `sha256sum -c`. Returns the names."""
    files = [
        only_file(dist, f"{NAME}-{version}-*.whl"),
        only_file(dist, f"{NAME}-{version}.tar.gz"),
    ]
    lines = [f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in files]
    (dist / SUMS).write_text("".join(lines))
    return [*(path.name for path in files), SUMS]


def finish(root, dist):
    version = ready(root)
    only_file(dist, f"{NAME}-{version}-*.whl")  # before minutes of building
    with tempfile.TemporaryDirectory() as folder:
        scratch = Path(folder).resolve()
        (scratch / "unpacked").mkdir()
        # Elsewhere, since the tree has a folder of the module's name.
        output_of(sys.executable, "-m", "build", "--sdist", "--outdir", dist, root, cwd=scratch)
        sdist = only_file(dist, f"{NAME}-{version}.tar.gz")
        check_sdist(sdist, version, tracked(root), scratch / "unpacked")
        try_sdist(sdist, version, scratch)
    return write_sums(dist, version)


def main(words):
    try:
        if words == ["ready"]:
            print(f"release.py: {ready(ROOT)}")
        elif len(words) == 2 and words[0] == "finish":
            dist = Path(words[1]).resolve()
            print(*(dist / name for name in finish(ROOT, dist)), sep="\n")
        else:
            raise Refusal("usage: release.py ready | finish DIST")
    except Refusal as fault:
        print(f"release.py: {fault}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
