"""Configurations a minute: `sdpa-wb tune` beside Kernel Tuner's C backend.

Same kernel (cpu_tiled, its source included as it is), same space, same problem, compiler and flags,
one thread, every configuration verified, nothing cached; the few lines that Kernel Tuner needs
around the kernel include nothing that takes long to compile. Each side then does what it does:
Kernel Tuner compiles, checks and times (7 runs) one configuration after the other; the workbench
measures on CPU 0 and compiles on the others meanwhile (and on CPU 0 while that waits for a build),
judges each by its whole verdict and compares in ABBA turns. Usage, with the package kernel_tuner
installed: peer_kernel_tuner.py SDPA_WB
"""

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
KERNEL = "cpu_tiled"
HEADS, ROWS, DIM = 4, 512, 64
PROBLEM = f"B=1 Hq={HEADS} Sq={ROWS} D={DIM} f32"
# As workbench/variant/cpu_toolchain.cpp has them; Kernel Tuner adds -shared and -fPIC itself.
FLAGS = ["-O3", "-std=c++20", "-fvisibility=hidden", "-pthread", "-march=native"]
RUNS = 7  # Kernel Tuner's default

SOURCE = """
#include "%(kernel)s/kernel.cpp"
#include <stdlib.h>
#include <time.h>

extern "C" __attribute__((visibility("default")))
float attention(float* q, float* k, float* v, float* out) {
  static wb_sdpa_plan* plan = nullptr;
  static void* workspace = nullptr;
  if (plan == nullptr) {
    wb_sdpa_problem p{};
    p.struct_size = sizeof p;
    p.abi_version = 1;
    p.batch = 1; p.heads_q = p.heads_kv = %(heads)d;
    p.seq_q = p.seq_kv = %(rows)d; p.dim = p.dim_v = %(dim)d;
    const wb_strides s{%(heads)d * %(rows)d * %(dim)d, %(rows)d * %(dim)d, %(dim)d};
    p.q = p.k = p.v = p.out = s;
    p.scale = %(scale).17g;
    p.device = -1;
    if (wb_sdpa_plan_create(&p, &plan) != WB_OK) return -1;
    workspace = aligned_alloc(256, (wb_sdpa_workspace_bytes(plan) + 511) / 256 * 256);
  }
  wb_sdpa_args a{};
  a.struct_size = sizeof a;
  a.q = q; a.k = k; a.v = v; a.out = out;
  a.workspace = workspace;
  a.threads = 1;
  timespec begin, end;
  clock_gettime(CLOCK_MONOTONIC, &begin);
  if (wb_sdpa_forward(plan, &a) != WB_OK) return -1;
  clock_gettime(CLOCK_MONOTONIC, &end);
  return (end.tv_sec - begin.tv_sec) * 1e3f + (end.tv_nsec - begin.tv_nsec) * 1e-6f;
}
"""


def attention(q, k, v):
    scores = q @ k.transpose(0, 2, 1) / np.sqrt(DIM)
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return (weights / weights.sum(axis=-1, keepdims=True)) @ v


def by_kernel_tuner(manifest):
    import kernel_tuner

    source = SOURCE % {
        "kernel": KERNEL, "heads": HEADS, "rows": ROWS, "dim": DIM, "scale": DIM**-0.5,
    }  # fmt: skip
    draw = np.random.default_rng(1)
    q, k, v = (draw.standard_normal((HEADS, ROWS, DIM)) for _ in range(3))
    given = [np.ascontiguousarray(x, dtype=np.float32) for x in (q, k, v)]
    expected = attention(*(x.astype(np.float64) for x in given)).astype(np.float32)
    includes = [f"-I{ROOT / 'kernels'}", f"-I{ROOT / 'kernels' / 'common'}"]
    started = time.monotonic()
    results, _ = kernel_tuner.tune_kernel(
        "attention", source, 1, [*given, np.zeros_like(expected)],
        manifest["tune_params"], restrictions=manifest["restrictions"], lang="C", compiler="g++",
        compiler_options=[*FLAGS, *includes, '-DWB_BUILD_ID="peer"'],
        answer=[None, None, None, expected], atol=1e-5, iterations=RUNS, quiet=True,
    )  # fmt: skip
    wall_s = time.monotonic() - started
    times = [r["time"] for r in results if isinstance(r["time"], float)]
    if len(times) != len(results) or min(times) <= 0:
        raise SystemExit(f"Kernel Tuner: {len(results) - len(times)} configurations failed")
    best = min(results, key=lambda r: r["time"])
    return len(results), wall_s, {name: best[name] for name in manifest["tune_params"]}


def by_workbench(program):
    """The figures of the search, confirmation left out."""
    with tempfile.TemporaryDirectory() as name:
        session = Path(name) / "s"

        def run(*words):
            subprocess.run(
                [program, *words, "--session", session, "--cache", Path(name) / "cache",
                 "--path", ROOT, "--quiet", "--threads", "1", "--cpu-set", "0"],
                check=True, cwd=name, stdout=subprocess.DEVNULL,
            )  # fmt: skip

        run("open", "--start", "cpu_online", "--problem", PROBLEM, "--rivals", "none",
            "--effort", "quick")  # fmt: skip
        run("tune", "--variant", KERNEL, "--hypothesis", "another tile fits the caches better",
            "--predicted-speedup", "1.2", "--strategy", "exhaustive")  # fmt: skip
        lines = (session / "events.jsonl").read_text().splitlines()
    payloads = (json.loads(line)["payload"] for line in lines)
    found = next(
        p["tune"] for p in payloads if isinstance(p.get("tune"), dict) and "told" in p["tune"]
    )
    if found["valid"] != found["space_size"]:
        raise SystemExit(f"sdpa-wb: {found['valid']} of {found['space_size']} configurations valid")
    return found


def main():
    program = Path(sys.argv[1]).resolve()
    manifest = json.loads((ROOT / "kernels" / KERNEL / "kernel.json").read_text())
    ours = by_workbench(program)
    our_rate = 60 * ours["told"] / ours["search_s"]
    print(
        f"sdpa-wb tune: {ours['told']} configurations in {ours['search_s']:.1f} s, "
        f"{our_rate:.0f} a minute; best {ours['best']}; compilers busy "
        f"{ours['build_share_frac']:.0%} of the time, the measuring side "
        f"{ours['measure_share_frac']:.0%}"
    )
    count, peer_s, best = by_kernel_tuner(manifest)
    print(
        f"Kernel Tuner, C backend: {count} configurations in {peer_s:.1f} s, "
        f"{60 * count / peer_s:.0f} a minute; best {best}"
    )
    print(f"ratio {our_rate * peer_s / count / 60:.2f}")


if __name__ == "__main__":
    main()
