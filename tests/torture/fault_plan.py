# SPDX-License-Identifier: MIT
"""What the tests of the fault plan share. The quick selection runs in `make test-long`, every point
by `make torture` (WB_TORTURE=1)."""

import os
import shutil
import subprocess

import pytest

TORTURE = os.environ.get("WB_TORTURE") == "1"
whole_only = pytest.mark.skipif(not TORTURE, reason="in the whole plan: make torture")
ITERATE = ["iterate", "--variant", "cpu_tiled", "--hypothesis", "tiles reuse keys",
           "--predicted-speedup", "1.5", "--confirm", "never"]  # fmt: skip


def mount_small(folder, size):
    """A file system of that size in memory, mounted on `folder`; else why not."""
    if shutil.which("mount") is None:
        return "there is no mount command"
    folder.mkdir(exist_ok=True)
    made = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", folder],
        capture_output=True, text=True,
    )  # fmt: skip
    return "" if made.returncode == 0 else f"cannot mount: {made.stderr.strip()}"


def check_message(done):
    """One clear message: what, on what, why, what to do; no crash."""
    assert done.returncode >= 0, f"killed by signal {-done.returncode}: {done.stderr}"
    assert "terminate called" not in done.stderr
    assert "Sanitizer" not in done.stderr
    # An outcome (an invalid variant, a machine too busy) is a result, not an error.
    if done.returncode == 0 or (done.stdout.strip() and not done.stderr.strip()):
        return
    lines = done.stderr.strip().splitlines()
    assert 1 <= len(lines) <= 3, done.stderr
    assert any(line.startswith("sdpa-wb: ") for line in lines), done.stderr
