"""Configurations a minute: `sdpa-wb tune` beside Kernel Tuner's C backend.

Same kernel (cpu_tiled, its source included as it is), same space, same problem, compiler and flags,
one thread, every configuration verified, nothing cached; the few lines that Kernel Tuner needs
around the kernel include nothing that takes long to compile. Each side then does what it does:
Kernel Tuner compiles, checks and times (7 runs) one configuration after the other; the workbench
measures on CPU 0 and compiles on the others meanwhile (and on CPU 0 while that waits for a build),
judges each by its whole verdict and compares in ABBA turns. Usage, with the package kernel_tuner
installed: peer_kernel_tuner.py SDPA_WB

peer_kernel_tuner_gpu.py shares what comes first: the reference result, the lines that Kernel Tuner
needs around a variant, both sides' searches, and what their figures say.
"""

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from session_events import events_of

ROOT = Path(__file__).resolve().parents[2]
RUNS = 7  # Kernel Tuner's default: timed calls of a configuration

# What Kernel Tuner calls: the variant's own source, its plan made at the first call. The caller's
# parts are lines of that function: what it keeps, what comes before the plan, what a call is.
SOURCE = """
#include "%(source)s"
%(includes)s
extern "C" __attribute__((visibility("default")))
float attention(float* q, float* k, float* v, float* out) {
  static wb_sdpa_plan* plan = nullptr;
%(keeps)s
  if (plan == nullptr) {
    wb_sdpa_problem p{};
    p.struct_size = sizeof p;
    p.abi_version = 1;
    p.batch = 1; p.heads_q = p.heads_kv = %(heads)d;
    p.seq_q = p.seq_kv = %(rows)d; p.dim = p.dim_v = %(dim)d;
    const wb_strides s{%(heads)d * %(rows)d * %(dim)d, %(rows)d * %(dim)d, %(dim)d};
    p.q = p.k = p.v = p.out = s;
    p.scale = %(scale).17g;
%(prepare)s
  }
  wb_sdpa_args a{};
  a.struct_size = sizeof a;
  a.q = q; a.k = k; a.v = v; a.out = out;
%(call)s
}
"""


def manifest_of(kernel):
    return json.loads((ROOT / "kernels" / kernel / "kernel.json").read_text())


def attention(q, k, v):
    """softmax(q k^T / sqrt(D)) v of [heads, rows, D] arrays, in their precision."""
    scores = q @ k.transpose(0, 2, 1) / np.sqrt(q.shape[-1])
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return (weights / weights.sum(axis=-1, keepdims=True)) @ v


def draw_problem(heads, rows, dim):
    """q, k, v and the result that a kernel must come close to, f32; q, k, v have the shape
    [heads, rows, dim]."""
    draw = np.random.default_rng(1)
    given = [draw.standard_normal((heads, rows, dim)).astype(np.float32) for _ in range(3)]
    return given, attention(*(x.astype(np.float64) for x in given)).astype(np.float32)


def source_around(source, sizes, **parts):
    """SOURCE for `source` below kernels/, sizes (heads, rows, dim); `parts`: includes, keeps,
    prepare and call."""
    heads, rows, dim = sizes
    values = {"source": source, "heads": heads, "rows": rows, "dim": dim, "scale": dim**-0.5}
    return SOURCE % (values | {name: text.strip("\n") for name, text in parts.items()})


def tune_by_kernel_tuner(source, manifest, arrays, compiler, flags, **more):
    """Its C backend on the whole space of a kernel; `source`: text or a file's name."""
    import kernel_tuner

    kernels = ROOT / "kernels"
    folders = [kernels / manifest["name"], kernels / "common", kernels]
    return kernel_tuner.tune_kernel(
        "attention", source, 1, arrays, manifest["tune_params"], lang="C", compiler=compiler,
        compiler_options=[*flags, '-DWB_BUILD_ID="peer"', *(f"-I{folder}" for folder in folders)],
        iterations=RUNS, quiet=True, **more,
    )  # fmt: skip


def search_by_workbench(program, kernel, start, problem, common=()):
    """A session that is opened with `start` and searches the whole space of `kernel` with nothing
    cached. The figures of the search (confirmation left out), with all events under "log".
    `common`: options of every command."""
    with tempfile.TemporaryDirectory() as name:
        session = Path(name) / "s"

        def run(*words):
            subprocess.run(
                [program, *words, "--session", session, "--cache", Path(name) / "cache",
                 "--path", ROOT, "--quiet", *common],
                check=True, cwd=name, stdout=subprocess.DEVNULL,
            )  # fmt: skip

        run("open", "--start", start, "--problem", problem, "--rivals", "none",
            "--effort", "quick")  # fmt: skip
        run("tune", "--variant", kernel, "--hypothesis", "another tile fits the caches better",
            "--predicted-speedup", "1.2", "--strategy", "exhaustive")  # fmt: skip
        log = events_of(session)
    found = next(
        e["payload"]["tune"]
        for e in log
        if isinstance(e["payload"].get("tune"), dict) and "told" in e["payload"]["tune"]
    )
    if found["valid"] != found["space_size"]:
        print(f"sdpa-wb: {found['valid']} of {found['space_size']} configurations are valid")
    return {**found, "log": log}


def rate_by_workbench(found):
    """Configurations a minute, printed with what was busy."""
    rate = 60 * found["told"] / found["search_s"]
    print(
        f"sdpa-wb tune: {found['told']} configurations in {found['search_s']:.1f} s, "
        f"{rate:.1f} a minute; best {found['best']}; compilers busy "
        f"{found['build_share_frac']:.0%} of the time, the measuring side "
        f"{found['measure_share_frac']:.0%}",
        flush=True,
    )
    return rate


def rate_by_kernel_tuner(backend, results, params, wall_s):
    """The same of Kernel Tuner's results; 0 where nothing was timed."""
    good = [r for r in results if isinstance(r.get("time"), float) and r["time"] > 0]
    if len(good) != len(results):
        print(f"Kernel Tuner: {len(results) - len(good)} configurations failed")
    if not good:
        return 0.0
    best = min(good, key=lambda r: r["time"])
    rate = 60 * len(good) / wall_s
    parts = ", ".join(
        f"{word} {sum(r[f'{word}_time'] for r in results) / 1e3 / wall_s:.0%}"
        for word in ("compile", "verification", "benchmark")
    )
    print(
        f"Kernel Tuner, {backend}: {len(good)} configurations in {wall_s:.1f} s, "
        f"{rate:.1f} a minute; best { {name: best[name] for name in params} }; of the time {parts}",
        flush=True,
    )
    return rate


# The CPU form.

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
