#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""How long agent tools take that neither compile nor measure: tool_calls.py [SESSION] [ROUNDS].

Works on a copy of SESSION (default: the longest one below sessions/, where only what reads is
timed) and on a short one of its own. Prints median, 95th percentile and maximum in ms for each
tool, and for all calls together. The package must be importable (PYTHONPATH=build/release/python).
"""

import shutil
import statistics
import sys
import tempfile
import time
from pathlib import Path

from sdpa_workbench import Workbench, errors, tools
from session_events import log_of

ROOT = Path(__file__).resolve().parents[2]
READS = [
    ("brief", {}), ("history", {"query": "tile"}), ("status", {}), ("kernels", {}),
    ("suites", {}), ("get_job", {}), ("read_ref", {"ref": "cpu_unfused/kernel.cpp"}),
    ("read_ref", {"ref": "e1"}), ("advise", {}), ("note", {}), ("no_such_tool", {}),
]  # fmt: skip
WRITES = [
    ("note", {"text": "a note"}), ("record_usage", {"model": "m", "input_tokens": 9,
                                                    "output_tokens": 1}),
    ("note", {"text": "said once", "request_id": "again"}),
]  # fmt: skip


def longest():
    return max(ROOT.glob("sessions/*.tar.gz"), key=lambda archive: archive.stat().st_size)


def opened(folder):
    """A session that can be written to."""
    bench = Workbench(path=[ROOT])
    for _ in range(5):
        try:
            bench.call("open", {
                "start": "cpu_unfused", "problem": "B=1 Hq=2 Sq=64 D=32 f32", "rivals": ["none"],
                "effort": "quick",
            }, session=folder)  # fmt: skip
            break
        except errors.EnvironmentFault:
            shutil.rmtree(folder)
    bench.close()


def line(name, times):
    times = sorted(times)
    p95 = times[max(0, -(-len(times) * 95 // 100) - 1)]
    return f"{name:32} {statistics.median(times):8.2f} {p95:8.2f} {times[-1]:8.2f}"


def timed(folder, calls, rounds, where):
    every = []
    with tools.Toolbox(folder, workbench=Workbench(path=[ROOT])) as box:
        for name, arguments in calls:
            times = []
            for _ in range(rounds):
                begin = time.perf_counter()
                box.call(name, arguments)
                times.append(1e3 * (time.perf_counter() - begin))
            print(line(f"{where} {name}{' again' if 'request_id' in arguments else ''}", times))
            every += times
    return every


def main(session=None, rounds="100"):
    session = Path(session) if session else longest()
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        if session.is_file():
            shutil.copy(session, folder / "long.tar.gz")
        else:
            shutil.copytree(session, folder / "long", symlinks=True)
        opened(folder / "short")
        size = len(log_of(session))
        print(f"long: {session.name}, {size / 1e6:.1f} MB of log; {rounds} calls each; ms")
        print(f"{'':32} {'median':>8} {'p95':>8} {'max':>8}")
        times = timed(folder / "long", READS, int(rounds), "long ")
        print(line("all that read a long session", times))
        times = timed(folder / "short", READS + WRITES, int(rounds), "short")
        print(line("all on a short session", times))


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
