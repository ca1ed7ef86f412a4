# SPDX-License-Identifier: MIT
"""What a session has written, for tests that look into it."""

import hashlib
import json
import subprocess
import tarfile
import time
from pathlib import Path


def session_name(path):
    """What a session is called, by its folder or its archive."""
    return path.name.removesuffix(".tar.gz")


def log_of(session: Path):
    """The text of the log of a folder or an archive."""
    if session.is_dir():
        return (session / "events.jsonl").read_text()
    with tarfile.open(session) as tar:
        return tar.extractfile(f"{session_name(session)}/events.jsonl").read().decode()


def events(session: Path):
    """The parsed log; a torn last line is left out, as readers do."""
    return [json.loads(line) for line in log_of(session).split("\n")[:-1]]


def git(session, *words):
    done = subprocess.run(
        ["git", "-C", str(session), *words], capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


def check_chain(session):
    previous = "0" * 64
    for number, line in enumerate((session / "events.jsonl").read_bytes().split(b"\n")[:-1], 1):
        event = json.loads(line)
        assert event["seq"] == number
        assert event["prev"] == previous
        previous = hashlib.sha256(line).hexdigest()


def wait_for_log(process, session):
    """A session exists from its first event on; before that there is nothing to resume."""
    log = session / "events.jsonl"
    while process.poll() is None:
        if log.exists() and "session_opened" in log.read_text():
            return
        time.sleep(0.01)
