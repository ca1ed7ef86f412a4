"""Playbooks that measure outside iterations, races, and sessions that go on from one another."""

import pytest
from support.commands import EXIT_ENVIRONMENT, SMALL, skip_busy
from support.logs import events


def run_playbook(wb, name, *words):
    """The playbook's run to its end; a machine too busy to measure says nothing about it."""
    done = wb.run(
        "run", name, "--effort", "quick", "--rivals", "none", *words, timeout=400,
    )  # fmt: skip
    if done.returncode == EXIT_ENVIRONMENT:
        skip_busy(done.stderr)
    assert done.returncode == 0, done.stderr
    return done


@pytest.mark.parametrize("name", ["baseline", "confirm"])
def test_a_playbook_that_measures_outside_iterations(wb, tmp_path, name):
    run_playbook(wb, name, "--problem", SMALL, "--session", "s")
    log = events(tmp_path / "s")
    assert log[-1]["type"] == "session_closed"
    outside = [e for e in log if e["type"] == "turn_measured" and e["payload"]["iteration"] is None]
    assert bool(outside) == (name == "baseline")
    assert wb.json("status", "--session", "s")["status"] == "closed"
    wb.run("report", "--session", "s", check=0)


def test_a_race_and_a_session_after_it(wb, tmp_path):
    wb.open_small(session="one")
    answer = wb.json(
        "race", "--variants", "cpu_online", "cpu_tiled", "--hypothesis", "one of them is faster",
        "--predicted-speedup", "2", "--session", "one",
    )  # fmt: skip
    assert answer["outcome"] in {"win", "no_gain"}, answer
    assert {row["variant"] for row in answer["evaluations"]} == {"cpu_online", "cpu_tiled"}
    refused = wb.run("open", "--after", "one", "--session", "two")
    assert refused.returncode != 0
    assert "not closed" in refused.stderr
    assert not (tmp_path / "two").exists()
    wb.run("close", "--session", "one", check=0)
    done = wb.run("open", "--after", "one", "--session", "two", "--json")
    if done.returncode == EXIT_ENVIRONMENT:
        skip_busy(done.stderr)
    assert done.returncode == 0, done.stderr
    first = events(tmp_path / "two")[0]["payload"]
    assert first["series"]["number"] == 2
    assert first["start_variant"] == answer["incumbent"]
    report = wb.run("report", "--session", "two", check=0).stdout
    assert "Session 2 of a series" in report
    assert "`one`" in report
