"""Copies of a kernel that are slower by a known share, for gpu_trust.py.

What is planted. Each call of the copy ends with a delay of so many units: on a GPU the last block
to finish goes on for so many cycles of its multiprocessor, on the CPU the calling thread for so
many dependent integer steps. Why this and nothing simpler:

- All other work has ended, so a call is longer by exactly the delay, in however many waves its
  blocks ran. A delay in every block, or some blocks' work done twice, costs anything between
  nothing (it hides behind other blocks) and a whole wave.
- It is inside the kernel. One more kernel would cost a gap between nodes of about 1 us, four times
  what 5 % of 5 us are.
- It is counted in cycles of the clock that the kernel itself runs by. When the clock falls under
  load, both last longer alike, and the share stays.

How long a unit is, is measured: `probe` is the same code with PROBE_UNITS for every problem. What
the slow copy is compared with is `base`, the same code with 0 units: counting finished blocks costs
both the same. Kernels do not start early here (EARLY_START=0): the counter is of one call at a
time.

CHEATS are copies whose delay is left out of most timed calls. In `memory` it comes only where the
first query is another one than at the call before; in `pause` only where the device had done
something else, or nothing, since the call before. What `third` takes in every call they take in
first calls on fresh inputs only.
"""

import json
import subprocess

EXIT_ENVIRONMENT = 76  # the machine, not the variant
PROBE_UNITS = {"cuda": 100_000, "cpu": 200_000}  # about 50 and 100 us
SOURCES = {"cuda": "sm80_mma_flash", "cpu": "cpu_tiled"}

# The condition on which the delay of a cheat comes.
CHEATS = {"memory": "planted_is_new(p)", "pause": "planted_is_late()"}
ALWAYS = "true"

CUDA_TAIL = """
// Planted: the last block to finish goes on for so many cycles.
__device__ unsigned g_planted_done;
__device__ unsigned long long g_planted_query, g_planted_end_ns;

__device__ __forceinline__ bool planted_is_new(const Params& p) {
  const auto query = *reinterpret_cast<const unsigned long long*>(p.q);
  const bool is_new = query != g_planted_query;
  g_planted_query = query;
  return is_new;
}

// The blocks of a call end some microseconds after its first one began.
__device__ __forceinline__ unsigned long long planted_ns() {
  unsigned long long ns;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(ns));
  return ns;
}
__device__ unsigned long long g_planted_begin_ns;
__device__ __forceinline__ bool planted_is_late() {
  return g_planted_begin_ns - g_planted_end_ns > 4000;
}

template <class S>
__global__ void __launch_bounds__(S::k_threads, S::BPS) mma_flash(const Params p) {
  if (threadIdx.x == 0 && blockIdx.x + blockIdx.y == 0) g_planted_begin_ns = planted_ns();
  planted_body<S>(p);
  __syncthreads();
  if (threadIdx.x == 0 && atomicAdd(&g_planted_done, 1u) == gridDim.x * gridDim.y - 1) {
    g_planted_done = 0;
    __threadfence();
    const long long begin = clock64();
    if (PLANTED_WHEN) {
      while (clock64() - begin < p.planted_units) {
      }
    }
    g_planted_end_ns = planted_ns();
  }
}

}  // namespace wb::gpu
"""

CPU_TAIL = """
namespace planted {

long long units(const wb_sdpa_problem& p) {
%s}

void forward(const wb_cpu::Call& call) {
  tiled::forward(call);
  long long value = 1;
  for (long long n = units(call.problem); n > 0; --n) {
    value = value * 3 + 1;
    asm volatile("" : "+r"(value));
  }
}

}  // namespace planted

WB_CPU_KERNEL(tiled::needs, planted::forward)
"""


def replace_once(text, old, new):
    """The kernels may change: whoever edits them hears of it here, not through a wrong figure."""
    if text.count(old) != 1:
        raise RuntimeError(f"{text.count(old)} places, not one, with: {old}")
    return text.replace(old, new)


def condition(problem):
    """Of C++, true for this problem: the fields in which the problems of gpu_trust.py differ."""
    sizes = dict(word.split("=", 1) for word in problem.split() if "=" in word)
    queries = sizes["Sq"]
    wanted = {
        "batch": sizes["B"], "heads_q": sizes["Hq"], "seq_q": queries,
        "seq_kv": sizes.get("Skv", queries), "dim": sizes["D"],
        "causal": {"none": 0, "top_left": 1, "bottom_right": 2}[sizes.get("causal", "none")],
    }  # fmt: skip
    return " && ".join(f"p.{field} == {value}" for field, value in wanted.items())


def table(units):
    """Function body: `units` is a number for every problem, or a map from problem to number."""
    if isinstance(units, int):
        return f"  return p.batch > 0 ? {units} : 0;\n"
    rows = [f"  if ({condition(problem)}) return {n};\n" for problem, n in units.items()]
    return "".join(rows) + "  return 0;\n"


def edit_cuda(folder, units, when):
    path = folder / "mma_flash.cuh"
    text = path.read_text()
    text = replace_once(text, "struct Params {\n", "struct Params {\n  long long planted_units;\n")
    text = replace_once(
        text,
        "__global__ void __launch_bounds__(S::k_threads, S::BPS) mma_flash(const Params p) {",
        "__device__ __forceinline__ void planted_body(const Params& p) {",
    )
    tail = replace_once(CUDA_TAIL, "PLANTED_WHEN", when)
    path.write_text(replace_once(text, "\n}  // namespace wb::gpu\n", tail))
    path = folder / "kernel.cu"
    text = path.read_text()
    text = replace_once(
        text,
        "int prepare(wb_sdpa_plan& plan) {\n",
        f"long long planted_units(const wb_sdpa_problem& p) {{\n{table(units)}}}\n\n"
        "int prepare(wb_sdpa_plan& plan) {\n",
    )
    text = replace_once(
        text,
        "  Params& k = plan.params;\n",
        "  Params& k = plan.params;\n  k.planted_units = planted_units(p);\n",
    )
    path.write_text(text)
    manifest = json.loads((folder / "kernel.json").read_text())
    manifest["defaults"]["EARLY_START"] = 0
    (folder / "kernel.json").write_text(json.dumps(manifest, indent=2) + "\n")


def edit_cpu(folder, units, when):
    if when != ALWAYS:
        raise RuntimeError("cheats are planted on a GPU only")
    path = folder / "kernel.cpp"
    text = path.read_text()
    old = "\nWB_CPU_KERNEL(tiled::needs, tiled::forward)\n"
    path.write_text(replace_once(text, old, CPU_TAIL % table(units)))


def plant(bench, name, units, when=ALWAYS):
    """A kernel of that name in the bench's folder, copied from the backend's SOURCES."""
    bench.run("new", name, "--from", SOURCES[bench.backend], "--in", bench.folder)
    edit = edit_cuda if bench.backend == "cuda" else edit_cpu
    edit(bench.folder / "kernels" / name, units, when)


def median_us(bench, name, problems):
    answer = bench.json("measure", name, "--problem", ";".join(problems), "--effort", "quick")
    rows = answer["problems"]
    bad = [row for row in rows if row["outcome"] != "measured"]
    if bad or len(rows) != len(problems):
        is_machine = {row["outcome"] for row in bad} == {"environment"}
        code = EXIT_ENVIRONMENT if is_machine else 1
        raise subprocess.CalledProcessError(code, f"measure {name}", None, f"{bad or rows}")
    return [row["median_us"] for row in rows]


def calibrate(bench, problems):
    """{"base_us": of each problem, "unit_us": of one unit}, by the kernels base and probe."""
    base_us = median_us(bench, "planted_base", problems)
    probe_us = median_us(bench, "planted_probe", problems)
    # By the shortest: what a process does to its calls is a share of them, the delay is not.
    shortest = base_us.index(min(base_us))
    longer_us = probe_us[shortest] - base_us[shortest]
    if longer_us <= 0:
        raise RuntimeError(f"a delay makes calls {-longer_us} us shorter")
    unit_us = longer_us / PROBE_UNITS[bench.backend]
    return {"base_us": base_us, "unit_us": unit_us}


def build_all(bench, names):
    """All at once: compilers need a CPU each, and no device."""
    started = [(name, bench.start("build", name)) for name in names]
    for name, process in started:
        _, words = process.communicate()
        if process.returncode != 0:
            raise subprocess.CalledProcessError(process.returncode, f"build {name}", None, words)
