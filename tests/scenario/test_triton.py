# SPDX-License-Identifier: MIT
"""What becomes of kernels/triton_flash where Triton is not installed, by the real command. That it
is right is tested by tests/python/test_triton_flash.py and, on a GPU, by test_gpu.py."""

import importlib.util
import json
import shutil
import sys

import pytest
from support.commands import ROOT, SMALL


def test_a_missing_triton_is_named(wb):
    """As a subject of the CPU, since that is where every machine can load it."""
    if importlib.util.find_spec("triton"):
        pytest.skip("Triton is installed")
    folder = wb.folder / "kernels" / "triton_on_cpu"
    shutil.copytree(ROOT / "kernels" / "triton_flash", folder)
    manifest = json.loads((folder / "kernel.json").read_text())
    manifest["name"] = folder.name
    del manifest["architectures"]
    (folder / "kernel.json").write_text(json.dumps(manifest))
    words = ("check", folder.name, "--path", wb.folder, "--python", sys.executable)
    answer = wb.json(*words, "--problem", SMALL, check=1)
    (row,) = answer["problems"]
    assert row["outcome"] == "constraints"
    assert "Triton is not installed" in row["message"]
    assert "pip install triton" in row["message"]
