"""The table that .ci/run ends with: summary.py STAGES STATSLOG BUILD, the stages as .ci/stages.sh
notes them, what ccache logged, and the build folder whose tests ran."""

from __future__ import annotations

import sys
import time
import xml.etree.ElementTree as xml
from itertools import pairwise
from pathlib import Path

SLOWEST = 10
HITS, MISS = ("direct_cache_hit", "preprocessed_cache_hit"), "cache_miss"


def hits(log: bytes) -> str:
    """How many compilations of a part of the log were taken from the cache."""
    words = log.decode().split("\n")
    found, missed = sum(words.count(one) for one in HITS), words.count(MISS)
    return f"{found}/{found + missed}" if found + missed else ""


def stages(notes: Path, log: Path) -> list[tuple[str, float, str]]:
    """Name, seconds and cache hits of each stage, in order."""
    lines = [line.split("\t") for line in notes.read_text().splitlines()]
    logged = log.read_bytes() if log.is_file() else b""
    lines.append([str(time.time()), str(len(logged)), ""])
    return [
        (name, float(end) - float(begin), hits(logged[int(first) : int(last)]))
        for (begin, first, name), (end, last, _) in pairwise(lines)
    ]


def slowest(build: Path) -> list[tuple[float, str]]:
    """Seconds and name of the tests that took longest, of each that ran the longest time."""
    took: dict[str, float] = {}
    for report in (build / "Testing").glob("*.xml"):
        for case in xml.parse(report).getroot().iter("testcase"):
            name = case.get("name", "")
            if report.name.startswith("pytest"):
                name = f"{case.get('classname', '').replace('.', '/')}.py::{name}"
            took[name] = max(took.get(name, 0.0), float(case.get("time") or 0))
    return sorted(((seconds, name) for name, seconds in took.items()), reverse=True)[:SLOWEST]


def main(notes: Path, log: Path, build: Path) -> None:
    print(f"\n{'stage':<32} {'seconds':>7}  compilations from the cache")
    rows = stages(notes, log)
    for name, seconds, cached in rows:
        print(f"{name:<32} {seconds:7.0f}  {cached}")
    print(f"{'all':<32} {sum(seconds for _, seconds, _ in rows):7.0f}")
    print("\nslowest tests, seconds:")
    for seconds, name in slowest(build):
        print(f"{seconds:7.1f}  {name}")


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
