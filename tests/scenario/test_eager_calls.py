# SPDX-License-Identifier: MIT
"""tests/bench/eager_calls.py on the CPU: an exported operator is really called beside PyTorch's,
and the table follows from the times. The figures themselves are for a GPU
(docs/results/trust.md)."""

import importlib.util
import json
import subprocess
import sys

import pytest
from support.commands import EXIT_ENVIRONMENT, ROOT, skip_busy

SCRIPT = ROOT / "tests" / "bench" / "eager_calls.py"
PROBLEM = "B=1 Hq=2 Hkv=2 Sq=64 Skv=64 D=32 f32 causal=none"


@pytest.fixture(scope="module")
def script():
    spec = importlib.util.spec_from_file_location("eager_calls", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def process(ours, rival, fell_back=0, hot=5.0):
    times = {"ours": ours, "torch_default": rival, "torch_math": [9 * us for us in rival]}
    hot_us = {"torch_default": hot, "torch_math": 9 * hot}
    return {"rows": [{"problem": PROBLEM, "times_us": times, "hot_us": hot_us,
                      "fell_back": fell_back}]}  # fmt: skip


def test_the_table_follows_from_the_times(script):
    processes = [process([10.0, 10.0, 50.0], [20.0, 20.0, 100.0]), process([10.0] * 3, [22.0] * 3)]
    (row,) = script.summary(processes, {PROBLEM: "k"}, None)
    assert row["rival"] == "torch_default"
    assert row["ratio"] == pytest.approx((2.0 * 2.2) ** 0.5)
    assert row["low"] < row["ratio"] < row["high"]
    assert "geometric mean 2.098, lowest 2.098" in script.table([row])
    assert script.summary(processes, {PROBLEM: "k"}, 5.0) == []  # the rival takes 5 us: not under
    with pytest.raises(SystemExit, match="fell back"):
        script.summary([process([1.0], [1.0], fell_back=1)], {PROBLEM: "k"}, None)


@pytest.mark.parametrize(
    "problem",
    [
        PROBLEM + " mask=bool:0.5",
        PROBLEM + " layout=bshd",
        "B=1 Hq=2 Hkv=2 Sq=64 Skv=80 D=32 f32 causal=bottom_right",
    ],
)
def test_what_pytorch_cannot_be_asked_for_is_refused(script, problem):
    with pytest.raises(SystemExit, match=r"only plain problems|top left"):
        script.shape_of(problem)


def test_operators_are_called_beside_pytorch(by_clock, tmp_path):
    pytest.importorskip("torch", reason="PyTorch is not installed")
    output = tmp_path / "eager.json"
    words = ["--problem", PROBLEM, "--kernel", "cpu_tiled", "--processes", "2", "--rounds", "3",
             "--calls", "5", "--output", output]  # fmt: skip
    program = tmp_path / "wb"
    program.write_text(
        f'#!/bin/sh\nexec {by_clock.program} --path {ROOT} --cache {by_clock.cache} "$@"\n'
    )
    program.chmod(0o755)
    done = subprocess.run([sys.executable, SCRIPT, program, *words], cwd=tmp_path,
                          capture_output=True, text=True, timeout=600)  # fmt: skip
    if f"ended with {EXIT_ENVIRONMENT}:" in done.stderr:
        skip_busy(done.stderr)
    assert done.returncode == 0, done.stderr
    told = json.loads(output.read_text())
    assert len(told["processes"]) == 2
    for one in told["processes"]:
        (row,) = one["rows"]
        assert row["fell_back"] == 0
        assert all(len(times) == 6 for times in row["times_us"].values())
        assert {"ours", "torch_default"} <= set(row["times_us"])
    assert "1 problems: geometric mean" in done.stdout
