"""Configurations a minute on a GPU: `sdpa-wb tune` beside Kernel Tuner's C backend with nvcc.

Same kernel (sm80_sequential_kv, its source included as it is), the same 48 configurations, problem,
compiler (nvcc on both sides) and flags, every configuration verified, nothing cached. Each side
then does what it does: Kernel Tuner compiles, checks and times (7 runs between two events) one
configuration after the other; the workbench compiles on the machine's CPUs meanwhile, screens or
judges each by its verdict and compares in ABBA turns.

Why the C backend: Kernel Tuner's CUDA backends compile by NVRTC, which takes neither the host code
of a variant nor nvcc's flags. Why one after the other: its parallel runner (1.5, with Ray) has one
worker a GPU, in which compiling and timing take turns; more workers on one GPU would time beside
each other.

  peer_kernel_tuner_gpu.py SDPA_WB [--out FILE] [--peer-limit-s S]
  peer_kernel_tuner_gpu.py --compile-only N [--target sm_90]

The second form needs no GPU: N configurations by Kernel Tuner's own way through nvcc. Packages:
kernel_tuner, and for the first form cupy, whose arrays it gives to the kernel.
"""

import argparse
import contextlib
import json
import os
import subprocess
import tempfile
import time
import traceback
from pathlib import Path

import numpy as np
from peer_kernel_tuner import (
    draw_problem,
    manifest_of,
    rate_by_kernel_tuner,
    rate_by_workbench,
    search_by_workbench,
    source_around,
    tune_by_kernel_tuner,
)

KERNEL, START = "sm80_sequential_kv", "sm80_query_per_block"
SIZES = 16, 1024, 64  # heads, rows, head dim
PROBLEM = "B=1 Hq={} Sq={} D={} f32".format(*SIZES)
# As workbench/variant/cuda_toolchain.cpp has them; Kernel Tuner adds -shared when it links.
FLAGS = [
    "-O3", "-std=c++20", "-cudart=static", "-Xcompiler=-fPIC,-fvisibility=hidden",
    "-Xlinker=--exclude-libs=ALL", "-Xptxas=-v",
]  # fmt: skip
TOLERANCE = 1e-5  # of an f32 result of about 0.05; products and sums are f32 throughout

KEEPS = """
  static cudaStream_t stream;
  static cudaEvent_t begin, end;
"""
# The stream is not the default one, as the ABI asks, but waits for it: the tuner copies there.
PREPARE = """
    if (cudaStreamCreate(&stream) != cudaSuccess || cudaEventCreate(&begin) != cudaSuccess ||
        cudaEventCreate(&end) != cudaSuccess || wb_sdpa_plan_create(&p, &plan) != WB_OK) {
      return -1;
    }
"""
CALL = """
  a.stream = stream;
  cudaEventRecord(begin, stream);
  const int status = wb_sdpa_forward(plan, &a);
  cudaEventRecord(end, stream);
  float time_ms = -1;
  if (status != WB_OK || cudaEventSynchronize(end) != cudaSuccess ||
      cudaEventElapsedTime(&time_ms, begin, end) != cudaSuccess) {
    return -1;
  }
  return time_ms;
"""


class InOrder:
    """Kernel Tuner's brute force, which keeps what was found when a configuration raises or the
    time is up. Its first configuration is made twice: the tuner warms up with it."""

    def __init__(self, most=None, limit_s=float("inf")):
        self.most, self.limit_s = most, limit_s
        self.results, self.started, self.warm_up_s, self.error = [], None, 0.0, ""

    def tune(self, searchspace, runner, tuning_options):
        self.started = time.monotonic()
        for element in searchspace.sorted_list()[: self.most]:
            begin = time.monotonic()
            try:
                found = runner.run([element], tuning_options)
            except Exception:
                self.error = traceback.format_exc()
                print(self.error, flush=True)
                break
            if not self.results:
                parts = ("compile_time", "verification_time", "benchmark_time")
                own_s = sum(found[0][part] for part in parts) / 1e3
                self.warm_up_s = time.monotonic() - begin - own_s
            self.results += found
            if time.monotonic() - self.started > self.limit_s:
                print(f"Kernel Tuner: stopped after {self.limit_s:.0f} s", flush=True)
                break
        return self.results


def restriction_of(manifest):
    """The manifest's restrictions as a function of a configuration; D, Dv are the problem's."""
    texts = [r.replace("||", " or ").replace("&&", " and ") for r in manifest["restrictions"]]
    codes = [compile(text, text, "eval") for text in texts]

    def holds(configuration):
        names = {"D": SIZES[2], "Dv": SIZES[2], **configuration}
        return all(eval(code, {}, names) for code in codes)

    return holds


def verification(expected):
    """What checks a configuration's output, on the device. Kernel Tuner's own check compares either
    arrays of the host or, as 1.5.0 converts the answer to one, none of the device's."""
    if expected is None:
        return {}
    import cupy

    answer = cupy.asarray(expected)

    def verify(_, results, atol):
        return bool(cupy.allclose(cupy.asarray(results[-1]), answer, atol=atol))

    return {"answer": [None, None, None, expected], "atol": TOLERANCE, "verify": verify}


def by_kernel_tuner(manifest, target, order, arrays, expected):
    """Fills `order` with its results; gives the time they took, s."""
    code = source_around(
        f"{KERNEL}/kernel.cu", SIZES, includes="", keeps=KEEPS, prepare=PREPARE, call=CALL
    )
    flags = [*FLAGS, f"-gencode=arch=compute_{target.removeprefix('sm_')},code={target}"]
    # It leaves its files where it runs, and tells device code by the end of a name.
    with tempfile.TemporaryDirectory() as name, contextlib.chdir(name):
        source = Path(name) / "attention.cu"
        source.write_text(code)
        begin = time.monotonic()
        try:
            tune_by_kernel_tuner(
                str(source), manifest, arrays, "nvcc", flags,
                restrictions=restriction_of(manifest), strategy=order, **verification(expected),
            )  # fmt: skip
        except Exception:
            order.error = order.error or traceback.format_exc()
            print(order.error, flush=True)
    return time.monotonic() - (order.started or begin)


def nvcc_version():
    said = subprocess.run(["nvcc", "--version"], capture_output=True, text=True, check=True).stdout
    return said.strip().splitlines()[-1]


def compare(args, manifest):
    import cupy
    import kernel_tuner

    args.out = args.out and args.out.resolve()
    figures = {
        "problem": PROBLEM, "kernel": KERNEL, "cpus": len(os.sched_getaffinity(0)),
        "nvcc": nvcc_version(), "kernel_tuner": kernel_tuner.__version__,
        "gpu": cupy.cuda.runtime.getDeviceProperties(0)["name"].decode(),
    }  # fmt: skip
    print(figures, flush=True)

    def keep():
        if args.out:
            args.out.write_text(json.dumps(figures, indent=1, default=str) + "\n")

    found = search_by_workbench(Path(args.program).resolve(), KERNEL, START, PROBLEM)
    log = found.pop("log")
    events = [e["payload"] for e in log if e["type"] == "variant_built"]
    built = [b for b in events if b["subject"].startswith(KERNEL)]  # not START, which is built too
    target = built[0]["target"]
    wall_s = [b["wall_s"] for b in built if not b["cached"]]
    figures |= {"target": target, "workbench": found, "workbench_compile_s": wall_s}
    figures["workbench_a_minute"] = rate_by_workbench(found)
    keep()

    given, expected = draw_problem(*SIZES)
    arrays = [cupy.asarray(x) for x in given] + [cupy.zeros(expected.shape, expected.dtype)]
    order = InOrder(limit_s=args.peer_limit_s)
    peer_s = by_kernel_tuner(manifest, target, order, arrays, expected)
    figures |= {
        "peer": order.results, "peer_s": peer_s, "peer_warm_up_s": order.warm_up_s,
        "peer_error": order.error,
        "peer_a_minute": rate_by_kernel_tuner(
            "C backend with nvcc", order.results, manifest["tune_params"], peer_s
        ),
    }  # fmt: skip
    keep()
    if not figures["peer_a_minute"]:
        raise SystemExit("Kernel Tuner timed nothing")
    ratio = figures["workbench_a_minute"] / figures["peer_a_minute"]
    # Its warm-up makes one configuration twice; without that it has so much more a minute.
    cold_ratio = ratio * (peer_s - order.warm_up_s) / peer_s
    figures |= {"ratio": ratio, "ratio_without_warm_up": cold_ratio}
    keep()
    print(f"ratio {ratio:.2f}; {cold_ratio:.2f} without Kernel Tuner's warm-up")


def compile_only(args, manifest):
    arrays = [np.zeros(SIZES, np.float32) for _ in range(4)]
    order = InOrder(most=args.compile_only)
    by_kernel_tuner(manifest, args.target, order, arrays, None)
    for result in order.results:
        chosen = {name: result[name] for name in manifest["tune_params"]}
        print(f"{chosen}: compiled and loaded in {result['compile_time'] / 1e3:.2f} s")
    if order.error or not order.results:
        raise SystemExit(1)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program", nargs="?", help="sdpa-wb")
    parser.add_argument("--out", type=Path, help="JSON of all figures, written as they come")
    parser.add_argument(
        "--peer-limit-s", type=float, default=420, help="then the rate so far counts"
    )
    parser.add_argument("--compile-only", type=int, metavar="N")
    parser.add_argument("--target", default="sm_90")
    args = parser.parse_args()
    manifest = manifest_of(KERNEL)
    if args.compile_only:
        return compile_only(args, manifest)
    if not args.program:
        parser.error("SDPA_WB is missing")
    return compare(args, manifest)


if __name__ == "__main__":
    main()
