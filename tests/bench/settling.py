"""How fast a device settles at its power limit, from a session's recorded turns of the sustained
regime: by time since a turn's first timed call, how far calls lie from those of its last 80 ms.
Usage: settling.py SESSION [--bin-ms 10] [--json]
"""

import argparse
import json
import statistics
from collections import defaultdict
from pathlib import Path

from session_events import events_of

LATE_MS = 80  # what a turn settled at: the median of its last calls


def turns(session):
    """(samples_us, calls_per_sample) of each hot sustained turn."""
    for event in events_of(session):
        payload = event["payload"]
        if event["type"] == "turn_measured" and payload.get("regime") == "sustained":
            yield payload["samples_us"], payload["calls_per_sample"]


def deviations(samples_us, calls, bin_ms):
    """Of one turn: {bin: median share by which its calls are slower than the settled ones}."""
    ends_ms, now_ms = [], 0.0
    for sample_us in samples_us:
        now_ms += sample_us * calls / 1e3
        ends_ms.append(now_ms)
    late = [s for s, end in zip(samples_us, ends_ms, strict=True) if end > now_ms - LATE_MS]
    settled_us = statistics.median(late)
    bins = defaultdict(list)
    for sample_us, end_ms in zip(samples_us, ends_ms, strict=True):
        begin_ms = end_ms - sample_us * calls / 1e3
        bins[int(begin_ms // bin_ms)].append(sample_us / settled_us - 1)
    return {index: statistics.median(values) for index, values in bins.items()}


def curve(session, bin_ms):
    """Rows of {ms, turns, median_frac, p10_frac, p90_frac}."""
    bins = defaultdict(list)
    for samples_us, calls in turns(session):
        for index, value in deviations(samples_us, calls, bin_ms).items():
            bins[index].append(value)
    rows = []
    for index, values in sorted(bins.items()):
        values.sort()
        rows.append({
            "ms": index * bin_ms,
            "turns": len(values),
            "median_frac": statistics.median(values),
            "p10_frac": values[len(values) // 10],
            "p90_frac": values[len(values) * 9 // 10],
        })  # fmt: skip
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("Usage")[0])
    parser.add_argument("session", type=Path)
    parser.add_argument("--bin-ms", type=float, default=10)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    rows = curve(options.session, options.bin_ms)
    if not rows:
        parser.error(f"{options.session} has no turns of the sustained regime")
    if options.json:
        print(json.dumps(rows, indent=1))
        return
    print("ms  turns  median  10 %   90 %")
    for row in rows:
        print(
            f"{row['ms']:3.0f} {row['turns']:5d} {row['median_frac']:7.2%}"
            f" {row['p10_frac']:7.2%} {row['p90_frac']:7.2%}"
        )


if __name__ == "__main__":
    main()
