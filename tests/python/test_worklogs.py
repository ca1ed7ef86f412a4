# SPDX-License-Identifier: MIT
"""What the head of a kernel's source says of its measurement, against the kept sessions."""

import re
import sys

import pytest
from support.commands import ROOT

sys.path.append(str(ROOT / "docs" / "results"))

UNMEASURED = re.compile(r"not yet (measured|in a recorded session)")
# They say so still: a comment is part of the source, and another source is another variant, which
# no session has measured. The next change of each takes it off this list.
STALE = {
    "cpu_simd_flash", "cpu_splitkv", "cpu_tiled", "sm80_query_per_block", "sm80_sequential_kv",
    "sm80_tiled_flash", "sm80_wide_heads", "triton_flash",
}  # fmt: skip


@pytest.fixture(scope="module")
def measured(package):
    """Kernel -> the sessions with turns of it."""
    from recorded import archive_of, session_names
    from sdpa_workbench import _core

    found = {}
    for session in session_names():
        log = _core.session_log(archive_of(session))
        for line in log.splitlines():
            if b'"type":"turn_measured"' in line[:250]:
                (name,) = re.findall(rb'"subject":"([^"@]+)', line)
                found.setdefault(name.decode(), set()).add(session)
    return found


def heads():
    """Kernel -> the comment that its main source begins with."""
    for manifest in sorted((ROOT / "kernels").glob("*/kernel.json")):
        for source in manifest.parent.glob("kernel.*"):
            if source.suffix in (".cpp", ".cu", ".py"):
                text = source.read_text()
                yield manifest.parent.name, re.split(r"\n(#include|import|from) ", text)[0]


def test_a_worklog_says_unmeasured_only_of_what_no_session_has(measured):
    stale = {name for name, head in heads() if UNMEASURED.search(head) and name in measured}
    assert stale == STALE


def unfounded(heads, measured):
    """Kernels and the sessions that their worklogs name without a turn of the kernel there."""
    named = ((kernel, re.findall(r"sessions/([a-z0-9-]+)", head)) for kernel, head in heads)
    return [
        (kernel, session)
        for kernel, sessions in named
        for session in sessions
        if session not in measured.get(kernel, ())
    ]


def test_a_session_that_a_worklog_names_has_the_kernel(measured):
    assert unfounded(heads(), measured) == []
    planted = [("cpu_tiled", "Measured in sessions/cpu-prefill-f32, sessions/h200-triton-v3.")]
    assert unfounded(planted, measured) == [("cpu_tiled", "h200-triton-v3")]
