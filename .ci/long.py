"""What `make test-long` runs: long.py BUILD, every part of the long tier (tests/long.txt), then the
sanitizers over every module. It can be stopped at any time: the next call goes on with the parts
that have not passed on this state of the tree. When all have, docs/testing.md has their table.

A test that tries something many times prints `rate: WHAT: PASSED of TRIED`, which the table shows
with its interval of 95 %.
"""

from __future__ import annotations

import datetime
import hashlib
import json
import math
import os
import platform
import re
import subprocess
import sys
import time
import xml.etree.ElementTree as xml
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from keyed import Tree

ROOT = Path(__file__).resolve().parent.parent
PAGE = "docs/testing.md"
BEGIN, END = "<!-- make test-long -->", "<!-- end of make test-long -->"
RATE = re.compile(r"^rate: (.+): (\d+) of (\d+)$", re.M)
SANITIZERS = "sanitizers, every module"
Z = 1.959964  # of a normal distribution, 95 % within


def state_of(root: Path) -> str:
    """A hash of every file but the page that the table is written to."""
    tree = Tree(root)
    lines = [f"{path} {tree.hash_of(path)}" for path in tree.paths if path != PAGE]
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:16]


def wilson(passed: int, tried: int) -> tuple[float, float]:
    """The interval of a rate, by Wilson's score; tried > 0."""
    rate, z2 = passed / tried, Z * Z
    middle = (rate + z2 / (2 * tried)) / (1 + z2 / tried)
    half = Z * math.sqrt(rate * (1 - rate) / tried + z2 / (4 * tried * tried)) / (1 + z2 / tried)
    return max(0.0, middle - half), min(1.0, middle + half)


def counts(report: Path) -> dict:
    """Of a report in JUnit's form: how many tests ran, passed and were skipped, and their rates."""
    root = xml.parse(report).getroot()
    cases = list(root.iter("testcase"))
    of = {word: sum(case.find(word) is not None for case in cases)
          for word in ("failure", "error", "skipped")}  # fmt: skip
    rates = RATE.findall("\n".join(out.text or "" for out in root.iter("system-out")))
    ran = len(cases) - of["skipped"]
    return {
        "ran": ran,
        "passed": ran - of["failure"] - of["error"],
        "skipped": of["skipped"],
        "rates": [[what, int(passed), int(tried)] for what, passed, tried in rates],
    }


def parts(build: Path, report: Path) -> dict[str, list[str]]:
    """The command of each part by its name."""
    listed = subprocess.run(
        ["ctest", "--test-dir", build, "-L", "^long$", "--show-only=json-v1"],
        check=True, capture_output=True, text=True,
    ).stdout  # fmt: skip
    found = {
        test["name"]: ["ctest", "--test-dir", str(build), "--output-on-failure", "-R",
                       f"^{test['name']}$", "--output-junit", str(report)]
        for test in json.loads(listed)["tests"]
    }  # fmt: skip
    for line in (ROOT / "tests" / "long.txt").read_text().splitlines():
        if line.startswith("tests/"):
            found[line] = [sys.executable, "-m", "pytest", line, "-q", "-rsfE",
                           "-p", "no:cacheprovider", "-o", "junit_logging=system-out",
                           f"--junitxml={report}"]  # fmt: skip
    found[SANITIZERS] = ["bash", ".ci/sanitized.sh", "build/asan"]
    return found


def run(command: list[str], build: Path, report: Path) -> dict:
    """What became of one part."""
    report.unlink(missing_ok=True)
    begun = time.monotonic()
    environment = os.environ | {"WB_BUILD_DIR": str(build), "WB_SANITIZE_ALL": "1"}
    code = subprocess.run(command, cwd=ROOT, env=environment).returncode
    result = {"ran": 1, "passed": int(code == 0), "skipped": 0, "rates": []}
    if report.is_file():
        result = counts(report)
    return result | {"ok": code == 0, "seconds": round(time.monotonic() - begun)}


def processor() -> str:
    names = re.findall(r"model name\s*: (.+)", Path("/proc/cpuinfo").read_text())
    return f"{len(os.sched_getaffinity(0))} CPUs of {names[0] if names else platform.machine()}"


def table(results: dict[str, dict], about: str) -> str:
    lines = [about, "", "| part | passed | interval (95 %) | skipped | seconds |",
             "|---|---:|---:|---:|---:|"]  # fmt: skip
    for name, one in results.items():
        lines.append(
            f"| {name} | {one['passed']} of {one['ran']} | | {one['skipped'] or ''} | "
            f"{one['seconds']} |"
        )
        for what, passed, tried in one["rates"]:
            low, high = wilson(passed, tried)
            lines.append(f"| · {what} | {passed} of {tried} | {low:.3f} to {high:.3f} | | |")
    return "\n".join(lines)


def write_page(page: Path, text: str) -> None:
    """Puts the table between its two marks."""
    before, _, rest = page.read_text().partition(BEGIN)
    _, end, after = rest.partition(END)
    if not end:
        sys.exit(f"long.py: {page} lacks {BEGIN} … {END}: the table has no place")
    page.write_text(f"{before}{BEGIN}\n{text}\n{END}{after}")


def main(build: Path) -> int:
    kept = ROOT / "build" / "long" / f"{state_of(ROOT)}.json"
    kept.parent.mkdir(parents=True, exist_ok=True)
    report = kept.with_suffix(".xml")
    known: dict[str, dict] = json.loads(kept.read_text()) if kept.exists() else {}
    results = {}
    for name, command in parts(build, report).items():
        results[name] = known.get(name, {})
        if not results[name].get("ok"):
            print(f"\n== {name}", flush=True)
            results[name] = known[name] = run(command, build, report)
            beside = kept.with_suffix(".new")
            beside.write_text(json.dumps(known))
            beside.replace(kept)
    failed = [name for name, one in results.items() if not one["ok"]]
    commit = subprocess.run(
        ["git", "-C", ROOT, "describe", "--always", "--dirty"], capture_output=True, text=True
    ).stdout.strip()
    about = f"{datetime.date.today()}, commit {commit or 'unknown'}, {processor()}:"
    print(f"\n{table(results, about)}\n")
    if failed:
        print("failed, and to be run again by the next call:", *failed, sep="\n  ")
        return 1
    write_page(ROOT / PAGE, table(results, about))
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
