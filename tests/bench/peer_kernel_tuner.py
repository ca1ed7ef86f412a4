"""Configurations a minute: `sdpa-wb tune` beside Kernel Tuner's C backend.

Same kernel (cpu_tiled, its source included as it is), same space, same problem, compiler and flags,
one thread, every configuration verified, nothing cached; the few lines that Kernel Tuner needs
around the kernel include nothing that takes long to compile. Each side then does what it does:
Kernel Tuner compiles, checks and times (7 runs) one configuration after the other; the workbench
measures on CPU 0 and compiles on the others meanwhile (and on CPU 0 while that waits for a build),
judges each by its whole verdict and compares in ABBA turns. Usage, with the package kernel_tuner
installed: peer_kernel_tuner.py SDPA_WB
"""

import sys
import time
from pathlib import Path

import numpy as np
from peer_tuning import (
    draw_problem,
    manifest_of,
    rate_by_kernel_tuner,
    rate_by_workbench,
    search_by_workbench,
    source_around,
    tune_by_kernel_tuner,
)

KERNEL = "cpu_tiled"
SIZES = 4, 512, 64  # heads, rows, head dim
PROBLEM = "B=1 Hq={} Sq={} D={} f32".format(*SIZES)
# As workbench/variant/cpu_toolchain.cpp has them; Kernel Tuner adds -shared and -fPIC itself.
FLAGS = ["-O3", "-std=c++20", "-fvisibility=hidden", "-pthread", "-march=native"]

KEEPS = """
  static void* workspace = nullptr;
"""
PREPARE = """
    p.device = -1;
    if (wb_sdpa_plan_create(&p, &plan) != WB_OK) return -1;
    workspace = aligned_alloc(256, (wb_sdpa_workspace_bytes(plan) + 511) / 256 * 256);
"""
CALL = """
  a.workspace = workspace;
  a.threads = 1;
  timespec begin, end;
  clock_gettime(CLOCK_MONOTONIC, &begin);
  if (wb_sdpa_forward(plan, &a) != WB_OK) return -1;
  clock_gettime(CLOCK_MONOTONIC, &end);
  return (end.tv_sec - begin.tv_sec) * 1e3f + (end.tv_nsec - begin.tv_nsec) * 1e-6f;
"""


def by_kernel_tuner(manifest):
    """Its results and the time they took, s."""
    source = source_around(
        f"{KERNEL}/kernel.cpp", SIZES, keeps=KEEPS, prepare=PREPARE, call=CALL,
        includes="#include <stdlib.h>\n#include <time.h>\n",
    )  # fmt: skip
    given, expected = draw_problem(*SIZES)
    started = time.monotonic()
    results, _ = tune_by_kernel_tuner(
        source, manifest, [*given, np.zeros_like(expected)], "g++", FLAGS,
        restrictions=manifest["restrictions"], answer=[None, None, None, expected], atol=1e-5,
    )  # fmt: skip
    return results, time.monotonic() - started


def main():
    program = Path(sys.argv[1]).resolve()
    manifest = manifest_of(KERNEL)
    one_cpu = ["--threads", "1", "--cpu-set", "0"]
    found = search_by_workbench(program, KERNEL, "cpu_online", PROBLEM, one_cpu)
    our_rate = rate_by_workbench(found)
    results, wall_s = by_kernel_tuner(manifest)
    peer_rate = rate_by_kernel_tuner("C backend", results, manifest["tune_params"], wall_s)
    if peer_rate == 0:
        raise SystemExit("Kernel Tuner timed nothing")
    print(f"ratio {our_rate / peer_rate:.2f}")


if __name__ == "__main__":
    main()
