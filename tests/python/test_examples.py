# SPDX-License-Identifier: MIT
"""examples/: each program as a newcomer starts it, in an empty folder."""

import os
import subprocess
import sys

import pytest
from support.commands import EXIT_ENVIRONMENT, ROOT, importing, skip_busy
from support.logs import events


@pytest.fixture
def example(package, build, cache, tmp_path):
    """Runs an example and returns what it printed."""
    (tmp_path / "kernels").symlink_to(ROOT / "kernels")

    def run(name, *words):
        file = ROOT / "examples" / name
        # The examples name neither: a program has its cache and its way to the engine from here.
        env = os.environ | importing(package) | {"XDG_CACHE_HOME": str(cache)}
        start = [sys.executable, file] if file.suffix == ".py" else [build / "sdpa-wb", "run", file]
        done = subprocess.run(
            [*start, *words], cwd=tmp_path, env=env, text=True, capture_output=True, timeout=280
        )
        if done.returncode == EXIT_ENVIRONMENT or "EnvironmentFault" in done.stderr:
            skip_busy(done.stderr)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    return run


def iterations(session):
    return [event["payload"] for event in events(session) if event["type"] == "iteration_closed"]


def test_quickstart(example, tmp_path):
    told = example("quickstart.py")
    assert told.startswith("cpu_tiled is right\n")
    assert "**Gain:**" in told
    _, iteration = iterations(tmp_path / "quickstart")
    assert f"\n{iteration['outcome']}: " in told
    assert events(tmp_path / "quickstart")[-1]["type"] == "session_closed"


def test_tune(example, tmp_path):
    told = example("tune.py", "searched", "3")
    asked = [event for event in events(tmp_path / "searched") if event["type"] == "evaluation"]
    assert told.startswith("3 of ")
    assert len(asked) == 3
    assert "\nbest: cpu_tiled@" in told
    assert events(tmp_path / "searched")[-1]["type"] == "session_closed"


def test_the_playbook(example, tmp_path):
    session = tmp_path / "played"
    example("quickstart.lua", "--rivals", "none", "--session", session, "--arguments", "tiles=16")
    closed = iterations(session)
    wins = sum(iteration["outcome"] == "win" for iteration in closed)
    assert len(closed) == 4  # the baseline, two kernels, one tile
    notes = [event["payload"]["text"] for event in events(session) if event["type"] == "note"]
    assert f"{wins} steps won" in notes
    assert events(session)[-1]["type"] == "session_closed"


def test_every_example_is_run_by_a_test():
    folder = ROOT / "examples"
    programs = [*folder.glob("*.lua"), *(
        file for file in folder.glob("*.py") if "__main__" in file.read_text())]  # fmt: skip
    tests = "".join(file.read_text() for file in (ROOT / "tests" / "python").glob("test_ex*.py"))
    assert len(programs) >= 4
    for program in programs:
        assert program.name in tests
