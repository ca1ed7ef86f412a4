"""Fixtures of the scenario tests: the real commands, of a built tree or as pip installed them, in
folders of their own."""

import importlib
import json
import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
EXIT_ENVIRONMENT = 76  # the machine, not the variant
# What is kept in the project, with logs and reports as they came out.
SESSIONS = sorted(path.parent for path in (ROOT / "sessions").glob("*/session.json"))
SMALL = "B=1 Hq=2 Sq=64 D=32 f32"
MOST_BUSY = 8  # tests that may find the machine busy; beyond it a fault could hide behind the word
busy = []


def skip_busy(words):
    """Exit 76 says that the machine was too busy to measure, which is nobody's fault. On a quiet
    machine, where WB_QUIET=1 says so, it is a failure like any other, and everywhere when more
    than MOST_BUSY tests say so."""
    last = words.strip().splitlines()[-1:] or ["no word"]
    if os.environ.get("WB_QUIET") == "1":
        pytest.fail(f"the machine is quiet, but: {words}")
    busy.append(last[0])
    pytest.skip(f"the machine is too busy to measure: {last[0][:200]}")


def pytest_sessionfinish(session):
    if len(busy) > MOST_BUSY and session.exitstatus == pytest.ExitCode.OK:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter):
    if len(busy) > MOST_BUSY:
        terminalreporter.write_line(
            f"{len(busy)} tests could not measure (at most {MOST_BUSY} may): a failure"
        )


class Workbench:
    """Runs sdpa-wb in a folder with its own sessions and a cache shared by the whole test run."""

    def __init__(self, program: Path, folder: Path, cache: Path):
        self.program, self.folder, self.cache = program, folder, cache

    def argv(self, *words):
        return [
            str(self.program), *map(str, words),
            "--path", str(ROOT), "--cache", str(self.cache), "--quiet",
        ]  # fmt: skip

    def run(self, *words, check=None, timeout=240):
        done = subprocess.run(
            self.argv(*words), cwd=self.folder, capture_output=True, text=True, timeout=timeout
        )
        if check == 0 and done.returncode == EXIT_ENVIRONMENT:
            skip_busy(done.stderr or done.stdout)
        if check is not None:
            assert done.returncode == check, f"{words}\n{done.stdout}\n{done.stderr}"
        return done

    def json(self, *words, check=0):
        return json.loads(self.run(*words, "--json", check=check).stdout)

    def start(self, *words):
        return subprocess.Popen(
            self.argv(*words), cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            text=True,
        )  # fmt: skip

    def open_small(self, session="s", **options):
        """A session with a baseline. Where nothing is asked for but that, it is a copy of one that
        was opened before. A machine too busy to take a baseline skips the test: that says nothing
        about the workbench."""
        template = self.cache.parent / "opened_small"
        if session != "s" or options:
            return self._open_small(session, options)
        if not template.exists():
            made = Workbench(self.program, self.folder / "template", self.cache)
            made.folder.mkdir()
            answer = made._open_small(session, options)
            (made.folder / "answer.json").write_text(json.dumps(answer))
            made.folder.rename(template)
        shutil.copytree(template / "s", self.folder / "s", symlinks=True)
        return json.loads((template / "answer.json").read_text())

    def _open_small(self, session, options):
        words = ["open", "--start", "cpu_unfused", "--problem", SMALL, "--rivals", "none",
                 "--effort", "quick", "--session", session]  # fmt: skip
        for key, value in options.items():
            words += ["--" + key.replace("_", "-"), value]
        for _ in range(3):
            done = self.run(*words, "--json")
            if done.returncode != EXIT_ENVIRONMENT:
                break
            shutil.rmtree(self.folder / session)
        else:
            skip_busy(done.stderr)
        assert done.returncode == 0, f"{words}\n{done.stdout}\n{done.stderr}"
        return json.loads(done.stdout)


def events(session: Path):
    """The parsed log; a torn last line is left out, as readers do."""
    lines = (session / "events.jsonl").read_text().split("\n")
    return [json.loads(line) for line in lines[:-1]]


def programs():
    """The folder of sdpa-wb: WB_BUILD_DIR; else the tree's build folder, the one beside these files
    where they were installed, or that of this interpreter's environment (`pip install .`)."""
    if "WB_BUILD_DIR" in os.environ:
        return ROOT / os.environ["WB_BUILD_DIR"]
    places = [ROOT / "build" / "release", Path(sysconfig.get_path("scripts"))]
    if ROOT.parent.name == "share":  # the files of test_gpu.py are in the wheel
        places.insert(0, ROOT.parents[1] / "bin")
    return next((place for place in places if (place / "sdpa-wb").exists()), places[0])


@pytest.fixture(scope="session")
def build():
    folder = programs()
    if not (folder / "sdpa-wb").exists():
        pytest.skip(f"no sdpa-wb in {folder}: build or install first, or set WB_BUILD_DIR")
    return folder


def package_of(build):
    """The Python package with its module: of a build folder, as `make test` makes it beside the
    programs; of an installation, whichever can be imported (PYTHONPATH may name another module)."""
    beside = build / "python"
    if list(beside.glob("sdpa_workbench/_core.*.so")):
        if str(beside) not in sys.path:
            sys.path.insert(0, str(beside))
    elif (build / "CMakeCache.txt").exists():
        pytest.skip(f"no _core in {beside}: configure with WB_PYTHON=ON")
    else:
        try:
            importlib.import_module("sdpa_workbench._loaded")
        except ImportError as fault:
            pytest.skip(str(fault))
    return importlib.import_module("sdpa_workbench")


def importing(package):
    """The environment in which another process finds the same package."""
    return {"PYTHONPATH": str(Path(package.__file__).parents[1])}


@pytest.fixture(scope="session")
def cache(tmp_path_factory):
    return tmp_path_factory.mktemp("cache")


@pytest.fixture
def wb(build, cache, tmp_path):
    return Workbench(build / "sdpa-wb", tmp_path, cache)
