# SPDX-License-Identifier: MIT
"""The whole fault plan, or with --quick its selection: runs every part with WB_TORTURE and writes
one JSON file with, for each row, the points tried and passed, the seconds, and why it was skipped.

Usage: run.py BUILD_DIR OUT.json [--quick]"""

import argparse
import concurrent.futures
import datetime
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
PARTS = [
    ("unit/faults/unit_faults", []),
    ("unit/session/unit_session", ["[recovery],[repository]"]),
    ("unit/playbook/unit_playbook", ["[hostile]"]),
]


PARTS_AT_A_TIME = 2


def commands(build):
    """Name and command of each part; the longest first, for they run two at a time."""
    for program, words in PARTS:
        yield Path(program).name, [str(build / "tests" / program), *words]
    for path in sorted(HERE.glob("test_*.py"), reverse=True):
        if path.name != "test_page.py":
            yield path.stem, [sys.executable, "-m", "pytest", str(path), "-q", "-rs", "-p",
                              "no:cacheprovider"]  # fmt: skip


def add_up(lines):
    """One entry a row, in the order of first appearance."""
    rows = {}
    for line in lines:
        new = {"row": line["row"], "tried": 0, "passed": 0, "seconds": 0.0, "skipped": []}
        row = rows.setdefault(line["row"], new)
        row["tried"] += line["tried"]
        row["passed"] += line["passed"]
        row["seconds"] = round(row["seconds"] + line["seconds"], 1)
        if line.get("skipped") and line["skipped"] not in row["skipped"]:
            row["skipped"].append(line["skipped"])
    return [rows[name] for name in sorted(rows)]


def run_all(build, whole):
    with tempfile.TemporaryDirectory(prefix="wb-torture-") as folder:
        out = Path(folder) / "points.jsonl"
        env = {**os.environ, "WB_BUILD_DIR": str(build), "WB_TORTURE_OUT": str(out),
               "WB_TORTURE": "1" if whole else "0"}  # fmt: skip
        failed, begun = [], time.monotonic()

        def run_part(part):
            name, command = part
            done = subprocess.run(
                command, env=env, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
            )
            if done.returncode != 0:
                failed.append(name)
                print(done.stdout.decode(errors="replace"))
            print(f"{name}: {'failed' if done.returncode else 'passed'}", flush=True)

        with concurrent.futures.ThreadPoolExecutor(PARTS_AT_A_TIME) as pool:
            list(pool.map(run_part, commands(build)))
        lines = out.read_text().splitlines() if out.exists() else []
        return {
            "date": datetime.date.today().isoformat(),
            "machine": f"{os.cpu_count()} cores, {platform.system()} {platform.machine()}",
            "whole": whole,
            "seconds": round(time.monotonic() - begun, 1),
            "failed": sorted(failed),
            "rows": add_up(json.loads(line) for line in lines),
        }


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("build", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--quick", action="store_true")
    asked = parser.parse_args()
    record = run_all(asked.build.resolve(), not asked.quick)
    asked.out.write_text(json.dumps(record) + "\n")
    for row in record["rows"]:
        skipped = "; skipped: " + ", ".join(row["skipped"]) if row["skipped"] else ""
        print(f"{row['row']:<12} {row['passed']}/{row['tried']} in {row['seconds']} s{skipped}")
    print(f"{record['seconds']} s; {asked.out}")
    if record["failed"]:
        print("failed: " + ", ".join(record["failed"]), file=sys.stderr)
    return 1 if record["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
