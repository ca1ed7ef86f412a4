# SPDX-License-Identifier: MIT
"""examples/: each program as a newcomer starts it, in an empty folder. Each takes some seconds for
what it builds and judges; the times of the tables are none that a CPU cannot reach."""

import re

import pytest
from support.commands import ROOT
from support.logs import events


@pytest.fixture
def example(package, wb):
    """Runs an example and returns what it printed."""

    def run(name, *words):
        file = ROOT / "examples" / name
        done = wb.python(package, file, *words) if file.suffix == ".py" else wb.run(
            "run", file, *words
        )  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    return run


def iterations(session):
    return [event["payload"] for event in events(session) if event["type"] == "iteration_closed"]


def test_quickstart(example, wb, tmp_path):
    wb.turns.take(cpu_unfused=2000, cpu_tiled=1000)
    told = example("quickstart.py")
    assert told.startswith("cpu_tiled is right\n")
    assert "**Gain:**" in told
    assert re.search(r"^win: (2\.0|1\.99)", told, re.M), told
    assert [step["outcome"] for step in iterations(tmp_path / "quickstart")] == ["baseline", "win"]
    assert events(tmp_path / "quickstart")[-1]["type"] == "session_closed"


def test_tune(example, wb, tmp_path):
    wb.turns.take(cpu_tiled=1000)
    told = example("tune.py", "searched", "3")
    asked = [event for event in events(tmp_path / "searched") if event["type"] == "evaluation"]
    assert told.startswith("3 of ")
    assert len(asked) == 3
    assert "\nno_gain: " in told
    assert "\nbest: cpu_tiled@" in told
    assert events(tmp_path / "searched")[-1]["type"] == "session_closed"


def test_the_playbook(example, wb, tmp_path):
    session = tmp_path / "played"
    wb.turns.take(cpu_unfused=4000, cpu_online=2000, cpu_tiled=1000)
    example("quickstart.lua", "--rivals", "none", "--session", session, "--arguments", "tiles=16")
    outcomes = [step["outcome"] for step in iterations(session)]
    assert outcomes == ["baseline", "win", "win", "no_gain"]  # two kernels, one tile
    notes = [event["payload"]["text"] for event in events(session) if event["type"] == "note"]
    assert "2 steps won" in notes
    assert events(session)[-1]["type"] == "session_closed"


def test_every_example_is_run_by_a_test():
    folder = ROOT / "examples"
    programs = [*folder.glob("*.lua"), *(
        file for file in folder.glob("*.py") if "__main__" in file.read_text())]  # fmt: skip
    tests = "".join(file.read_text() for file in (ROOT / "tests" / "python").glob("test_ex*.py"))
    assert len(programs) >= 4
    for program in programs:
        assert program.name in tests
