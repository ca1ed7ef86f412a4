"""Fixtures of the scenario tests: the real commands, of a built tree or as pip installed them, in
folders of their own."""

import gzip
import importlib
import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tarfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
EXIT_ENVIRONMENT = 76  # the machine, not the variant


def kept(name):
    """The archive of a session that is kept in the project."""
    return ROOT / "sessions" / f"{name}.tar.gz"


def session_name(path):
    """What a session is called, by its folder or its archive."""
    return path.name.removesuffix(".tar.gz")


def report_of(archive):
    """The report of a kept session, which lies beside its archive."""
    return archive.with_name(f"{session_name(archive)}.md")


def kept_sessions(root):
    """The archives that are kept in the project, each with its report beside it. A demo or a user
    leaves others: in a git checkout those are not tracked, elsewhere they are folders, have no
    report beside them, or are called as new sessions are."""
    found = [path for path in sorted(root.glob("*.tar.gz")) if report_of(path).is_file()]
    tracked = []
    if shutil.which("git"):
        words = ["git", "-C", root, "ls-files", "-z", "--", "*.tar.gz"]
        listed = subprocess.run(words, capture_output=True, text=True)
        tracked = listed.stdout.split("\0") if listed.returncode == 0 else []
    if any(tracked):
        return [path for path in found if path.name in tracked]
    return [path for path in found if not re.fullmatch(r"s-\d{4,}", session_name(path))]


def unpack(archive, folder):
    """The one folder that an archive holds, unpacked below `folder`."""
    folder.mkdir(parents=True)
    with tarfile.open(archive) as tar:
        if hasattr(tarfile, "data_filter"):  # not in Debian 12's own Python
            tar.extractall(folder, filter="data")
        else:
            tar.extractall(folder)
    (only,) = folder.iterdir()
    return only


def pack_as_before(session):
    """Gives a folder the form that kept sessions had before archives: log, pages for programs and
    blobs packed for themselves, under a name with .gz or, of blobs, under their own."""
    for path in [session / "events.jsonl", *session.glob("iterations/*.json")]:
        Path(f"{path}.gz").write_bytes(gzip.compress(path.read_bytes(), mtime=0))
        path.unlink()
    for path in session.glob("blobs/*"):
        path.write_bytes(gzip.compress(path.read_bytes(), mtime=0))
    return session


SESSIONS = kept_sessions(ROOT / "sessions")
STEADY_TURNS = ROOT / "tests" / "support" / "steady_turns.py"
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

    def steady(self, **times_us):
        """The words with which a command's turns take the times of a table, in microseconds of a
        call by kernel (100 for others), however busy the machine is; all else is real."""
        table = self.folder / "times.json"
        table.write_text(json.dumps({"times_us": times_us}))
        return ["--worker", self.program.with_name("sdpa-wb-worker"),
                "--transport", sys.executable, STEADY_TURNS, table, "--"]  # fmt: skip

    def open_small(self, session="s", **options):
        """A session with a baseline, whose figures are those of a table. Where nothing is asked
        for but that, it is a copy of one that was opened before."""
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
        return self.json(*words, *self.steady())


def log_of(session: Path):
    """The text of the log of a folder or an archive."""
    if session.is_dir():
        return (session / "events.jsonl").read_text()
    with tarfile.open(session) as tar:
        return tar.extractfile(f"{session_name(session)}/events.jsonl").read().decode()


def events(session: Path):
    """The parsed log; a torn last line is left out, as readers do."""
    return [json.loads(line) for line in log_of(session).split("\n")[:-1]]


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
