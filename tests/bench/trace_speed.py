#!/usr/bin/env python3
"""`sdpa-wb trace prepare` beside Python's json.load of the same file: time and memory.

    trace_speed.py BUILD_DIR TRACE [--mb 100] [--rounds 5] [--gzip] [--no-python] [--json FILE]

TRACE (plain or gzip) is repeated, with times and ids moved on, until --mb of text are there. Both
programs run in turns as processes of their own; the time is the wall clock around each, the memory
its largest resident set. --no-python leaves json.load out, where it would not fit into memory.
"""

import argparse
import gzip
import json
import multiprocessing
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

LOAD = """
import gzip, json, sys
with (gzip.open if sys.argv[1].endswith('gz') else open)(sys.argv[1], 'rt', encoding='utf-8') as f:
    json.load(f)
"""


def read(path):
    with (gzip.open if path.suffix == ".gz" else open)(path, "rt", encoding="utf-8") as file:
        return json.load(file)


def moved(event, turn, span, ids):
    """The same event in a later repetition."""
    copy = dict(event)
    if "ts" in copy:
        copy["ts"] = round(copy["ts"] + turn * span, 3)
    if "args" in copy:
        args = copy["args"] = dict(copy["args"])
        for key in ("correlation", "External id"):
            if isinstance(args.get(key), int) and args[key] > 0:
                args[key] += turn * ids
    return copy


def repeat(source, target, size):
    """Writes at least `size` bytes of text; returns how many there are."""
    whole = read(source)
    events = whole.pop("traceEvents")
    times = [(e["ts"], e.get("dur", 0)) for e in events if e.get("ph") == "X"]
    span = max(ts + dur for ts, dur in times) - min(ts for ts, _ in times) + 1000
    ids = 1 + max(
        (e.get("args", {}).get(key, 0) for e in events for key in ("correlation", "External id")),
        key=lambda value: value if isinstance(value, int) else 0,
    )
    compact = {"ensure_ascii": False}
    written = turn = 0
    with (gzip.open if target.suffix == ".gz" else open)(target, "wt", encoding="utf-8") as out:
        head = json.dumps(whole, **compact)
        written += out.write(head[:-1] + ',\n"traceEvents": [\n')
        while written < size:
            part = ",\n".join(json.dumps(moved(e, turn, span, ids), **compact) for e in events)
            written += out.write((",\n" if turn else "") + part)
            turn += 1
        written += out.write("\n]}\n")
    return written


def run(argv):
    """Seconds and largest resident set (bytes) of one process."""
    start = time.perf_counter()
    child = subprocess.Popen(argv, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(child.pid, 0)
    wall = time.perf_counter() - start
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode != 0:
        sys.exit(f"{argv[0]} ended with {child.returncode}")
    return wall, usage.ru_maxrss * 1024


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build", type=Path)
    parser.add_argument("trace", type=Path)
    parser.add_argument("--mb", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--gzip", action="store_true")
    parser.add_argument("--no-python", action="store_true")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        file = folder / ("trace.json.gz" if options.gzip else "trace.json")
        # A child's largest resident set starts at its parent's: ours stays small.
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            text = pool.apply(repeat, (options.trace, file, options.mb * 10**6))
        ours = [str(options.build / "sdpa-wb"), "trace", "prepare", str(file), "--platform",
                "H100", "--output-dir", str(folder / "out")]  # fmt: skip
        python = [sys.executable, "-c", LOAD, str(file)]
        mine, theirs = [], []
        for _ in range(options.rounds):
            mine.append(run(ours))
            if not options.no_python:
                theirs.append(run(python))
    result = {"text_bytes": text, "gzip": options.gzip, "rounds": options.rounds}
    for who, runs in (("workbench", mine), ("json_load", theirs)):
        if not runs:
            continue
        seconds = statistics.median(wall for wall, _ in runs)
        result[who] = {
            "median_s": round(seconds, 3),
            "all_s": [round(wall, 3) for wall, _ in runs],
            "mb_per_s": round(text / seconds / 1e6, 1),
            "max_rss_bytes": max(rss for _, rss in runs),
            "rss_share_of_text": round(max(rss for _, rss in runs) / text, 3),
        }
    if theirs:
        ratio = result["json_load"]["median_s"] / result["workbench"]["median_s"]
        result["times_faster"] = round(ratio, 2)
    print(json.dumps(result, indent=2))
    if options.json:
        options.json.write_text(json.dumps(result, indent=2) + "\n")


if __name__ == "__main__":
    main()
