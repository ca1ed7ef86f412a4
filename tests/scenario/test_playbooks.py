# SPDX-License-Identifier: MIT
"""Playbooks by the real command: those that measure outside iterations, races, sessions that go on
from one another, goals (lib/goals.lua) and steps one after the other (lib/climb.lua)."""

import shutil
from pathlib import Path

import pytest
from support.commands import ROOT, SMALL
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
    report = wb.run("report", "--kind", "full", "--session", "two", check=0).stdout
    assert "Session 2 of a series" in report
    assert "`s`" in report


def test_the_demo_ends_with_where_it_stands(wb):
    wb.turns.take(
        cpu_unfused=800, cpu_online=400, cpu_tiled=200, cpu_simd_flash=100, cpu_splitkv=20
    )
    problems = [SMALL, "B=2 Hq=2 Sq=32 D=32 f32"]
    done = wb.run(
        "run", "optimize", "--session", "s", "--effort", "quick", "--rivals", "cpu_splitkv",
        "--problem", "; ".join(problems), "--evaluations", "3", check=0,
    )  # fmt: skip
    assert wb.json("status", "--session", "s")["incumbent"].startswith("cpu_simd_flash@")
    begin = "Behind PyTorch on 2 of 2 problems: "
    last = done.stdout.strip().splitlines()[-1]
    assert last.startswith(begin)
    for part in last.removeprefix(begin).split("; "):
        assert " 0.20x of cpu_splitkv: " in part
        assert part.split(" of cpu_splitkv: ")[1]  # what would change it


# playbooks/lib: goals.lua, kernels of the dispatch rules beside rivals, held against goals;
# climb.lua, steps one after the other.

OWN = Path(__file__).parent / "playbooks"


@pytest.fixture
def playbooks(tmp_path):
    """Playbooks of the tests beside the libraries of the product's."""
    folder = tmp_path / "playbooks"
    shutil.copytree(ROOT / "playbooks" / "lib", folder / "lib")
    for name in ("beside", "climb_from", "judge_goals"):
        shutil.copy(OWN / f"{name}.lua", folder)
    return folder


def test_a_climb_goes_on_from_a_step(wb, playbooks):
    wb.run("playbook", "check", str(playbooks / "climb_from.lua"), check=0)


def test_what_goals_say_of_rows(wb, playbooks):
    wb.run("playbook", "check", str(playbooks / "judge_goals.lua"), check=0)


def test_goals_are_measured_in_the_same_turns_and_noted(wb, playbooks, tmp_path):
    wb.turns.take(cpu_tiled=50, cpu_unfused=200, cpu_online=100)
    wb.run(
        "run", str(playbooks / "beside.lua"), "--rivals", "none", "--session", "s",
        "--arguments", "rivals=cpu_unfused+cpu_online", check=0,
    )  # fmt: skip
    log = events(tmp_path / "s")
    notes = [e["payload"]["text"] for e in log if e["type"] == "note"]
    assert any(n.startswith("easy: ") and "goal reached" in n for n in notes), notes
    hard = next(n for n in notes if n.startswith("hard: "))
    assert "goal missed" in hard
    assert "n6_S64 " in hard.split("short: ")[1]
    assert "n6_S65 " in hard.split("short: ")[1]
    made = [e["payload"] for e in log if e["type"] == "comparison_made"]
    beside = {m["against"].split("@")[0] for m in made if m["phase"] == "standalone"}
    assert beside == {"cpu_unfused", "cpu_online"}
    assert {m["regime"] for m in made if m["phase"] == "standalone"} == {"burst"}
    report = wb.run("report", "--kind", "full", "--session", "s", check=0).stdout
    assert "## Compared between iterations" in report


def test_a_part_that_is_not_there_is_an_error(wb, playbooks):
    done = wb.run(
        "run", str(playbooks / "beside.lua"), "--rivals", "none", "--session", "s",
        "--arguments", "rivals=cpu_unfused", "parts=easier",
    )  # fmt: skip
    assert done.returncode == 65, done.stderr
    assert "no such part: easier" in done.stderr
