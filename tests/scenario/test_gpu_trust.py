"""The script that asks whether comparisons can be believed on a GPU (tests/bench/gpu_trust.py), in
its CPU form: that it plants what it says, counts, and keeps its rows."""

import json
import subprocess
import sys

import pytest
from conftest import EXIT_ENVIRONMENT, ROOT, skip_busy

SCRIPT = ROOT / "tests" / "bench" / "gpu_trust.py"


def test_equal_code_and_a_planted_slowdown_are_told_apart(wb):
    out = wb.folder / "trust.json"
    done = subprocess.run(
        [sys.executable, SCRIPT, wb.program, "--backend", "cpu", "--pairs", "2", "--plants", "1",
         "--percent", "100", "100", "--plant-effort", "quick", "--cache", wb.cache,
         "--seconds", "30", "--out", out],
        capture_output=True, text=True, timeout=240,
    )  # fmt: skip
    if done.returncode == EXIT_ENVIRONMENT:
        skip_busy(done.stderr or done.stdout)
    assert done.returncode in (0, 1), f"{done.stdout}\n{done.stderr}"
    kept = json.loads(out.read_text())
    equal, planted = kept["rows"]["equal"], kept["rows"]["planted"]
    if len(equal) < 2 or len(planted) < 3:
        skip_busy(done.stdout)
    assert sum(row["outcome"] in ("faster", "slower") for row in equal) <= 1, equal
    assert all(row["outcome"] != "faster" for row in planted), planted
    found = sum(row["outcome"] == "slower" for row in planted)
    if found == 0:
        skip_busy(f"calls that take twice as long were all ambiguous: {planted}")
    # Each call was to take as long again as it took when that was measured.
    planned_us = [units * kept["calibration"]["unit_us"] for units in kept["units"].values()]
    assert planned_us == pytest.approx(kept["calibration"]["base_us"], rel=0.01)
