# SPDX-License-Identifier: MIT
"""Wrong kernels that are right on ordinary shapes: `check` finds them by its drawn runs. Many of
them, so that none is a matter of luck; how often the default number finds each,
docs/results/hostile.md says."""

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import edges
import pytest
from gauntlet import TABLE

ROOT = Path(__file__).resolve().parents[2]
# One of each kind; the others are measured by edges.py.
TRIED = ["causal_and_mask", "dv_differs", "finite_minimum", "head_nine", "other_scale", "corner",
         "v_layout", "mask_drops_causal", "sentinel", "v_by_k", "packed_only", "misaligned_k",
         "one_thread", "second_plan", "late_call", "remainder_of_keys"]  # fmt: skip
MANY_DRAWS = 1_000


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    build = ROOT / os.environ.get("WB_BUILD_DIR", "build/release")
    if not (build / "sdpa-wb").exists():
        pytest.skip(f"no sdpa-wb in {build}: build first, or set WB_BUILD_DIR")
    folder = tmp_path_factory.mktemp("edges")
    edges.lay_out(folder, TRIED)
    with ThreadPoolExecutor(2) as pool:
        runs = pool.map(lambda name: edges.check(build, folder, name, draws=MANY_DRAWS), TRIED)
        return dict(zip(TRIED, runs, strict=True))


@pytest.mark.parametrize("name", TRIED)
def test_wrong_kernel_is_found(name, results):
    passed, message, _seconds = results[name]
    assert not passed, edges.CASES[name]["fault"]
    assert "in a drawn run" in message, message


def test_every_row_has_one_fault_of_its_own():
    rows = TABLE["edge_cases"]
    assert [row["name"] for row in rows if ("wrong" in row) == ("spoil" in row)] == []
    faults = [edges.source_of(row["name"]).splitlines()[2] for row in rows]
    assert len(set(faults)) == len(edges.CASES) == len(rows)
