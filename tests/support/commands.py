# SPDX-License-Identifier: MIT
"""The real commands, of a built tree or as pip installed them, in folders of a test's own."""

import contextlib
import importlib
import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
import sysconfig
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SMALL = "B=1 Hq=2 Sq=64 D=32 f32"
EXIT_ENVIRONMENT = 76  # the machine, not the variant
STEADY_TURNS = ROOT / "tests" / "support" / "steady_turns.py"
STEADY_PYTHON = STEADY_TURNS.with_name("steady_python.py")
MOST_BUSY = 8  # tests that may find the machine busy; beyond it a fault could hide behind the word
busy = []


def may_be_busy(test):
    """Whether a busy machine may spoil that test: those of the long tier measure. Where the tiers
    are not installed, any may."""
    tiers = ROOT / "tests" / "long.txt"
    if not tiers.exists():
        return True
    lines = tiers.read_text().split("\n")
    return any(test.startswith(line) for line in lines if line.startswith("tests/"))


def skip_busy(words):
    """Exit 76 says that the machine was too busy to measure, which is nobody's fault. It is a
    failure like any other in a test that measures nothing, where WB_QUIET=1 says that the machine
    is quiet, and everywhere when more than MOST_BUSY tests say so."""
    if not may_be_busy(os.environ["PYTEST_CURRENT_TEST"]) or os.environ.get("WB_QUIET") == "1":
        pytest.fail(f"nothing here can be too busy, but: {words}")
    last = words.strip().splitlines()[-1:] or ["no word"]
    busy.append(last[0])
    pytest.skip(f"the machine is too busy to measure: {last[0][:200]}")


class Hold:
    """One request to the worker that is not answered before `release`, or before whoever asked is
    gone: what a test does meanwhile surely meets a run that is under way."""

    def __init__(self, folder):
        self.folder = folder
        folder.mkdir()

    def wait(self, process=None):
        """Until the request is there; `process` is who is expected to make it."""
        while not (self.folder / "held").exists():
            if process is not None and process.poll() is not None:
                out, err = process.communicate()
                pytest.fail(f"it ended before the request that is held:\n{out}\n{err}")
            time.sleep(0.01)

    def release(self):
        (self.folder / "go").touch()


class Turns:
    """What turns find, by a table instead of the clock (steady_turns.py)."""

    def __init__(self, worker: Path, table: Path):
        self.worker, self.table, self.holds = worker, table, 0

    @property
    def transport(self):
        """The prefix of the worker's command."""
        return [sys.executable, str(STEADY_TURNS), str(self.table)]

    def program(self):
        """All of it as one program, where only the worker can be named."""
        script = self.table.with_suffix(".worker")
        words = shlex.join([*self.transport, str(self.worker)])
        script.write_text(f'#!/bin/sh\nexec {words} "$@"\n')
        script.chmod(0o755)
        return script

    def _change(self, **values):
        known = json.loads(self.table.read_text()) if self.table.exists() else {}
        beside = self.table.with_suffix(".new")
        beside.write_text(json.dumps(known | values))
        beside.rename(self.table)

    def take(self, **times_us):
        """From now on a call of a kernel takes so many microseconds: take(cpu_tiled=50). It is 100
        for those that no table has named."""
        self._change(times_us=times_us)

    def flag(self, **flags):
        """From now on every turn of a kernel carries flags: flag(cpu_tiled=["foreign_load"])."""
        self._change(flags=flags)

    def limit_cpus(self, quota, allowed="0-1", online="0-1", siblings=""):
        """From now on a worker that starts says so of its CPUs."""
        source = {"cpus": quota, "source": "/sys/fs/cgroup/job/cpu.max"}
        limits = {"allowed": allowed, "online": online, "siblings": siblings, "quota": source}
        self._change(cpu_limits=limits)

    def hold(self, verb="turn", nth=1):
        """The nth request of that verb, counted by each worker for itself, is held."""
        self.holds += 1
        held = Hold(self.table.with_suffix(f".hold{self.holds}"))
        self._change(hold={"verb": verb, "nth": nth, "folder": str(held.folder)})
        return held


def default_stops():
    """Signals stop what tests start, also where these run under nohup or in the background of a
    script, which have them ignored."""
    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)


class Workbench:
    """Runs sdpa-wb in a folder with its own sessions and a cache shared by the whole test run. Its
    turns take the times of a table, however busy the machine is, unless `steady` is false; all else
    is real."""

    def __init__(self, program: Path, folder: Path, cache: Path, steady=True):
        self.program, self.folder, self.cache, self.steady = program, folder, cache, steady
        table = folder.with_name(f"{folder.name}.times.json")
        self.turns = Turns(program.with_name("sdpa-wb-worker"), table)

    def argv(self, *words):
        steady = ["--worker", self.turns.worker, "--transport", *self.turns.transport, "--"]
        return [
            str(self.program), *map(str, words), *map(str, steady if self.steady else []),
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
            text=True, preexec_fn=default_stops,
        )  # fmt: skip

    def python(self, package, program, *words):
        """Runs a Python program that makes workbenches of its own, and finds the tree's kernels."""
        options = {"worker": str(self.turns.program()), "cache": str(self.cache)}
        kernels = self.folder / "kernels"
        if not kernels.exists():
            kernels.symlink_to(ROOT / "kernels")
        return subprocess.run(
            [sys.executable, STEADY_PYTHON, json.dumps(options), program, *words],
            cwd=self.folder, env=os.environ | importing(package), text=True, capture_output=True,
            timeout=280,
        )  # fmt: skip

    def open_small(self, session="s", **options):
        """A session with a baseline. Where nothing is asked for but that, it is a copy of one that
        was opened before, wherever it lies."""
        template = self.cache.parent / ("opened_small" if self.steady else "opened_small_by_clock")
        if options or Path(session).name != "s":  # the log has its name
            return self._open_small(session, options)
        if not template.exists():
            made = Workbench(self.program, self.folder / "template", self.cache, self.steady)
            made.folder.mkdir()
            answer = made._open_small("s", {})
            (made.folder / "answer.json").write_text(json.dumps(answer))
            with contextlib.suppress(OSError):  # another that runs beside this one was first
                made.folder.rename(template)
        shutil.copytree(template / "s", self.folder / session, symlinks=True)
        return json.loads((template / "answer.json").read_text()) | {"session": str(session)}

    def _open_small(self, session, options):
        words = ["open", "--start", "cpu_unfused", "--problem", SMALL, "--rivals", "none",
                 "--effort", "quick", "--session", session]  # fmt: skip
        for key, value in options.items():
            words += ["--" + key.replace("_", "-"), value]
        return self.json(*words)


def programs():
    """The folder of sdpa-wb: WB_BUILD_DIR; else the tree's build folder, the one beside these files
    where they were installed, or that of this interpreter's environment (`pip install .`)."""
    if "WB_BUILD_DIR" in os.environ:
        return ROOT / os.environ["WB_BUILD_DIR"]
    places = [ROOT / "build" / "release", Path(sysconfig.get_path("scripts"))]
    if ROOT.parent.name == "share":  # the files of test_gpu.py are in the wheel
        places.insert(0, ROOT.parents[1] / "bin")
    return next((place for place in places if (place / "sdpa-wb").exists()), places[0])


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
