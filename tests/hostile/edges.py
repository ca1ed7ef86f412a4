# SPDX-License-Identifier: MIT
"""The wrong kernels of table.json's edge_cases, each right on ordinary shapes and wrong in
something that its manifest claims: laid out as variants beside a built sdpa-wb, and checked. As a
program it measures how often `check` finds each of them, or (--honest) accuses a kernel of this
repository on the CPU; --print shows the source that a row stands for:

    python3 tests/hostile/edges.py --build build/release --runs 10 [NAME ...]
    python3 tests/hostile/edges.py --build build/release --honest 500 [NAME ...]
    python3 tests/hostile/edges.py --print NAME ...
"""

import argparse
import itertools
import json
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
HERE = ROOT / "tests" / "hostile"
CASES = {case["name"]: case for case in json.loads((HERE / "table.json").read_text())["edge_cases"]}
ORDINARY = "B=2 Hq=8 Hkv=4 Sq=100 D=64 f16 causal=top_left"
HONEST = sorted(path.name for path in (ROOT / "kernels").glob("*cpu_*") if path.is_dir())
HONEST_PROBLEMS = [
    ORDINARY,
    "B=1 Hq=4 Sq=257 Skv=300 D=80 f32 mask=additive",
    "B=3 Hq=2 Sq=33 Skv=65 D=16 bf16 causal=bottom_right mask=bool:0.7",
    "B=1 Hq=8 Hkv=2 Sq=1 Skv=1000 D=128 f16 layout=BSHD",
]
MANIFEST = {
    "about": "wrong in something that it claims",
    "backend": "cpu",
    "supports": {
        "dtypes": ["f32", "f16", "bf16"],
        "head_dim_max": 1024,
        "causal": ["none", "top_left", "bottom_right"],
        "masks": ["none", "bool", "additive"],
        "layouts": ["BHSD", "BSHD"],
        "gqa": True,
        "dv_differs": True,
    },
    "sources": ["kernel.cpp", "wrong.hpp", "inner.hpp"],
    "techniques": [],
}


def source_of(name):
    """The kernel of one row: its fault, around the right attention of wrong.hpp."""
    case = CASES[name]
    macro = "SPOIL" if "spoil" in case else "WRONG"
    return (
        f"// SPDX-License-Identifier: MIT\n// Wrong in: {case['fault']}.\n"
        f'#define {macro} {case[macro.lower()]}\n#include "wrong.hpp"\n'
    )


def lay_out(folder, names):
    """kernels/NAME below the folder for each of them."""
    inner = (ROOT / "kernels" / "cpu_online" / "kernel.cpp").read_text()
    inner = inner.replace("WB_CPU_KERNEL(online::needs, online::forward)", "#define INNER online")
    for name in names:
        kernel = folder / "kernels" / name
        kernel.mkdir(parents=True)
        (kernel / "inner.hpp").write_text("#pragma once\n" + inner)
        (kernel / "wrong.hpp").write_text((HERE / "wrong.hpp").read_text())
        (kernel / "kernel.cpp").write_text(source_of(name))
        (kernel / "kernel.json").write_text(json.dumps({"name": name, **MANIFEST}))


def check(build, folder, name, problem=ORDINARY, draws=None):
    """(whether it passed, the message of what did not, seconds)"""
    words = [build / "sdpa-wb", "check", name, "--json", "--problem", problem]
    if draws is not None:
        words += ["--draws", str(draws)]
    begin = time.monotonic()
    done = subprocess.run(
        [str(word) for word in words], capture_output=True, text=True, cwd=folder, timeout=300
    )
    seconds = time.monotonic() - begin
    try:
        answer = json.loads(done.stdout)
    except json.JSONDecodeError:
        raise AssertionError(f"{name}: {done.stdout}{done.stderr}") from None
    failed = [row for row in answer["problems"] if row["outcome"] not in ("pass", "not_supported")]
    message = "; ".join(f"{row['outcome']} on {row['problem']}: {row['message']}" for row in failed)
    return answer["pass"], message, seconds


def count_accusations(build, names, count, threads):
    """So many verdicts of honest kernels, each problem that one takes as often as the others."""
    begin = time.monotonic()

    def one(pair):
        return pair, check(build, ROOT, *pair)

    def told(done):
        nonlocal accused
        for (name, problem), (_passed, message, _seconds) in done:
            accused += bool(message)
            if message:
                print(f"{name} on {problem}: {message}", flush=True)

    accused = 0
    with ThreadPoolExecutor(threads) as pool:
        first = list(pool.map(one, itertools.product(names or HONEST, HONEST_PROBLEMS)))
        # Neither passed nor told of a fault: it does not take the problem.
        taken = [pair for pair, (passed, message, _seconds) in first if passed or message]
        told(first)
        rest = itertools.islice(itertools.cycle(taken), max(0, count - len(taken)))
        told(pool.map(one, rest))
    verdicts = max(count, len(taken))
    print(f"{accused} of {verdicts} verdicts accuse, {time.monotonic() - begin:.0f} s")
    return accused


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", type=Path, default=ROOT / "build" / "release")
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--draws", type=int)
    parser.add_argument("--honest", type=int, metavar="N", help="verdicts of honest kernels")
    parser.add_argument("--print", action="store_true", help="the sources, and nothing else")
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    if options.print:
        print("\n".join(source_of(name) for name in options.names or CASES), end="")
        return
    if options.honest:
        build = options.build.resolve()
        sys.exit(count_accusations(build, options.names, options.honest, options.threads) > 0)
    names = options.names or list(CASES)
    missed = 0
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(options.threads) as pool:
        lay_out(Path(folder), names)

        def measure(name):
            runs = [
                check(options.build.resolve(), Path(folder), name, draws=options.draws)
                for _ in range(options.runs)
            ]
            return name, runs

        for name, runs in pool.map(measure, names):
            found = sum(not passed for passed, _message, _seconds in runs)
            missed += found < 0.9 * len(runs)
            print(
                f"| `edges/{name}` | {CASES[name]['fault']} | {found} of {len(runs)} |", flush=True
            )
            if options.runs == 1:
                print(f"    {runs[0][1][:300]}")
    sys.exit(missed > 0)


if __name__ == "__main__":
    main()
