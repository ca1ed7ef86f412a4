#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Regret curves: strategies of our own and Optuna's on recorded spaces, by simulation.

  PYTHONPATH=build/release/python tests/bench/regret.py [RECORDING …] [--seeds 30]

Regret after n answers is how much slower than the recorded optimum the configuration is that looks
best then. Every strategy starts at the same configuration, the slowest valid one, and sees the same
recorded processes for a seed. Prints one table a recording: mean over the seeds, and in brackets
the worst tenth (the 90th percentile). Every configuration answered counts, also failed ones.
"""

import argparse
import json
import statistics
import sys
import time
from pathlib import Path

from sdpa_workbench.search import simulate

DATA = Path(__file__).resolve().parents[1] / "data"
RECORDINGS = [
    DATA / "cpu_tiled_space_2026-11-21.json",
    DATA / "cpu_splitkv_space_2026-11-23.json",
]
STRATEGIES = ("exhaustive", "random", "hill_climb", "racing", "tpe", "cma_es", "gp")
AFTER = (3, 5, 10, 15, 20, 30, 50)


def slowest(path):
    def time_of(point):
        samples = [us for turn in point["turns"] for us in turn["samples_us"]]
        return statistics.median(samples)

    valid = [point for point in json.loads(path.read_text())["points"] if point.get("turns")]
    return max(valid, key=time_of)["configuration"]


def regrets(steps, after):
    """In percent, after each number of answers; the last one stands where a search ended before."""
    found = [100 / step["fraction_of_optimum"] - 100 if step["fraction_of_optimum"] else None
             for step in steps]  # fmt: skip
    return [found[min(n, len(found)) - 1] for n in after]


def row(path, strategy, seeds, after, start):
    started = time.monotonic()
    told = [simulate(path, strategy=strategy, seed=seed, evaluations=after[-1], start=start)
            for seed in range(1, seeds + 1)]  # fmt: skip
    spent_ms = 1000 * (time.monotonic() - started) / sum(len(run["steps"]) for run in told)
    cells = []
    for values in zip(*(regrets(run["steps"], after) for run in told), strict=True):
        worst = sorted(values)[min(len(values) - 1, round(0.9 * len(values)))]
        cells.append(f"{statistics.mean(values):.1f} ({worst:.0f})")
    return f"| `{strategy}` | {' | '.join(cells)} | {spent_ms:.1f} |", told[0]["proposer"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("recordings", nargs="*", type=Path, default=RECORDINGS)
    parser.add_argument("--seeds", type=int, default=30)
    parser.add_argument("--strategies", nargs="+", default=STRATEGIES, choices=STRATEGIES)
    args = parser.parse_args()
    for path in args.recordings:
        start = slowest(path)
        size = simulate(path, strategy="random", evaluations=1)["space_size"]
        after = [n for n in AFTER if n <= size]
        print(f"\n{path.name}: {size} configurations, start {start}, {args.seeds} seeds\n")
        print(f"| strategy | {' | '.join(map(str, after))} | ms an answer |")
        print("|---" + "|---:" * (len(after) + 1) + "|")
        proposers = set()
        for strategy in args.strategies:
            text, proposer = row(path, strategy, args.seeds, after, start)
            proposers.add(proposer)
            print(text, flush=True)
        print("\n" + "; ".join(sorted(filter(None, proposers))))
    return 0


if __name__ == "__main__":
    sys.exit(main())
