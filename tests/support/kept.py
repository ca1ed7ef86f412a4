# SPDX-License-Identifier: MIT
"""The sessions that are kept in the project, for tests that read them."""

import gzip
import re
import shutil
import subprocess
import tarfile
from pathlib import Path

from support.commands import ROOT
from support.logs import session_name


def kept(name):
    """The archive of a session that is kept in the project."""
    return ROOT / "sessions" / f"{name}.tar.gz"


def report_of(archive):
    """The report of a kept session, which lies beside its archive."""
    return archive.with_name(f"{session_name(archive)}.md")


def kept_sessions(root):
    """The archives that are kept in the project, each with its report beside it. A demo or a user
    leaves others: in a git checkout those are not tracked, elsewhere they are folders, have no
    report beside them, or are called as new sessions are."""
    found = [path for path in sorted(root.glob("*.tar.gz")) if report_of(path).is_file()]
    tracked = []
    if shutil.which("git"):
        words = ["git", "-C", root, "ls-files", "-z", "--", "*.tar.gz"]
        listed = subprocess.run(words, capture_output=True, text=True)
        tracked = listed.stdout.split("\0") if listed.returncode == 0 else []
    if any(tracked):
        return [path for path in found if path.name in tracked]
    return [path for path in found if not re.fullmatch(r"s-\d{4,}", session_name(path))]


def unpack(archive, folder):
    """The one folder that an archive holds, unpacked below `folder`."""
    folder.mkdir(parents=True)
    with tarfile.open(archive) as tar:
        if hasattr(tarfile, "data_filter"):  # not in Debian 12's own Python
            tar.extractall(folder, filter="data")
        else:
            tar.extractall(folder)
    (only,) = folder.iterdir()
    return only


def pack_as_before(session):
    """Gives a folder the form that kept sessions had before archives: log, pages for programs and
    blobs packed for themselves, under a name with .gz or, of blobs, under their own."""
    for path in [session / "events.jsonl", *session.glob("iterations/*.json")]:
        Path(f"{path}.gz").write_bytes(gzip.compress(path.read_bytes(), mtime=0))
        path.unlink()
    for path in session.glob("blobs/*"):
        path.write_bytes(gzip.compress(path.read_bytes(), mtime=0))
    return session


SESSIONS = kept_sessions(ROOT / "sessions")
