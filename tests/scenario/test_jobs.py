"""Jobs: commands that go on without their terminal, looked at and stopped by other processes."""

import json
import os
import signal
import time
from pathlib import Path

import pytest
from support.commands import SMALL
from support.logs import events

TUNE = ["tune", "--variant", "cpu_tiled", "--hypothesis", "x", "--predicted-speedup", "1.5",
        "--strategy", "exhaustive"]  # fmt: skip


def runs(pid):
    """A zombie, which nobody reaps where process 1 of a container does not, is gone."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state not in "ZX"


def wait_gone(pid, patience_s=60):
    deadline = time.monotonic() + patience_s
    while runs(pid):
        assert time.monotonic() < deadline, f"process {pid} still runs"
        time.sleep(0.05)


@pytest.fixture
def job(wb):
    """A detached tune of a session `s` that waits for its second turn."""
    wb.open_small()
    held = wb.turns.hold("turn", 2)
    job = wb.json(*TUNE, "--session", "s", "--detach")
    assert job["state"] == "running"
    while not (held.folder / "held").exists():
        assert runs(job["pid"])
        time.sleep(0.01)
    return job


def test_a_detached_iteration_is_waited_for(wb, tmp_path):
    session = tmp_path / wb.open_small()["session"]
    wb.turns.take(cpu_online=80)
    job = wb.json(
        "iterate", "--variant", "cpu_online", "--hypothesis", "one pass", "--predicted-speedup",
        "1.2", "--session", session, "--detach",
    )  # fmt: skip
    assert job["job"] == "i1"
    assert job["pid"] != os.getpid()
    done = wb.json("get", "job", "i1", "--wait-s", "120", "--session", session)
    assert done["done"] is True
    assert done["iteration"]["outcome"] == "win"
    wait_gone(job["pid"])
    after = wb.json("get", "job", "--session", session)
    assert (after["state"], after["pid"]) == ("idle", None)
    # What the command would have printed is kept.
    assert json.loads((tmp_path / job["output"]).read_text())["iteration"] == 1


def test_a_job_is_cancelled_and_goes_on(wb, job, tmp_path):
    session = tmp_path / "s"
    busy = wb.run(*TUNE, "--session", session, check=75)
    assert str(job["pid"]) in busy.stderr
    stopped = wb.json("cancel", "job", "--session", session)
    assert stopped == {"pid": job["pid"], "ended": True, "text": stopped["text"]}
    wait_gone(job["pid"])
    assert wb.json("cancel", "job", "--session", session)["pid"] is None
    last = wb.json("get", "job", "--session", session)
    assert last["iteration"]["outcome"] == "abandoned"
    types = [e["type"] for e in events(session)]
    assert "session_paused" in types


def test_a_killed_job_is_called_interrupted(wb, job, tmp_path):
    session = tmp_path / "s"
    os.kill(job["pid"], signal.SIGKILL)
    wait_gone(job["pid"])
    done = wb.json("get", "job", "--wait-s", "30", "--session", session)
    assert done["state"] == "interrupted"
    assert "sdpa-wb resume" in done["text"]


def test_what_fails_before_it_holds_a_session_says_so(wb, tmp_path):
    wb.open_small("s")
    before = len(events(tmp_path / "s"))
    taken = wb.run(
        "open", "--start", "cpu_unfused", "--problem", SMALL, "--session", "s", "--detach"
    )
    assert taken.returncode == 65
    assert "not empty" in taken.stderr
    assert len(events(tmp_path / "s")) == before
    wrong = wb.run("check", "cpu_online", "--problem", SMALL, "--detach", check=2)
    assert "cannot detach check" in wrong.stderr
    assert wb.run("get", "job", "i7", "--session", "s", check=2).stderr
    assert "i3" in wb.run("get", "job", "seven", "--session", "s", check=2).stderr
    assert not [p for p in tmp_path.iterdir() if p.name.startswith(".s.job")]
