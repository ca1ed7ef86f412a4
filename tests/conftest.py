# SPDX-License-Identifier: MIT
"""Fixtures that all tests in Python share; what they import is in tests/support."""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from support.commands import (
    MOST_BUSY,
    ROOT,
    Workbench,
    busy,
    importing,
    package_of,
    programs,
    skip_busy,
)
from support.kept import kept, report_of, unpack

# Tests queue for the CPUs among themselves only, those that pytest runs side by side not even so: a
# session of this machine may run beside them.
SIDE = os.environ.get("PYTEST_XDIST_WORKER", "")
LOCK = os.environ.get("WB_DEVICE_LOCK", str(Path(tempfile.gettempdir()) / "sdpa-wb-tests.lock"))
os.environ["WB_DEVICE_LOCK"] = LOCK + SIDE


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item):
    try:
        return (yield)
    except Exception as fault:
        if type(fault).__name__ == "EnvironmentFault":
            skip_busy(str(fault))
        raise


def pytest_sessionfinish(session):
    if len(busy) > MOST_BUSY and session.exitstatus == pytest.ExitCode.OK:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter):
    if busy:
        terminalreporter.write_line(
            f"{len(busy)} tests could not measure: a failure if more than {MOST_BUSY}"
        )


@pytest.fixture(scope="session")
def build():
    folder = programs()
    if not (folder / "sdpa-wb").exists():
        pytest.skip(f"no sdpa-wb in {folder}: build or install first, or set WB_BUILD_DIR")
    return folder


@pytest.fixture(scope="session")
def cache(tmp_path_factory):
    """The folder for artifacts, one for all that run side by side."""
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if SIDE else base) / "cache"
    folder.mkdir(exist_ok=True)
    return folder


@pytest.fixture
def unpacked(tmp_path):
    """Makes a folder of a kept session, to be changed: unpacked("ladder"), with its report in it
    as its owner left it."""

    def make(name, at=None):
        folder = unpack(kept(name), (at or tmp_path / "unpacked") / f"{name}.d")
        (folder / "reports").mkdir()
        shutil.copy(report_of(kept(name)), folder / "reports" / "session.md")
        return folder

    return make


@pytest.fixture
def wb(build, cache, tmp_path):
    return Workbench(build / "sdpa-wb", tmp_path, cache)


@pytest.fixture
def by_clock(build, cache, tmp_path):
    """A workbench whose turns measure, for tests of the long tier."""
    return Workbench(build / "sdpa-wb", tmp_path, cache, steady=False)


@pytest.fixture(scope="session")
def package(build):
    return package_of(build)


@pytest.fixture
def bench(wb, package, cache, tmp_path):
    """Makes workbenches that find the tree's kernels and take the times of `wb.turns`; they are
    closed after the test."""
    made = []

    def make(**options):
        options = {"path": [ROOT], "cache": cache, "sessions": tmp_path / "new"} | options
        options = {"worker": wb.turns.worker, "transport": wb.turns.transport} | options
        made.append(package.Workbench(**options))
        return made[-1]

    yield make
    for workbench in made:
        workbench.close()


@pytest.fixture
def small(wb, package, bench):
    """A session with a baseline, in the test's own folder."""
    wb.open_small()
    return package.Session(wb.folder / "s", workbench=bench())


@pytest.fixture
def script(wb, package, cache, tmp_path):
    """Starts Python code in a process of its own, with ROOT, CACHE, the package as `wb`, and
    `bench`, a workbench. Ctrl-C works there even where these tests run in the background of a
    shell that has it ignored."""
    head = (
        "import sys\nimport sdpa_workbench as wb\n"
        f"ROOT, CACHE = {str(ROOT)!r}, {str(cache)!r}\n"
        f"STEADY = dict(worker={str(wb.turns.worker)!r}, transport={wb.turns.transport!r})\n"
        "bench = wb.Workbench(path=[ROOT], cache=CACHE, **STEADY)\n"
    )
    started = []

    def start(code, name="script.py"):
        file = tmp_path / name
        file.write_text(head + code)
        env = os.environ | importing(package)
        process = subprocess.Popen(
            [sys.executable, "-u", file], cwd=tmp_path, env=env, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        )  # fmt: skip
        started.append(process)
        return process

    yield start
    for process in started:
        if process.poll() is None:
            process.kill()
        process.communicate()
