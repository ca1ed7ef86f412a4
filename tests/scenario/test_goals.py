"""playbooks/lib: goals.lua, kernels of the dispatch rules beside rivals, held against goals;
climb.lua, steps one after the other."""

import shutil
from pathlib import Path

import pytest
from support.commands import ROOT
from support.logs import events

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
    report = wb.run("report", "--session", "s", check=0).stdout
    assert "## Compared between iterations" in report


def test_a_part_that_is_not_there_is_an_error(wb, playbooks):
    done = wb.run(
        "run", str(playbooks / "beside.lua"), "--rivals", "none", "--session", "s",
        "--arguments", "rivals=cpu_unfused", "parts=easier",
    )  # fmt: skip
    assert done.returncode == 65, done.stderr
    assert "no such part: easier" in done.stderr
