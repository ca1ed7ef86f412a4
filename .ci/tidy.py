"""clang-tidy over the sources of a compilation database, or of some modules: tidy.py TIDY BUILD
[MODULE...], with the checks of .clang-tidy and one more.

Files that are compiled as one see each other's anonymous namespaces: a call that means a function
of a header may take a neighbor's overload instead. A batch of a unity build gets one more check, a
query on clang's own tree: a name in one file that stands for what another file declared in an
anonymous namespace. There are no exceptions: the file alone would not compile, or mean another.

What passed is not looked at again while all files that it reads, its options, the checks and the
program stay as they were: an empty file in the user's cache, named by a hash of them, says so.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shlex
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
KEPT_DAYS = 30
PRIVATE = "hasAncestor(namespaceDecl(isAnonymous()))"
CHECK = """
CustomChecks:
  - Name: unity-capture
    Query: |
      match declRefExpr(anyOf({files}), to(namedDecl({private}))).bind("use")
    Diagnostic:
      - BindName: use
        Message: means what another file of the batch keeps to itself; give one another name
        Level: Warning
"""
# One of the checks of .clang-tidy is about what a unity build does.
OPTIONS = [
    "--quiet", "--warnings-as-errors=*", "--experimental-custom-checks",
    "--checks=custom-*,-bugprone-suspicious-include",
    "--extra-arg=-Wno-unknown-warning-option", "--extra-arg=-Wno-deprecated-declarations",
    "--extra-arg=-Wno-unused-command-line-argument",
]  # fmt: skip


def check(batch: Path) -> str:
    """The one more check of a batch, as YAML."""
    included = re.findall(r'#include "([^"]+)"', batch.read_text(encoding="utf-8"))
    if len(included) < 2:
        return ""  # no neighbor
    in_file = [f'isExpansionInFileMatching("{re.escape(name)}$")' for name in included]
    files = [f"allOf({one}, to(namedDecl(unless({one}))))" for one in in_file]
    return CHECK.format(files=",\n        ".join(files), private=PRIVATE)


def plant(folder: Path) -> Path:
    """A batch with a captured call, to see that the check still finds one."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "first.cpp").write_text(
        "namespace wb { namespace { int found(int at) { return at; } }\n"
        "int first() { return found(1); } }\n"
    )
    (folder / "later.cpp").write_text(
        "namespace wb { int found(double at); int later() { return found(2); } }\n"
    )
    batch = folder / "planted.cxx"
    names = (f'#include "{folder.resolve() / name}"' for name in ("first.cpp", "later.cpp"))
    batch.write_text("\n".join(names) + "\n")
    return batch


@cache
def digest(path: Path) -> str:
    """A file's content; that it is not there is one, too."""
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""


def hash_of(*texts: str) -> str:
    """One name for texts, in whichever folder the checkout lies."""
    return hashlib.sha256("\0".join(texts).replace(str(ROOT), ".").encode()).hexdigest()


class Stamps:
    """What passed, by content: empty files in the user's cache. Beside them, for each source and
    its options, the files that it read when it was looked at last."""

    def __init__(self, version: str):
        cache_home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
        self.folder = Path(cache_home) / "sdpa-workbench-tidy"
        self.folder.mkdir(parents=True, exist_ok=True)
        self.version = version

    def key(self, entry: dict, config: Path) -> str:
        texts = (self.version, *OPTIONS, entry["command"], config.read_text(encoding="utf-8"))
        return hash_of(*texts, entry["file"], Path(__file__).read_text(encoding="utf-8"))

    def stamp(self, key: str, read: list[Path]) -> Path:
        # What a batch of the build folder says is paths of sources.
        texts = [f"{path}\0{hash_of(path.read_text()) if path.suffix == '.cxx' else digest(path)}"
                 for path in read]  # fmt: skip
        return self.folder / hash_of(key, *texts)

    def known(self, key: str) -> Path | None:
        """The stamp of a source that passed in this state."""
        files = self.folder / f"{key}.files"
        if not files.is_file():
            return None
        read = [ROOT / name for name in files.read_text(encoding="utf-8").splitlines()]
        if any(path.suffix == ".cxx" and not path.is_file() for path in read):
            return None
        stamp = self.stamp(key, read)
        for path in (files, stamp):
            if not path.is_file():
                return None
            os.utime(path)
        return stamp

    def reads(self, key: str, entry: dict) -> Path:
        """Notes which files a source reads. Returns its stamp, which is not there yet. Raises
        CalledProcessError where it does not compile."""
        words = shlex.split(entry["command"])
        at = words.index("-o")
        words = [*words[:at], *words[at + 2 :], "-M"]
        done = subprocess.run(
            words, cwd=entry["directory"], capture_output=True, text=True, check=True
        )
        names = done.stdout.replace("\\\n", " ").split(":", 1)[1].split()
        read = sorted({Path(os.path.normpath(Path(entry["directory"]) / one)) for one in names})
        lines = [str(one.relative_to(ROOT) if one.is_relative_to(ROOT) else one) for one in read]
        (self.folder / f"{key}.files").write_text("\n".join(lines), encoding="utf-8")
        return self.stamp(key, read)

    def trim(self) -> None:
        """Lets go of what no run asked for in a long time."""
        oldest = time.time() - KEPT_DAYS * 86400
        for path in self.folder.iterdir():
            if path.stat().st_mtime < oldest:
                path.unlink(missing_ok=True)


def config_of(source: Path) -> Path:
    """The checks of one source, as a file."""
    if source.suffix != ".cxx":
        return ROOT / ".clang-tidy"
    config = Path(f"{source}.tidy")
    common = (ROOT / ".clang-tidy").read_text(encoding="utf-8")
    config.write_text(common + check(source), encoding="utf-8")
    return config


def look_at(tidy: str, build: Path, source: Path) -> subprocess.CompletedProcess:
    """Runs clang-tidy on one source."""
    return subprocess.run(
        [tidy, "-p", build, f"--config-file={config_of(source)}", *OPTIONS, source],
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
    )  # fmt: skip


def main(tidy: str, build: Path, modules: list[str]) -> int:
    # Where .clang-tidy looks at headers.
    planted = look_at(tidy, build, plant(build / "workbench" / "planted"))
    if "unity-capture" not in planted.stdout:
        print("tidy: clang-tidy does not find the planted capture of .ci/tidy.py", file=sys.stderr)
        return 1
    version = subprocess.run([tidy, "--version"], capture_output=True, text=True, check=True)
    stamps = Stamps(version.stdout)
    entries = json.loads((build / "compile_commands.json").read_text(encoding="utf-8"))
    asked = [
        entry for entry in entries
        if Path(entry["file"]).suffix in (".cpp", ".cxx")
        and (not modules or any(f"/workbench/{one}/" in entry["file"] for one in modules))
    ]  # fmt: skip

    def passes(entry: dict) -> str:
        """Whether a source passed: "before", "now", or "" after what clang-tidy said."""
        source = Path(entry["file"])
        key = stamps.key(entry, config_of(source))
        if stamps.known(key):
            return "before"
        stamp = stamps.reads(key, entry)
        done = look_at(tidy, build, source)
        if done.returncode != 0:
            print(done.stdout, end="", flush=True)
            return ""
        stamp.touch()
        return "now"

    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        found = list(pool.map(passes, asked))
    stamps.trim()
    print(f"tidy: {len(asked)} batches, {found.count('before')} of them as they passed before")
    return 1 if "" in found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], Path(sys.argv[2]).resolve(), sys.argv[3:]))
