"""The sessions that are kept under sessions/: each report follows from its log, byte for byte."""

import gzip
import json
import subprocess

import pytest
from conftest import SESSIONS

MOST_BYTES = 2_000_000  # of a whole session: they are read, moved and kept as files of a repository


def test_there_are_some():
    assert len(SESSIONS) >= 22


@pytest.mark.parametrize("session", SESSIONS, ids=lambda path: path.name)
def test_its_report_is_made_again(wb, session):
    done = wb.run("report", "--session", str(session))
    assert done.returncode == 0, done.stderr
    assert done.stdout == (session / "reports/session.md").read_text()


@pytest.mark.parametrize("session", SESSIONS, ids=lambda path: path.name)
def test_it_is_small_and_closed(session):
    files = [path for path in session.rglob("*") if path.is_file()]
    assert sum(path.stat().st_size for path in files) <= MOST_BYTES
    packed = session / "events.jsonl.gz"
    with gzip.open(packed, "rt") as lines:
        types = [json.loads(line)["type"] for line in lines]
    assert types[0] == "session_opened"
    assert "session_closed" in types


def test_a_packed_session_says_how_to_go_on(wb, tmp_path):
    folder = tmp_path / "kept"
    subprocess.run(["cp", "-r", SESSIONS[0], folder], check=True)
    done = wb.run("note", "one more", "--session", str(folder))
    assert done.returncode != 0
    assert "gunzip" in done.stderr
    assert not (folder / "events.jsonl").exists()
