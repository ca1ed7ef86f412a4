"""Fixtures of the fault plan: those of the scenario tests, and the count of points tried. The quick
selection runs in `make test-long`, every point by `make torture` (WB_TORTURE=1)."""

import contextlib
import importlib.util
import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

SCENARIO = Path(__file__).resolve().parents[1] / "scenario"
sys.path.append(str(SCENARIO))
_spec = importlib.util.spec_from_file_location("scenario_ground", SCENARIO / "conftest.py")
_ground = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(_ground)
# Both folders' tests say `from conftest import …`: whichever was loaded last serves both.
globals().update({name: value for name, value in vars(_ground).items() if name[:2] != "__"})

TORTURE = os.environ.get("WB_TORTURE") == "1"
whole_only = pytest.mark.skipif(not TORTURE, reason="in the whole plan: make torture")
ITERATE = ["iterate", "--variant", "cpu_tiled", "--hypothesis", "tiles reuse keys",
           "--predicted-speedup", "1.5", "--confirm", "never"]  # fmt: skip


class Points:
    """Counts the points of one row and writes one JSON line when the test is over."""

    def __init__(self):
        self.row, self.tried, self.passed, self.skipped = "", 0, 0, None
        self.begun = time.monotonic()

    @contextlib.contextmanager
    def point(self):
        self.tried += 1
        yield
        self.passed += 1

    def skip(self, reason):
        self.skipped = reason
        pytest.skip(reason)

    def write(self, path):
        line = {"row": self.row, "tried": self.tried, "passed": self.passed,
                "seconds": time.monotonic() - self.begun}  # fmt: skip
        if self.skipped:
            line["skipped"] = self.skipped
        with open(path, "a") as out:
            out.write(json.dumps(line) + "\n")


@pytest.fixture
def points():
    row = Points()
    yield row
    if path := os.environ.get("WB_TORTURE_OUT"):
        assert row.row, "the test names no row"
        row.write(path)


@pytest.fixture(scope="session")
def small_session(build, cache, tmp_path_factory):
    """One session with a baseline; tests work on copies of it."""
    folder = tmp_path_factory.mktemp("base")
    _ground.Workbench(build / "sdpa-wb", folder, cache).open_small("s")
    return folder / "s"


@pytest.fixture
def fresh(small_session, tmp_path):
    """Makes copies of that session."""

    def copy(name="s", parent=None):
        target = (parent or tmp_path) / name
        shutil.rmtree(target, ignore_errors=True)
        return Path(shutil.copytree(small_session, target, symlinks=True))

    return copy


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
