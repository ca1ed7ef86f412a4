#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A first session from Python: is a kernel right, is it faster, what next?

    python examples/quickstart.py [FOLDER]

Seconds on a CPU. FOLDER (default: quickstart) is the session's, and must be new.
"""

import sys

import sdpa_workbench as wb

PROBLEM = "B=1 Hq=4 Sq=200 D=64 f32"


def main(folder):
    bench = wb.Workbench()
    verdict = bench.check("cpu_tiled", problem=PROBLEM)
    print("cpu_tiled is", "right" if verdict.passed else "wrong")

    arguments = {"start": "cpu_unfused", "problem": PROBLEM, "rivals": ["none"], "effort": "quick"}
    with wb.Session.open(folder, workbench=bench, **arguments) as session:
        done = session.iterate(
            variant="cpu_tiled",
            hypothesis="a tile of queries reads and converts each key once",
            predicted_speedup=4,
        )
        print(f"{done.outcome}: {done.speedup} over the start, {done.interval}")
        for finding in session.analyze():
            print("-", finding.statement)
        session.close(recommendation="take the tiles")
        report = session.report().text
    print(report.partition("\n## ")[0])  # its first screen


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "quickstart")
