"""Tuning through the command line: real builds, real turns, a tune killed and gone on with."""

import json
import signal

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
    report = wb.run("report", "--session", session, check=0).stdout
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
    session = tmp_path / wb.open_small()["session"]
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
