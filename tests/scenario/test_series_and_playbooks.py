"""Playbooks that measure outside iterations, races, and sessions that go on from one another."""

import pytest
from support.commands import SMALL
from support.logs import events


@pytest.mark.parametrize(
    ("name", "words"),
    [("baseline", ["--arguments", "rivals=cpu_online"]), ("confirm", [])],
    ids=["baseline", "confirm"],
)
def test_a_playbook_that_measures_outside_iterations(wb, tmp_path, name, words):
    wb.turns.take(cpu_tiled=50)
    wb.run("run", name, "--effort", "quick", "--rivals", "none", "--problem", SMALL,
           "--session", "s", *words, check=0)  # fmt: skip
    log = events(tmp_path / "s")
    assert log[-1]["type"] == "session_closed"
    outside = [e for e in log if e["type"] == "turn_measured" and e["payload"]["iteration"] is None]
    assert bool(outside) == (name == "baseline")
    assert wb.json("status", "--session", "s")["status"] == "closed"
    wb.run("report", "--session", "s", check=0)


def test_a_race_and_a_session_after_it(wb, tmp_path):
    wb.open_small()
    wb.turns.take(cpu_online=80, cpu_tiled=50)
    answer = wb.json(
        "race", "--variants", "cpu_online", "cpu_tiled", "--hypothesis", "one of them is faster",
        "--predicted-speedup", "2", "--session", "s",
    )  # fmt: skip
    assert answer["outcome"] == "win", answer
    assert answer["incumbent"].startswith("cpu_tiled@")
    assert {row["variant"] for row in answer["evaluations"]} == {"cpu_online", "cpu_tiled"}
    refused = wb.run("open", "--after", "s", "--session", "two")
    assert refused.returncode != 0
    assert "not closed" in refused.stderr
    assert not (tmp_path / "two").exists()
    wb.run("close", "--session", "s", check=0)
    wb.run("open", "--after", "s", "--session", "two", check=0)
    first = events(tmp_path / "two")[0]["payload"]
    assert first["series"]["number"] == 2
    assert first["start_variant"] == answer["incumbent"]
    report = wb.run("report", "--session", "two", check=0).stdout
    assert "Session 2 of a series" in report
    assert "`s`" in report
