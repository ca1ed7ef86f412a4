# SPDX-License-Identifier: MIT
"""Kernels as they were recorded, with the headers of that time, under today's caller."""

import shutil

import pytest
from support.kept import kept
from support.logs import events

SESSION = "cpu-decode-f32"
PROBLEM = "B=1 Hq=4 Hkv=2 Sq=3 Skv=300 D=64 f32"


@pytest.fixture
def stored(unpacked):
    """The folder of the sources of cpu_tiled that the session recorded."""
    return next(unpacked(SESSION).glob("kernels/*/cpu_tiled")).parent


def test_a_kernel_built_with_version_1_of_the_abi_runs_unchanged(wb, stored, tmp_path):
    """Its own sources, which lie in the session, are compiled, loaded and judged."""
    header = (stored / "common" / "sdpa_abi.h").read_text()
    assert "#define WB_SDPA_ABI_VERSION 1\n" in header
    root = tmp_path / "then"
    shutil.copytree(stored, root / "kernels")
    # Nothing of today's is mixed in: it is the very variant that the session recorded.
    (found,) = (one for one in wb.json("kernels", "--path", root)["kernels"]
                if one["name"] == "cpu_tiled")  # fmt: skip
    assert found["label"] == f"cpu_tiled@{stored.name[:8]}"
    answer = wb.json("check", "cpu_tiled", "--problem", PROBLEM, "--path", root, "--draws", "12")
    assert answer["pass"], answer


def test_a_copy_of_a_recorded_kernel_brings_headers_that_are_gone(wb, stored):
    """kernels/common has other files today; none of them is mixed into the copy."""
    built = [
        event["payload"] for event in events(kept(SESSION)) if event["type"] == "variant_built"
    ]
    (label,) = {one["subject"] for one in built if one["variant_id"] == stored.name}
    made = wb.json("new", "mine", "--from", label, "--session", kept(SESSION))
    assert made["changed_headers"] == []
    then = {path.name for path in (stored / "common").iterdir()}
    assert "cpu_support.hpp" in then
    assert set(made["files"]) == {"kernel.cpp", "kernel.json", *then}
    for name in then:
        copy = wb.folder / "kernels" / "mine" / name
        assert copy.read_text() == (stored / "common" / name).read_text()
    assert wb.json("check", "mine", "--problem", PROBLEM, "--draws", "12")["pass"]
