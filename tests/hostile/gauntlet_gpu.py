# SPDX-License-Identifier: MIT
"""The hostile candidates of gpu/: as gauntlet.py, with CUDA kernels."""

import ctypes
import json
import os
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from gauntlet import HERE, SUBJECTS, TABLE, Arena, sources_in

SOURCES = HERE / "gpu"
KERNELS = sources_in(SOURCES, ".cu")
GPU_SUBJECTS = SUBJECTS | sources_in(SOURCES, ".py")
GPU_CASES = {case["name"]: case for case in TABLE["gpu_cases"]}
# As a subject that starts a GPU's context first needs it.
HANG_DEADLINE_MS = 10_000
# A call of it takes milliseconds, so that what is left out shows.
TURN_PROBLEM = "B=1 Hq=2 Sq=256 Skv=2048 D=64 f32"
ARCHITECTURES = ["sm_80", "sm_86", "sm_89", "sm_90", "sm_100", "sm_120"]


class GpuArena(Arena):
    cases = GPU_CASES
    turn_problem = TURN_PROBLEM
    # All of check's: what a candidate left of the device may show late.
    honest_draws = 72

    def write_kernel(self, case):
        folder = self.folder / "kernels" / case["name"]
        folder.mkdir(parents=True)
        manifest = {
            "name": case["name"],
            "about": "a hostile candidate of the tests",
            "backend": case.get("backend", "cuda"),
            "supports": {
                "dtypes": ["f32"],
                "causal": ["none", "top_left"],
                "masks": ["none"],
                "layouts": ["BHSD"],
            },
        }
        if manifest["backend"] == "python":
            for source in {case["name"], "py_library"}:
                (folder / f"{source}.py").write_text(GPU_SUBJECTS[source])
            sources = [f"{case['name']}.py", "py_library.py"]
            manifest |= {
                "architectures": ARCHITECTURES,
                "entry": f"{case['name']}:attend",
                "sources": list(dict.fromkeys(sources)),
            }
        else:
            (folder / "kernel.cu").write_text(KERNELS[case.get("file", case["name"])])
            shutil.copy(SOURCES / "hostile.cuh", folder)
            manifest["sources"] = ["kernel.cu"]
        (folder / "kernel.json").write_text(json.dumps(manifest))

    def build_all(self):
        """Compiles what has to be compiled side by side: the sessions find it in the cache. What
        does not compile shows there."""

        def build(name, *more):
            words = self.argv("build", name, "--json", *more)
            words = words[: words.index("--transport")]  # nothing runs
            return subprocess.run(
                words, cwd=self.folder, capture_output=True, text=True, env=self.environment()
            )

        # The first one asks the device what to compile for; all others at once would each make a
        # context for that.
        first, *others = (name for name, case in self.cases.items() if "backend" not in case)
        done = build(first)
        assert done.returncode == 0, done.stderr
        target = json.loads(done.stdout)["target"]
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            list(pool.map(lambda name: build(name, "--target", target), others))

    def compare(self, candidate, against, problem, *more):
        """The row of one problem, hot, at the least effort."""
        words = self.argv("compare", candidate, against, "--problem", problem, "--effort", "quick",
                          "--json", *more)  # fmt: skip
        done = subprocess.run(
            words, cwd=self.folder, capture_output=True, text=True, env=self.environment()
        )
        assert done.returncode == 0, done.stderr[-2000:]
        (row,) = json.loads(done.stdout)["problems"]
        return row


def find_nvcc():
    return shutil.which("nvcc") or shutil.which("/usr/local/cuda/bin/nvcc")


def count_gpus():
    """How many the driver shows, and why none."""
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError as fault:
        return 0, str(fault)
    count = ctypes.c_int(0)
    if driver.cuInit(0) != 0 or driver.cuDeviceGetCount(ctypes.byref(count)) != 0:
        return 0, "the driver does not start"
    return count.value, "" if count.value else "the driver shows no GPU"


def why_no_gpu():
    why = count_gpus()[1]
    return why or ("" if find_nvcc() else "no nvcc to compile kernels")


def compile_together(names, folder: Path, architecture="sm_90"):
    """All sources at once to PTX, each in a namespace of its own: (status, words)."""
    lines = ["#define HOSTILE_TOGETHER", '#include "hostile.cuh"']
    for name in names:
        if name in KERNELS:
            (folder / f"{name}.cu").write_text(KERNELS[name])
        lines += [f"namespace case_{name} {{", f'#include "{name}.cu"', "}"]
    together = folder / "together.cu"
    together.write_text("\n".join(lines) + "\n")
    done = subprocess.run(
        [find_nvcc(), "-ptx", "-std=c++20", f"-arch={architecture}", "-diag-suppress=177",
         "-I", SOURCES, "-I", HERE.parents[1] / "kernels" / "common",
         together, "-o", folder / "together.ptx"],
        capture_output=True, text=True, timeout=300, env={**os.environ, "TMPDIR": str(folder)},
    )  # fmt: skip
    return done.returncode, done.stdout + done.stderr
