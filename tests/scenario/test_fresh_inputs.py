# SPDX-License-Identifier: MIT
"""Candidates that remember results within a turn's allowance, beside honest ones of the same work:
nothing is won. How first calls tell them apart, unit tests ask; here the whole road is walked."""

import json
import shutil
import sys
from pathlib import Path

import pytest

HOSTILE = Path(__file__).resolve().parents[1] / "hostile"
sys.path.append(str(HOSTILE))
from gauntlet import KERNELS, SUBJECTS  # noqa: E402

PROBLEM = "B=1 Hq=2 Sq=256 D=64 f32"


def make(root, name):
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
        make(tmp_path, name)
    found = by_clock.json("compare", cheat, honest, "--problem", PROBLEM, "--effort", "quick")
    assert found["outcome"] != "faster", found
    row = found["problems"][0]
    # Its timed calls were faster, or it was not even timed.
    if row["speedup"] is not None and row["speedup"] > 1.2:
        assert row["outcome"] == "ambiguous"
