# SPDX-License-Identifier: MIT
"""What the manifests of CUDA kernels claim, tried on a GPU: `check` of each with its drawn runs.

    python3 tests/bench/gpu_edges.py [--build DIR] [--gpu 0] [--draws 72] [--python] [NAME ...]

Builds first, four at a time, then checks one after the other; a kernel takes one to a few seconds.
Ends with 1 where one failed, and prints its problem, draw and form of call. `--python` adds the
Python kernels of a GPU, which may refuse what they do not take."""

import argparse
import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
# Each kernel takes the first of these that it claims.
PROBLEMS = [
    "B=2 Hq=8 Hkv=4 Sq=100 D=64 f16 causal=top_left",
    "B=2 Hq=8 Hkv=4 Sq=100 D=64 f32 causal=top_left",
    "B=1 Hq=2 Sq=64 D=512 f32",
    "B=1 Hq=2 Sq=64 D=512 f16",
]


def kernels(with_python):
    for path in sorted((ROOT / "kernels").glob("*/kernel.json")):
        manifest = json.loads(path.read_text())
        is_python = manifest["backend"] == "python" and manifest.get("architectures")
        if manifest["backend"] == "cuda" or (with_python and is_python):
            yield manifest["name"]


def run(build, *words):
    return subprocess.run(
        [str(build / "sdpa-wb"), *map(str, words)], capture_output=True, text=True, cwd=ROOT
    )


def check(options, name):
    for problem in PROBLEMS:
        words = ["check", name, "--gpu", options.gpu, "--problem", problem, "--json"]
        if options.draws:
            words += ["--draws", options.draws]
        done = run(options.build, *words)
        if not done.stdout.startswith("{"):
            return None, done.stderr.strip()
        answer = json.loads(done.stdout)
        rows = answer["problems"]
        # Some limits stand in a kernel alone, which refuses when it is called.
        if rows[0]["outcome"] in ("not_supported", "constraints"):
            continue
        failed = [row for row in rows if row["outcome"] not in ("pass", "not_supported")]
        said = "; ".join(
            f"{row['outcome']} on {row['problem']}: {row['message']}" for row in failed
        )
        shares = [row["worst_share"] for row in rows if row["worst_share"] is not None]
        return answer["pass"], said or f"worst share {max(shares, default=0):.3f}"
    return None, "takes none of the problems"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", type=Path, default=ROOT / "build" / "release")
    parser.add_argument("--gpu", type=int, default=0)
    parser.add_argument("--draws", type=int)
    parser.add_argument("--python", action="store_true")
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    options.build = options.build.resolve()
    names = options.names or list(kernels(options.python))
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda name: run(options.build, "build", name), names))
    wrong = 0
    for name in names:
        passed, said = check(options, name)
        wrong += passed is not True
        print(f"{name}: {'pass' if passed else 'not judged' if passed is None else 'FAIL'}: {said}")
    sys.exit(wrong > 0)


if __name__ == "__main__":
    main()
