# SPDX-License-Identifier: MIT
"""Kernels as they were recorded, with the header of that time, under today's caller."""

import shutil

PROBLEM = "B=1 Hq=4 Hkv=2 Sq=3 Skv=300 D=64 f32"


def test_a_kernel_built_with_version_1_of_the_abi_runs_unchanged(wb, unpacked, tmp_path):
    """Its own sources, which lie in the session, are compiled, loaded and judged."""
    stored = next(unpacked("cpu-decode-f32").glob("kernels/*/cpu_tiled")).parent
    header = (stored / "common" / "sdpa_abi.h").read_text()
    assert "#define WB_SDPA_ABI_VERSION 1\n" in header
    root = tmp_path / "then"
    shutil.copytree(stored, root / "kernels")
    answer = wb.json("check", "cpu_tiled", "--problem", PROBLEM, "--path", root, "--draws", "12")
    assert answer["pass"], answer
    # Nothing of today's is mixed in: it is the very variant that the session recorded.
    assert answer["variant"].startswith(f"cpu_tiled@{stored.name[:8]}")
