# SPDX-License-Identifier: MIT
"""Do two releases of the workbench tell the same times of the same kernels on this GPU, and what
does a comparison cost in each? Real comparisons of a compiled kernel beside PyTorch, by turns of
both releases on one machine, plans hot, cold and eager. Usage:

  gpu_before_after.py BEFORE_SDPA_WB AFTER_SDPA_WB [--plan eager] [--rounds 2] [--seconds 400]
      [--out FILE]

Both take kernels from this tree and one cache. Exit status 0.
"""

import argparse
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
WORK = [  # from 5 us to some ms on an H100
    ("sm90_wgmma_carry", "torch_default", [
        "B=1 Hq=8 Sq=512 D=64 bf16", "B=8 Hq=12 Sq=512 D=64 bf16",
        "B=6 Hq=32 Sq=2048 D=64 bf16 causal=top_left", "B=8 Hq=32 Sq=4096 D=128 bf16"]),
    ("sm90_splitkv_decode", "torch_flash", ["B=4 Hq=32 Hkv=8 Sq=1 Skv=8192 D=128 bf16"]),
]  # fmt: skip
PLANS = ("hot", "cold", "eager")


def compare(program, options, folder, work, plan):
    kernel, rival, problems = work
    begin = time.monotonic()
    done = subprocess.run(
        [program, "compare", kernel, rival, "--problem", ";".join(problems), "--plan", plan,
         "--effort", "quick", "--gpu", "0", "--python", options.python, "--path", ROOT,
         "--cache", options.cache, "--quiet", "--json"],
        cwd=folder, capture_output=True, text=True,
    )  # fmt: skip
    seconds = time.monotonic() - begin
    if done.returncode != 0:
        print(f"{program} {plan}: {done.stderr.strip()[-600:]}", file=sys.stderr, flush=True)
        return []
    rows = json.loads(done.stdout)["problems"]
    found = []
    for problem, row in zip(problems, rows, strict=True):
        for name, key in ((kernel, "candidate_us"), (rival, "against_us")):
            of_row = {
                "us": row.get(key),
                "outcome": row.get("outcome"),
                "reason": row.get("reason"),
            }
            found.append({"kernel": name, "problem": problem, "plan": plan, **of_row,
                          "seconds": seconds / len(problems)})  # fmt: skip
    return found


def ratio_of(rows, key):
    values = [[row[key] for row in rows if row["release"] == name] for name in ("before", "after")]
    values = [[value for value in side if value] for side in values]
    return [statistics.median(side) if side else math.nan for side in values]


def table(rows):
    lines = ["| kernel | problem | plan | before, us | after, us | after / before |",
             "|---|---|---|---:|---:|---:|"]  # fmt: skip
    ratios = []
    for key in dict.fromkeys((row["plan"], row["problem"], row["kernel"]) for row in rows):
        of_key = [row for row in rows if (row["plan"], row["problem"], row["kernel"]) == key]
        before, after = ratio_of(of_key, "us")
        ratios.append(after / before)
        lines.append(f"| {key[2]} | {key[1]} | {key[0]} | {before:.2f} | {after:.2f} | "
                     f"{after / before:.4f} |")  # fmt: skip
    before, after = ratio_of(rows, "seconds")
    known = [ratio for ratio in ratios if not math.isnan(ratio)]
    mean = math.exp(statistics.fmean(map(math.log, known))) if known else math.nan
    lines.append(f"\ngeometric mean {mean:.4f}; a comparison of one problem takes {before:.2f} s "
                 f"before, {after:.2f} s after")  # fmt: skip
    return lines


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("before")
    parser.add_argument("after")
    parser.add_argument("--plan", action="append", choices=PLANS, help="all, where none is named")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=400)
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--cache", default=None)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    programs = {name: str(Path(getattr(options, name)).resolve()) for name in ("before", "after")}
    end = time.monotonic() + options.seconds
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        options.cache = os.path.abspath(options.cache or os.path.join(folder, "cache"))

        def build(work):
            words = [programs["after"], "build", work[0], "--gpu", "0", "--path", ROOT,
                     "--cache", options.cache, "--quiet"]  # fmt: skip
            subprocess.run(words, cwd=folder, capture_output=True)

        with ThreadPoolExecutor(len(WORK)) as pool:
            list(pool.map(build, WORK))
        for number in range(options.rounds):
            order = ("before", "after") if number % 2 == 0 else ("after", "before")
            for plan in options.plan or PLANS:
                for work in WORK:
                    for release in order:
                        if time.monotonic() > end:
                            continue
                        found = compare(programs[release], options, folder, work, plan)
                        rows += [{"release": release, "round": number, **row} for row in found]
                        if options.out:
                            options.out.write_text(json.dumps(rows, indent=0) + "\n")
    print("\n".join(table(rows)))


if __name__ == "__main__":
    main()
