"""Jobs: commands that go on without their terminal, looked at and stopped by other processes."""

import json
import os
import signal
import time

from support.commands import SMALL
from support.logs import events

TUNE = ["tune", "--variant", "cpu_tiled", "--hypothesis", "x", "--predicted-speedup", "1.5",
        "--strategy", "exhaustive"]  # fmt: skip


def wait_gone(pid, patience_s=60):
    deadline = time.monotonic() + patience_s
    while time.monotonic() < deadline:
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return
        time.sleep(0.05)
    raise AssertionError(f"process {pid} still runs")


def test_a_detached_iteration_is_waited_for(wb, tmp_path):
    session = tmp_path / wb.open_small()["session"]
    job = wb.json(
        "iterate", "--variant", "cpu_online", "--hypothesis", "one pass", "--predicted-speedup",
        "1.2", "--session", session, "--detach",
    )  # fmt: skip
    assert job["job"] == "i1"
    assert job["pid"] != os.getpid()
    done = wb.json("get", "job", "i1", "--wait-s", "120", "--session", session)
    assert done["done"] is True
    assert done["iteration"]["outcome"] in {"win", "no_gain", "invalid"}
    wait_gone(job["pid"])
    after = wb.json("get", "job", "--session", session)
    assert (after["state"], after["pid"]) == ("idle", None)
    # What the command would have printed is kept.
    assert json.loads((tmp_path / job["output"]).read_text())["iteration"] == 1


def test_a_job_is_cancelled_and_goes_on(wb, tmp_path):
    session = tmp_path / wb.open_small()["session"]
    job = wb.json(*TUNE, "--session", session, "--detach")
    assert job["state"] == "running"
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


def test_a_killed_job_is_called_interrupted(wb, tmp_path):
    session = tmp_path / wb.open_small()["session"]
    job = wb.json(*TUNE, "--session", session, "--detach")
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
