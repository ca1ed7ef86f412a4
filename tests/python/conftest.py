"""Fixtures of the package's tests: those of the scenario tests, and the package."""

import importlib.util
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

# For test_triton_flash.py; read when Triton is first imported, by whatever test that is.
os.environ.setdefault("TRITON_INTERPRET", "1")

SCENARIO = Path(__file__).resolve().parents[1] / "scenario"
sys.path.append(str(SCENARIO))
_spec = importlib.util.spec_from_file_location("scenario_fixtures", SCENARIO / "conftest.py")
_shared = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(_shared)
# Several folders' tests say `from conftest import …`: whichever was loaded last serves all.
globals().update({name: value for name, value in vars(_shared).items() if name[:2] != "__"})


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item):
    try:
        return (yield)
    except Exception as fault:
        if type(fault).__name__ == "EnvironmentFault":
            _shared.skip_busy(str(fault))
        raise


@pytest.fixture(scope="session")
def package(build):
    return _shared.package_of(build)


@pytest.fixture
def bench(package, cache, tmp_path):
    """Makes workbenches that find the tree's kernels; they are closed after the test."""
    made = []

    def make(**options):
        options = {"path": [_shared.ROOT], "cache": cache, "sessions": tmp_path / "new"} | options
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
def script(package, cache, tmp_path):
    """Starts Python code in a process of its own, with ROOT, CACHE, the package as `wb`, and
    `bench`, a workbench. Ctrl-C works there even where these tests run in the background of a
    shell that has it ignored."""
    head = (
        "import sys\nimport sdpa_workbench as wb\n"
        f"ROOT, CACHE = {str(_shared.ROOT)!r}, {str(cache)!r}\n"
        "bench = wb.Workbench(path=[ROOT], cache=CACHE)\n"
    )
    started = []

    def start(code, name="script.py"):
        file = tmp_path / name
        file.write_text(head + code)
        env = os.environ | _shared.importing(package)
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
