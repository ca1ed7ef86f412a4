# SPDX-License-Identifier: MIT
"""What the head of a kernel's source says of its measurement, against the kept sessions."""

import re
import sys

import pytest
from support.commands import ROOT
from support.kept import kept_sessions, report_of
from support.logs import session_name

sys.path.append(str(ROOT / "docs" / "results"))

# The line `measured  …` of a worklog, with the indented lines that go on with it.
MEASURED = re.compile(r"^(?://)? {2,}measured {2,}(.*(?:\n(?://)? {6,}\S.*)*)", re.M)
NONE = "no recorded session"


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
    """Kernel -> the comment that its main source begins with. Rivals have none."""
    for manifest in sorted((ROOT / "kernels").glob("*/kernel.json")):
        for source in manifest.parent.glob("kernel.*"):
            if source.suffix in (".cpp", ".cu", ".py"):
                text = source.read_text()
                yield manifest.parent.name, re.split(r"\n(#include|import|from) ", text)[0]


def reports():
    """Session -> its report."""
    return {
        session_name(archive): report_of(archive).read_text()
        for archive in kept_sessions(ROOT / "sessions")
    }


def fault_of(kernel, head, reports):
    """What is wrong with what a worklog says of its measurement, or None. It names a session whose
    report has the kernel, or says that there is none, and then no report has it."""
    found = MEASURED.search(head)
    if not found:
        return "no line `measured`"
    said = " ".join(found[1].replace("\n//", "\n").split())
    having = {name for name, text in reports.items() if re.search(rf"\b{kernel}\b", text)}
    if NONE in said:
        return f"{sorted(having)} have it" if having else None
    named = set(re.findall(r"sessions/([a-z0-9-]+)", said))
    return None if named & having else f"no report of {sorted(named)} has it"


@pytest.mark.parametrize(("kernel", "head"), heads(), ids=[name for name, _ in heads()])
def test_a_worklog_names_the_session_that_measured_its_kernel(kernel, head):
    assert fault_of(kernel, head, reports()) is None


@pytest.mark.parametrize(
    ("said", "fault"),
    [
        ("measured  1.5 times one\n//             two, sessions/with on an X", None),
        ("measured  sessions/without and sessions/with", None),
        ("measured  sessions/without, 1.5 times", "no report of ['without'] has it"),
        ("measured  sessions/gone, 1.5 times", "no report of ['gone'] has it"),
        ("measured  1.5 times, on an X", "no report of [] has it"),
        ("measured  no recorded\n//             session has it", "['with'] have it"),
        ("costs     measured elsewhere", "no line `measured`"),
    ],
)
def test_a_worklog_that_is_wrong_is_found(said, fault):
    kept = {"with": "`one_kernel@12345678` won", "without": "`one_kernel_more@12345678` won"}
    head = f"// one_kernel: an idea.\n//\n// Worklog\n//   idea      it\n//   {said}"
    assert fault_of("one_kernel", head, kept) == fault


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
