# SPDX-License-Identifier: MIT
"""Can a comparison on this machine be believed? Equal code must not be called faster or slower,
other work on the CPUs must widen the interval, not make a winner, and what remembers results wins
nothing. The quick selection runs in `make test-long`; WB_TRUST=1 makes 200 comparisons of equal
code and 20 beside a load generator."""

import importlib.util
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from support.commands import EXIT_ENVIRONMENT, ROOT, skip_busy

WHOLE = os.environ.get("WB_TRUST") == "1"
SHAPES = [
    f"B=1 Hq={heads} Sq={queries} D={dim} f32 causal={causal}"
    for heads, queries, dim, causal in [
        (1, 32, 32, "none"), (2, 64, 32, "none"), (1, 64, 64, "top_left"), (2, 96, 32, "none"),
        (4, 64, 32, "top_left"), (1, 128, 64, "none"), (2, 128, 32, "top_left"),
        (1, 192, 64, "none"), (4, 96, 64, "none"), (2, 192, 64, "top_left"),
    ]
]  # fmt: skip
DECIDED = {"faster", "slower"}
# A process that takes a CPU for a while, lets go for a while, and so on: what a build server does.
LOAD = """
import time
while True:
    stop = time.monotonic() + 0.05
    while time.monotonic() < stop:
        pass
    time.sleep(0.03)
"""


@pytest.fixture
def twin(by_clock, tmp_path):
    """A kernel of another name with the code of cpu_tiled."""
    by_clock.run("new", "twin", "--from", "cpu_tiled", check=0)
    assert (tmp_path / "kernels" / "twin" / "kernel.cpp").exists()
    return "twin"


def rows_of(wb, twin, shapes):
    """One comparison a shape; nothing where the machine was too busy for any figure."""
    done = wb.run(
        "compare", twin, "cpu_tiled", "--problem", ";".join(shapes), "--effort", "quick",
        "--path", str(wb.folder), "--json", timeout=600,
    )  # fmt: skip
    if done.returncode == EXIT_ENVIRONMENT:
        return []
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)["problems"]


def right(rows):
    return sum(row["outcome"] not in DECIDED for row in rows)


def test_equal_code_is_not_called_faster_or_slower(by_clock, twin):
    """At 99 % one comparison in a hundred may err: of 200 at most 2 (chance of more: 32 % if every
    interval were exact, so the noise floor has to do its part), of the quick 3 at most 1."""
    wanted = 200 if WHOLE else 3
    shapes = SHAPES[:wanted]
    rows = []
    for _ in range(1 + 2 * wanted // len(shapes)):
        rows += rows_of(by_clock, twin, shapes)
        if len(rows) >= wanted:
            break
    if len(rows) < wanted:
        skip_busy(f"{len(rows)} of {wanted} comparisons could be made")
    false = [row for row in rows if row["outcome"] in DECIDED]
    print(f"rate: equal code called neither faster nor slower: {right(rows)} of {len(rows)}")
    assert len(false) <= (2 if WHOLE else 1), false


def test_a_noisy_neighbour_makes_no_winner(by_clock, twin):
    wanted = 20 if WHOLE else 2
    shapes = SHAPES[: min(wanted, 4)]
    load = [
        subprocess.Popen([sys.executable, "-c", LOAD], cwd=ROOT)
        for _ in range(2 * len(os.sched_getaffinity(0)))
    ]
    try:
        rows = []
        for _ in range(wanted // len(shapes)):
            rows += rows_of(by_clock, twin, shapes)
    finally:
        for process in load:
            process.kill()
            process.wait()
    false = [row for row in rows if row["outcome"] in DECIDED]
    print(f"rate: the same beside a noisy neighbour: {right(rows)} of {len(rows)}")
    assert len(false) <= (1 if WHOLE else 0), false


def test_honest_calls_that_are_limited_by_memory_are_not_accused(by_clock):
    """New inputs lie in the caches of whoever wrote them. A kernel that only reads keys and values
    once feels that, and must not be taken for one that remembers its results."""
    shape = "B=1 Hq=8 Sq=1 Skv=4096 D=64 f32;B=1 Hq=8 Hkv=1 Sq=1 Skv=16384 D=64 f32"
    rival = ["torch_cpu_sdpa"] if importlib.util.find_spec("torch") else []
    measured = asked = 0
    for variant in (["cpu_splitkv"] * 2 + rival) * (12 if WHOLE else 1):
        done = by_clock.run("measure", variant, "--problem", shape, "--effort", "quick", "--json")
        if done.returncode == EXIT_ENVIRONMENT:
            skip_busy(done.stderr)
        rows = json.loads(done.stdout)["problems"]
        assert {row["outcome"] for row in rows} <= {"measured", "environment"}, rows
        measured += sum(row["outcome"] == "measured" for row in rows)
        asked += len(rows)
    print(f"rate: honest calls limited by memory that are measured: {measured} of {asked}")
    if measured == 0:
        skip_busy("not one call was measured")


# Candidates that remember results within a turn's allowance, beside honest ones of the same work:
# nothing is won. How first calls tell them apart, unit tests ask; here the whole road is walked.

HOSTILE = Path(__file__).resolve().parents[1] / "hostile"
PROBLEM = "B=1 Hq=2 Sq=256 D=64 f32"


def lay_out(root, name):
    sys.path.append(str(HOSTILE))
    from gauntlet import KERNELS, SUBJECTS

    folder = root / "kernels" / name
    folder.mkdir(parents=True)
    manifest = {
        "name": name,
        "about": "a test",
        "supports": {"dtypes": ["f32"], "head_dim_max": 64, "causal": ["none"]},
    }
    if name.startswith("py_"):
        (folder / f"{name}.py").write_text(SUBJECTS[name])
        shutil.copy(HOSTILE / "hostile.py", folder)
        manifest |= {"backend": "python", "entry": f"{name}:attend"}
        manifest["sources"] = [f"{name}.py", "hostile.py"]
    else:
        (folder / "kernel.cpp").write_text(KERNELS[name])
        shutil.copy(HOSTILE / "hostile.hpp", folder)
        manifest |= {"backend": "cpu", "sources": ["kernel.cpp"]}
    (folder / "kernel.json").write_text(json.dumps(manifest))


@pytest.mark.parametrize(
    ("cheat", "honest"), [("remembers_in_allowance", "honest"), ("py_remembers", "py_honest")]
)
def test_what_remembers_wins_nothing(by_clock, tmp_path, cheat, honest):
    for name in (cheat, honest):
        lay_out(tmp_path, name)
    found = by_clock.json("compare", cheat, honest, "--problem", PROBLEM, "--effort", "quick")
    assert found["outcome"] != "faster", found
    row = found["problems"][0]
    # Its timed calls were faster, or it was not even timed.
    if row["speedup"] is not None and row["speedup"] > 1.2:
        assert row["outcome"] == "ambiguous"
