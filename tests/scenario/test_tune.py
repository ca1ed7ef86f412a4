# SPDX-License-Identifier: MIT
"""Tuning through the command line: real builds, real turns, a tune killed and gone on with. And
jobs: commands that go on without their terminal, looked at and stopped by other processes."""

import json
import os
import signal
import time
from pathlib import Path

import pytest
from support.commands import SMALL
from support.logs import events

TUNE = [
    "tune", "--variant", "cpu_tiled", "--hypothesis", "smaller tiles suit a small problem",
    "--predicted-speedup", "1.5",
]  # fmt: skip


def evaluations(session):
    return [e["payload"] for e in events(session) if e["type"] == "evaluation"]


def test_a_tune_is_one_iteration(wb, tmp_path):
    wb.turns.take(cpu_tiled=50)
    session = tmp_path / wb.open_small()["session"]
    answer = wb.json(*TUNE, "--strategy", "exhaustive", "--evaluations", "4", "--session", session)
    assert answer["outcome"] == "win", answer
    assert answer["speedup"] == pytest.approx(2, rel=0.01)
    asked = evaluations(session)
    assert len(asked) == answer["tune"]["told"] == 4
    assert len({json.dumps(one["configuration"], sort_keys=True) for one in asked}) == 4
    assert set(answer["configuration"]) == {"TILE_M", "TILE_N"}
    # Each says which verdict it had, and what was confirmed had the whole one before.
    log = [(e["type"], e["payload"]) for e in events(session)]
    compared = {"faster", "slower", "same", "ambiguous"}
    assert all((one["proof"] != "none") == (one["outcome"] in compared) for one in asked), asked
    assert next(one["proof"] for one in asked if one["proof"] != "none") == "whole"
    first = next(
        n for n, (kind, said) in enumerate(log)
        if kind == "turn_measured" and said["phase"] == "confirmation"
    )  # fmt: skip
    judged = [
        said["subject"] for kind, said in log[:first]
        if kind == "verdict_given" and said["proof"] == "whole" and said["pass"]
    ]  # fmt: skip
    assert log[first][1]["subject"] in judged
    # What chose is not what is reported: the figure stands on turns of the confirmation.
    types = [e["type"] for e in events(session)]
    assert types.count("iteration_opened") == types.count("iteration_closed")
    phases = [e["payload"]["phase"] for e in events(session) if e["type"] == "turn_measured"]
    assert "tune" in phases
    assert phases[-1] == "confirmation"
    report = wb.run("report", "--kind", "full", "--session", session, check=0).stdout
    assert "4 evaluations" in report, report


def test_a_killed_tune_goes_on_at_the_first_missing_evaluation(wb, tmp_path):
    wb.open_small(session="s")
    words = [*TUNE, "--strategy", "exhaustive", "--evaluations", "4", "--session", "s"]
    held = wb.turns.hold("run", 2)  # every configuration but the first is run once before its turns
    running = wb.start(*words)
    held.wait(running)
    running.send_signal(signal.SIGKILL)
    running.communicate()
    before = evaluations(tmp_path / "s")
    assert len(before) == 2
    held.release()
    answer = wb.json(*words)
    assert answer["tune"]["replayed"] == 2
    assert answer["tune"]["told"] == 4
    asked = evaluations(tmp_path / "s")
    assert asked[:2] == before
    configurations = [json.dumps(one["configuration"]) for one in asked]
    assert len(configurations) == len(set(configurations)) == 4


def test_a_budget_of_seconds_ends_the_search(wb, tmp_path):
    session = tmp_path / wb.open_small()["session"]
    # A hundredth of a second is over before the first evaluation is.
    answer = wb.json(*TUNE, "--strategy", "exhaustive", "--seconds", "0.01", "--session", session)
    assert answer["tune"]["ended"].startswith("budget"), answer["tune"]
    assert answer["tune"]["told"] <= 1


def test_the_playbook_tunes_and_closes(wb, tmp_path):
    answer = wb.json(
        "run", "tune", "--problem", SMALL, "--rivals", "none", "--session", "s",
        "--arguments", "evaluations=3", "--arguments", "strategy=racing",
    )  # fmt: skip
    assert "session" in answer, answer
    closed = events(tmp_path / "s")[-1]
    assert closed["type"] == "session_closed"
    assert closed["payload"]["recommendation"]


def test_bad_arguments_open_no_iteration(wb, tmp_path):
    session = tmp_path / wb.open_small(list_prices="none")["session"]
    before = [e for e in events(session) if e["type"] == "iteration_opened"]
    for words, said in [
        (["--strategy", "annealing"], "strategy"),
        (["--evaluations", "0"], "evaluations"),
        (["--usd", "0.5"], "rate"),
    ]:
        done = wb.run(*TUNE, *words, "--session", session)
        assert done.returncode == 2, (words, done)
        assert said in done.stderr, (words, done.stderr)
    other = ["cpu_unfused" if word == "cpu_tiled" else word for word in TUNE]
    assert "no tunable parameters" in wb.run(*other, "--session", session, check=65).stderr
    assert [e for e in events(session) if e["type"] == "iteration_opened"] == before


# Jobs: commands that go on without their terminal, looked at and stopped by other processes.

TUNE_FOR_LONG = [*TUNE, "--strategy", "exhaustive"]


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
    job = wb.json(*TUNE_FOR_LONG, "--session", "s", "--detach")
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
    busy = wb.run(*TUNE_FOR_LONG, "--session", session, check=75)
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
