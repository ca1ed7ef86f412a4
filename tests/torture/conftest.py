"""Fixtures of the fault plan: the count of points tried, and copies of a session."""

import contextlib
import json
import os
import shutil
import time
from pathlib import Path

import pytest
from support.commands import Workbench


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
    Workbench(build / "sdpa-wb", folder, cache).open_small("s")
    return folder / "s"


@pytest.fixture
def fresh(small_session, tmp_path):
    """Makes copies of that session."""

    def copy(name="s", parent=None):
        target = (parent or tmp_path) / name
        shutil.rmtree(target, ignore_errors=True)
        return Path(shutil.copytree(small_session, target, symlinks=True))

    return copy
