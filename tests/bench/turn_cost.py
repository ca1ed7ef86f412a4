# SPDX-License-Identifier: MIT
"""Two workers on one machine, one beside the other: what the same shipped kernels and PyTorch take
by each, and what a turn costs.

Turns go in ABBA order; each ratio is of the medians, its spread half the distance of the quartiles
of the ratios of neighbors. Usage: turn_cost.py BEFORE AFTER [--rounds N] [--cpu-set S]
[--python P] [--plans hot ...] [--kernels NAME ...], where BEFORE and AFTER are paths of
sdpa-wb-worker. Last come the geometric means of each plan, with their own spread: the standard
error over the rows.
"""

import argparse
import base64
import hashlib
import json
import math
import statistics
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
KERNELS = ROOT / "kernels"
NATIVE = ["cpu_tiled", "cpu_simd_flash", "cpu_splitkv"]
PROBLEMS = {
    "prefill": {"B": 1, "Hq": 4, "Hkv": 4, "Sq": 256, "Skv": 256, "D": 64},
    "decode": {"B": 4, "Hq": 8, "Hkv": 8, "Sq": 1, "Skv": 2048, "D": 64},
    "wide out": {"B": 1, "Hq": 32, "Hkv": 32, "Sq": 512, "Skv": 64, "D": 128},
}
PLANS = ["hot", "cold", "eager"]
CHUNK_BYTES = 512 << 10


class Worker:
    def __init__(self, program, cpu_set, python):
        self.process = subprocess.Popen(
            [program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self.number = 0
        self.ask("hello", version=1, python=python, cpu_set=cpu_set, threads=0)

    def ask(self, verb, **args):
        self.number += 1
        line = json.dumps({"v": 1, "id": self.number, "verb": verb, "args": args})
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        reply = json.loads(self.process.stdout.readline())
        if not reply["ok"]:
            sys.exit(f"{verb}: {reply['error']['message']}")
        return reply["result"]

    def put(self, data):
        digest = hashlib.sha256(data).hexdigest()
        for offset in range(0, len(data), CHUNK_BYTES):
            chunk = base64.b64encode(data[offset : offset + CHUNK_BYTES]).decode()
            self.ask("put", sha256=digest, offset=offset, total_bytes=len(data), data_base64=chunk)
        return digest

    def files(self, *folders, prefix=""):
        return [
            {"path": prefix + str(path.relative_to(KERNELS)), "sha256": self.put(path.read_bytes())}
            for folder in folders
            for path in sorted((KERNELS / folder).rglob("*"))
            if path.is_file() and path.stat().st_size and "__pycache__" not in path.parts
        ]

    def load(self, name):
        manifest = json.loads((KERNELS / name / "kernel.json").read_text())
        if manifest["backend"] == "python":
            files = [
                {**file, "path": file["path"].removeprefix(f"{name}/")}
                for file in self.files(name, "common")
            ]
            return self.ask(
                "load", subject=name, backend="python", entry=manifest["entry"], files=files
            )["handle"]
        built = self.ask(
            "build", variant_name=name, build_id="bench", target="native",
            files=self.files(name, "common"), configuration=manifest.get("defaults", {}),
        )  # fmt: skip
        return self.ask(
            "load", subject=name, backend="cpu", artifact_sha256=built["artifact_sha256"],
            build_id="bench",
        )["handle"]  # fmt: skip

    def turn(self, handle, problem, kind):
        """(figure in us, cost in ms, flags)"""
        plan = {"kind": kind, "regime": "burst", "settle_us": 5000, "timed_us": 10000,
                "min_samples": 3, "max_samples": 200}  # fmt: skip
        begin = time.perf_counter()
        turn = self.ask("turn", handle=handle, problem={**problem, "dtype": "f32",
                        "causal": "none"}, plan=plan, placement=0, spot_check=True,
                        fresh_calls=True)  # fmt: skip
        cost_ms = (time.perf_counter() - begin) * 1e3
        return statistics.median(turn["samples_us"]), cost_ms, turn["flags"]


def ratio_of(before, after):
    ratios = sorted(b / a for a, b in zip(before, after, strict=True))
    quarter = len(ratios) // 4
    spread = (ratios[-1 - quarter] - ratios[quarter]) / 2
    return statistics.median(after) / statistics.median(before), spread


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("before")
    parser.add_argument("after")
    parser.add_argument("--rounds", type=int, default=12)
    parser.add_argument("--cpu-set", default="")
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--plans", nargs="+", choices=PLANS, default=PLANS)
    parser.add_argument("--kernels", nargs="+", default=[*NATIVE, "torch_cpu_sdpa"])
    options = parser.parse_args()
    workers = [
        Worker(program, options.cpu_set, options.python)
        for program in (options.before, options.after)
    ]
    print("| kernel | problem | plan | figure after / before | turn after / before | us | ms |")
    print("|---|---|---|---|---|---|---|")
    logs = {kind: [] for kind in options.plans}
    for name in options.kernels:
        handles = [worker.load(name) for worker in workers]
        for problem_name, problem in PROBLEMS.items():
            for kind in options.plans:
                figures, costs = ([], []), ([], [])
                for round_number in range(options.rounds):
                    order = (0, 1) if round_number % 2 == 0 else (1, 0)
                    for side in order:
                        us, ms, _flags = workers[side].turn(handles[side], problem, kind)
                        figures[side].append(us)
                        costs[side].append(ms)
                (figure, figure_spread), (cost, cost_spread) = map(
                    lambda pair: ratio_of(*pair), (figures, costs)
                )
                logs[kind].append(math.log(figure))
                print(
                    f"| `{name}` | {problem_name} | {kind} | {figure:.3f} ± {figure_spread:.3f} | "
                    f"{cost:.3f} ± {cost_spread:.3f} | {statistics.median(figures[1]):.0f} | "
                    f"{statistics.median(costs[1]):.1f} |",
                    flush=True,
                )
    for kind, values in logs.items():
        error = statistics.stdev(values) / math.sqrt(len(values)) if len(values) > 1 else math.nan
        print(f"{kind}: {math.exp(statistics.mean(values)):.4f} ± {error:.4f}, {len(values)} rows")


if __name__ == "__main__":
    main()
