"""Sessions on a GPU, by the real command. Without one these tests are skipped; where WB_REQUIRE_GPU
is set, a missing GPU is a failure. On a machine with a GPU:
WB_REQUIRE_GPU=1 WB_BUILD_DIR=build/release pytest tests/scenario/test_gpu.py"""

import ctypes
import importlib.util
import json
import os
import random
import shutil

import pytest
from support.commands import EXIT_ENVIRONMENT, ROOT
from support.logs import events

KERNEL = "sm80_mma_flash"
PROBLEM = "B=1 Hq=4 Sq=130 D=64 f16"
RANDOM = {  # kernels judged on random problems of every dtype: masks, head dims, configurations
    "sm80_query_per_block": (True, (1, 16, 17, 64, 128, 300), [[], ["THREADS=64"]]),
    "sm80_sequential_kv": (
        True,
        (1, 16, 17, 64, 80, 128),
        [[], ["TILE_ROWS=32", "TILE_KEYS=32", "THREADS_PER_ROW=4"]],
    ),
    "sm80_tiled_flash": (
        True,
        (1, 16, 17, 64, 80, 128),
        [
            [],
            ["TILE_KEYS=32", "VECTOR_LOADS=1", "PADDING=16", "ASYNC_COPY=1", "GRID=2"],
            ["GRID=0", "SPLIT_KEYS=64", "MERGE=1"],
        ],
    ),
    "sm80_wide_heads": (
        True,
        (1, 17, 64, 200, 520),
        [[], ["QUERIES=4", "COLUMN_PARTS=2", "THREADS=128"]],
    ),
    "triton_flash": (False, (1, 16, 17, 64, 80, 128), [[]]),
}
CUDA_KERNELS = {
    folder.name: json.loads((folder / "kernel.json").read_text())
    for folder in sorted((ROOT / "kernels").iterdir())
    if (folder / "kernel.cu").is_file()
}


def why_no_gpu():
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError as fault:
        return str(fault)
    count = ctypes.c_int(0)
    if (
        driver.cuInit(0) != 0
        or driver.cuDeviceGetCount(ctypes.byref(count)) != 0
        or not count.value
    ):
        return "the driver shows no GPU"
    nvcc = shutil.which("nvcc") or shutil.which("/usr/local/cuda/bin/nvcc")
    return "" if nvcc else "no nvcc to compile kernels"


def compute_capability_major():
    """Of the first GPU, which is the one that the commands take."""
    major = ctypes.c_int(0)
    attribute = 75  # CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR
    assert ctypes.CDLL("libcuda.so.1").cuDeviceGetAttribute(ctypes.byref(major), attribute, 0) == 0
    return major.value


@pytest.fixture(autouse=True)
def gpu():
    why = why_no_gpu()
    if why and os.environ.get("WB_REQUIRE_GPU"):
        pytest.fail(why)
    if why:
        pytest.skip(f"no GPU: {why}")


def test_a_cuda_kernel_is_judged_and_timed(wb):
    answer = wb.json("check", KERNEL, "--problem", PROBLEM)
    assert answer["pass"]
    median_us = {}
    for plan in ("hot", "cold", "eager"):
        words = ("measure", KERNEL, "--plan", plan, "--problem", PROBLEM, "--effort", "quick")
        (row,) = wb.json(*words)["problems"]
        median_us[plan] = row["median_us"]
    # Beside each other: a hot call is the shortest, and none takes what no call of that size does.
    assert 0 < median_us["hot"] < 2 * min(median_us["cold"], median_us["eager"]), median_us
    assert max(median_us.values()) < 100 * median_us["hot"], median_us


def random_problems(seed, masks, dims, count=24):
    """Every dtype, causal rule and layout; grouped heads, Dv beside D, sizes that fill no tile."""
    draw = random.Random(seed)
    problems = []
    for n in range(count):
        heads, dim = draw.randint(1, 2), draw.choice(dims)
        words = [
            f"B={draw.randint(1, 2)} Hq={heads * draw.randint(1, 3)} Hkv={heads}",
            f"Sq={draw.choice([1, 7, 64, 130])} Skv={draw.choice([1, 40, 65, 257])}",
            f"D={dim} Dv={draw.choice([dim, dim, 16, 72])}",
            ("f32", "f16", "bf16")[n % 3],
            "causal=" + ("none", "top_left", "bottom_right")[n // 3 % 3],
            "layout=" + draw.choice(["BHSD", "BSHD"]),
        ]
        if masks and n % 2:
            words.append(draw.choice(["mask=bool:0.5", "mask=bool:0.05", "mask=additive"]))
        problems.append(" ".join(words))
    return problems


@pytest.mark.parametrize(
    ("kernel", "configuration"),
    [(name, words) for name, row in RANDOM.items() for words in row[2]],
    ids=str,
)
def test_random_problems_are_right(wb, kernel, configuration):
    if kernel == "triton_flash" and not importlib.util.find_spec("triton"):
        pytest.skip("Triton is not installed")
    problems = random_problems(kernel, *RANDOM[kernel][:2])
    words = ["--configuration", *configuration] if configuration else []
    answer = wb.json("check", kernel, "--problem", ";".join(problems), *words)
    # `check` draws more problems of its own.
    assert len(answer["problems"]) >= len(problems)
    assert [row for row in answer["problems"] if row["outcome"] != "pass"] == []


@pytest.mark.parametrize("kernel", CUDA_KERNELS)
def test_each_kernel_of_the_catalogue_is_right(wb, kernel):
    """On problems of its dtypes; those that it does not take are left out, but not all."""
    if kernel.startswith("sm90_") and compute_capability_major() != 9:
        pytest.skip("for compute capability 9.0")
    shapes = [
        f"B=2 Hq={heads} Hkv=2 Sq={rows} Skv={keys} D={dim} {{}} causal={causal}"
        for dim in (64, 128, 256, 1024)
        for heads, rows, keys, causal in (
            (2, 200, 200, "none"), (4, 130, 300, "bottom_right"), (6, 1, 700, "none"),
        )
    ]  # fmt: skip
    for dtype in CUDA_KERNELS[kernel]["supports"]["dtypes"]:
        problems = ";".join(shape.format(dtype) for shape in shapes)
        answer = wb.json("check", kernel, "--problem", problems)
        outcomes = {row["outcome"] for row in answer["problems"]}
        assert "pass" in outcomes, answer["problems"]
        assert outcomes <= {"pass", "not_supported"}, answer["problems"]


def test_a_gpu_that_is_not_there_is_the_machines_fault(wb):
    done = wb.run("check", KERNEL, "--problem", PROBLEM, "--gpu", "4000")
    assert done.returncode == EXIT_ENVIRONMENT
    assert "counted from 0" in done.stderr


def test_a_session_with_an_iteration(wb):
    session = wb.folder / "s"
    wb.json("open", "--start", KERNEL, "--problem", PROBLEM, "--rivals", "none", "--effort",
                   "quick", "--session", session)  # fmt: skip
    answer = wb.json("iterate", "--session", session, "--variant", KERNEL, "--hypothesis",
                            "the same code is as fast", "--predicted-speedup", "1",
                            "--confirm", "never")  # fmt: skip
    assert answer["outcome"] in ("no_gain", "ambiguous")
    log = events(session)
    environment = next(e for e in log if e["type"] == "environment_recorded")["payload"]
    device = environment["device"]
    assert device["backend"] == "cuda"
    assert device["id"].startswith("GPU-")
    turns = [e["payload"] for e in log if e["type"] == "turn_measured"]
    assert {turn["plan"] for turn in turns} == {"hot", "cold", "eager"}
    assert all(turn["spot_pass"] for turn in turns)
    recorded = [e["payload"] for e in log if e["type"] == "launches_recorded"]
    assert len(recorded) == 1  # one subject on one problem, however many turns
    launch = recorded[0]["launches"][0]
    assert "mma_flash" in launch["kernel"]
    assert launch["grid"][0] * launch["grid"][1] * launch["grid"][2] > 0
    assert launch["registers"] > 0
    assert launch["blocks_per_sm"] > 0
    # What NVML does not give on this host is named, figure by figure.
    assert environment["gpu"].get("driver_version") or environment["gpu"]["unknown"]
    for turn in turns:
        conditions = turn["conditions"]
        for figure in ("sm_clock_mhz", "power_w", "clocks_event_reasons", "other_processes"):
            unknown = conditions.get("unknown", {})
            assert figure in conditions or figure in unknown or "nvml" in unknown


def test_the_tools_look_at_one_call(wb):
    runs = json.loads(wb.run("sanitize", KERNEL, "--problem", PROBLEM, "--json").stdout)["runs"]
    assert {run["tool"] for run in runs} == {"memcheck", "racecheck"}
    assert {run["outcome"] for run in runs} <= {"clean", "not_available"}, runs
    assert any(run["outcome"] == "clean" for run in runs), runs
    answer = json.loads(wb.run("profile", KERNEL, "--problem", PROBLEM, "--json").stdout)
    row = answer["problems"][0]
    hidden = ("ncu is not here", "administrator", "performance counters")
    if any(words in row["message"] for words in hidden):
        pytest.skip(f"the sanitizers looked, ncu could not: {row['message'][:200]}")
    kernels = [launch["kernel"] for launch in row["launches"]]
    assert any("mma_flash" in kernel for kernel in kernels), row["message"]
    assert row["launches"][0]["metrics"]["Duration"]["value"] > 0


def test_pytorch_is_a_rival(wb):
    pytest.importorskip("torch", reason="PyTorch is not installed")
    answer = wb.json("check", "torch_default", "--problem", "B=1 Hq=4 Sq=128 D=64 f16")
    assert answer["pass"], answer


@pytest.mark.parametrize(
    ("rival", "problem"),
    [
        ("torch_flash", "B=1 Hq=8 Hkv=2 Sq=4 Skv=256 D=64 bf16 causal=bottom_right"),
        ("torch_flash", "B=1 Hq=2 Hkv=2 Sq=33 Skv=70 D=40 f16 causal=bottom_right"),
        ("torch_efficient", "B=1 Hq=2 Hkv=2 Sq=33 Skv=70 D=64 f32 causal=bottom_right"),
        ("torch_default", "B=1 Hq=8 Hkv=2 Sq=4 Skv=256 D=64 bf16 causal=bottom_right"),
    ],
)
def test_pytorchs_fused_backends_take_bottom_right(wb, rival, problem):
    """By its name, causal_lower_right: beside a mask of that form flash would refuse, and SDPA
    would look slower than it is. The other two take masks, too: theirs must be right."""
    pytest.importorskip("torch", reason="PyTorch is not installed")
    answer = wb.json("check", rival, "--problem", problem, check=None)
    rows = {row["problem"]: row["outcome"] for row in answer["problems"]}
    assert rows[problem] == "pass", answer


def test_the_kernels_of_pytorchs_backends_are_named(wb):
    """One call of each rival and problem, by torch.profiler, in a process that nothing is timed
    in. Where CUPTI is closed to us the reason must stand there, and the test says so."""
    pytest.importorskip("torch", reason="PyTorch is not installed")
    session = wb.folder / "s"
    problems = "B=1 Hq=4 Sq=256 D=64 f16 causal=top_left;B=2 Hq=4 Sq=1 Skv=512 D=64 f16"
    rivals = ("torch_default", "torch_flash", "torch_math")
    opened = wb.json("open", "--start", KERNEL, "--problem", problems, "--rivals", *rivals,
                     "--effort", "quick", "--session", session, check=0)  # fmt: skip
    assert opened
    taken = [e["payload"] for e in events(session) if e["type"] == "profile_taken"]
    assert {event["tool"] for event in taken} == {"torch.profiler"}
    assert {event["subject"] for event in taken} == set(rivals)
    assert len(taken) == len(rivals) * 2
    reasons = {event["reason"] for event in taken if not event["available"]}
    assert all(reasons) or not reasons
    if reasons:
        pytest.skip(f"kernels could not be named: {sorted(reasons)}")
    for event in taken:
        launches = event["records"]["launches"]
        print(event["subject"], event["problem"], [launch["kernel"][:80] for launch in launches])
        assert all(launch["kernel"] and launch["grid"].startswith("(") for launch in launches)
        assert event["records"]["launched"] >= len(launches)
    names = {
        rival: " ".join(
            launch["kernel"] for event in taken if event["subject"] == rival
            for launch in event["records"]["launches"]
        )
        for rival in rivals
    }  # fmt: skip
    assert "flash" in names["torch_flash"]
    assert "flash" not in names["torch_math"]
    report = (session / "reports" / "session_full.md").read_text()
    assert "kernels of one call on" in report


def test_a_process_that_was_profiled_slows_no_other(wb):
    """CUPTI stays attached to the process that it looked into: the next measurement has its own."""
    pytest.importorskip("torch", reason="PyTorch is not installed")
    problem = "B=1 Hq=4 Sq=128 D=64 f16"
    words = ("measure", "torch_flash", "--problem", problem, "--plan", "eager", "--effort", "quick")

    def eager_us():
        return wb.json(*words)["problems"][0]["median_us"]

    before = eager_us()
    answer = wb.json("profile", "torch_flash", "--problem", problem)
    assert answer["problems"][0]["launches"], answer["problems"][0]["message"]
    after = eager_us()
    if after >= 1.5 * before:  # other work may have met one measurement; CUPTI would stay
        after = min(after, eager_us())
    assert after < 1.5 * before, (before, after)


def test_a_compute_bound_problem_is_confirmed_in_both_regimes(wb):
    """The same code again: whatever the figures, both regimes stand in log and report."""
    session = wb.folder / "s"
    large, decode = "B=4 Hq=16 Sq=4096 D=128 bf16", "B=8 Hq=16 Sq=1 Skv=8192 D=128 bf16"
    problems = f"{large};{decode}"
    wb.json("open", "--start", KERNEL, "--problem", problems, "--rivals", "none", "--effort",
                   "quick", "--session", session)  # fmt: skip
    wb.json("iterate", "--session", session, "--variant", KERNEL, "--hypothesis",
                   "the same code is as fast", "--predicted-speedup", "1",
                   "--confirm", "always")  # fmt: skip
    log = events(session)
    sustained = [
        e["payload"]
        for e in log
        if e["type"] == "turn_measured" and e["payload"].get("regime") == "sustained"
    ]
    both = [e["payload"] for e in log if "regimes" in e["payload"]]
    bounds = {
        e["payload"]["problem"]: e["payload"]["figures"]["regime"]
        for e in log
        if e["type"] == "finding_recorded" and e["payload"]["analysis"] == "regime"
    }
    assert len(bounds) == 2
    bound_of_large = next(bound for name, bound in bounds.items() if "Sq=4096" in name)
    bound_of_decode = next(bound for name, bound in bounds.items() if "Sq=1 " in name)
    assert bound_of_decode != "compute"
    if bound_of_large == "unknown":  # no peaks in the device table
        assert not sustained
        assert not both
        pytest.skip("the peaks of this GPU are not known, so nothing counts as compute-bound")
    assert bound_of_large == "compute"
    assert both
    # Quick: three processes each, there and back.
    counted = [turn for turn in sustained if "foreign_load" not in turn["flags"]]
    assert len(counted) >= 12
    assert {turn["phase"] for turn in sustained} == {"confirmation"}
    assert {turn["problem"] for turn in sustained} == {made["problem"] for made in both}
    assert all("Sq=1 " not in turn["problem"] for turn in sustained)
    for made in both:
        assert set(made["regimes"]) == {"burst", "sustained"}
        print(made["problem"], made["outcome"], made["regimes"])
    report = (session / "reports" / "session_full.md").read_text()
    page = (session / "iterations" / "0001.md").read_text()
    assert "; sustained " in report + page
