# SPDX-License-Identifier: MIT
"""The candidates of gpu/ through the real sdpa-wb on a GPU: the promised word; the honest candidate
right after each; 20 cycles of crash and recovery; no honest kernel accused. Without a GPU those are
skipped (WB_REQUIRE_GPU=1: they fail), and only the sources are compiled. On a machine with a GPU:
WB_REQUIRE_GPU=1 WB_HOSTILE_LONG=1 WB_BUILD_DIR=build/release \\
  pytest tests/hostile/test_hostile_gpu.py
WB_HOSTILE_CACHE names a folder with artifacts that were compiled elsewhere."""

import importlib.util
import json
import os
import platform
import re
from pathlib import Path

import pytest
from gauntlet import ROOT, SUBJECTS, sources_in, wait_for_no_leftovers, word_of
from gauntlet_gpu import (
    GPU_CASES,
    HANG_DEADLINE_MS,
    KERNELS,
    SOURCES,
    TURN_PROBLEM,
    GpuArena,
    compile_together,
    count_gpus,
    find_nvcc,
    why_no_gpu,
)

LONG = os.environ.get("WB_HOSTILE_LONG") == "1"
CYCLES = 20
BUSY_ATTEMPTS = 2
SHARD_SECONDS = 900
# Each is built first, and measured in fresh processes.
HONEST = [
    ("sm80_mma_flash", "B=1 Hq=8 Sq=512 D=64 f16"),
    ("sm80_mma_flash", "B=4 Hq=4 Sq=128 D=64 bf16 causal=top_left"),
    ("sm80_query_per_block", "B=1 Hq=2 Sq=96 D=64 f32 mask=bool:0.7"),
    ("sm80_sequential_kv", "B=1 Hq=4 Hkv=2 Sq=130 Skv=257 D=64 bf16 causal=bottom_right"),
    ("sm80_sequential_kv", "B=1 Hq=2 Sq=256 D=128 f32"),
]
# Long faults first: one that leaves something behind has the most runs to show it in.
CRASHES = ("illegal_address", "endless_kernel", "resets_device", "takes_all_memory")


@pytest.fixture(scope="session")
def gpu():
    why = why_no_gpu()
    if why and os.environ.get("WB_REQUIRE_GPU"):
        pytest.fail(why)
    if why:
        pytest.skip(f"no GPU: {why}")


@pytest.fixture(scope="session")
def arena(gpu, tmp_path_factory):
    build = ROOT / os.environ.get("WB_BUILD_DIR", "build/release")
    if not (build / "sdpa-wb").exists():
        pytest.skip(f"no sdpa-wb in {build}: build first, or set WB_BUILD_DIR")
    cache = os.environ.get("WB_HOSTILE_CACHE")
    arena = GpuArena(build, tmp_path_factory.mktemp("gpu"), Path(cache) if cache else None)
    arena.build_all()
    return arena


def lacks(case):
    """What of its needs this machine has not."""
    have = {"x86-64"} if platform.machine() in ("x86_64", "AMD64") else set()
    have |= {"two_gpus"} if count_gpus()[0] > 1 else set()
    have |= {"torch"} if importlib.util.find_spec("torch") else set()
    return [need for need in case.get("needs", []) if need not in have]


def selected(items):
    """Those candidates that this run of pytest asks for (-k)."""
    params = [item.callspec.params for item in items if hasattr(item, "callspec")]
    return {one["name"] for one in params if "name" in one}


@pytest.fixture(scope="session")
def outcome(request, arena):
    """Results by name, of those that are asked for. Each that is not found today has a session of
    its own, since it may take the session with it; what hangs has a short deadline."""
    shards = {"verdict": [], "turn": [], "hanging": []}
    found = {}
    asked = selected(request.session.items)
    for name, case in GPU_CASES.items():
        if name not in asked or lacks(case):
            continue
        if "expected_missed" in case:
            found |= play_alone(arena, name)
        else:
            shards["hanging" if case["word"] == "timeout" else case["stage"]].append(name)
    hanging = shards.pop("hanging")
    for shard, names in shards.items():
        if names:
            found |= play(arena, names, shard)
    if hanging:
        found |= arena.run(hanging, "hanging", SHARD_SECONDS, HANG_DEADLINE_MS)[0]
    return found


def play(arena, names, session):
    """A machine too busy to measure is the machine's matter: such candidates have another go."""
    found = {}
    for attempt in range(1 + BUSY_ATTEMPTS):
        found |= arena.run(names, f"{session}-{attempt}", SHARD_SECONDS)[0]
        names = [name for name in names if word_of(found[name]) == "environment"]
        if not names:
            break
    return found


def play_alone(arena, name):
    try:
        return arena.run([name], name, SHARD_SECONDS)[0]
    except AssertionError as fault:  # the session itself could not go on: the machine is blamed
        return {name: {"name": name, "code": "environment", "message": str(fault)}}


@pytest.mark.parametrize("name", GPU_CASES)
def test_candidate(name, outcome):
    case = GPU_CASES[name]
    if missing := lacks(case):
        pytest.skip(f"this machine lacks {', '.join(missing)}")
    result = outcome[name]
    said = f"{name}: {result}"
    if "expected_missed" in case and word_of(result) == case["today"]:
        pytest.xfail(case["expected_missed"])
    assert "expected_missed" not in case, f"its row says that it is not found: {said}"
    assert word_of(result) in (case["word"], case.get("or_word")), said
    assert case.get("message", "") in result.get("message", ""), said
    assert result["honest"] is True, said


def test_crash_and_recover(arena):
    """Fault after fault in one session, an honest run after each."""
    if not LONG:
        pytest.skip("in the long selection: WB_HOSTILE_LONG=1")
    items = [f"check:{CRASHES[i % len(CRASHES)]}" for i in range(CYCLES)]
    found, _ = arena.play(items, "cycles", SHARD_SECONDS, HANG_DEADLINE_MS)
    assert len(found) == CYCLES
    for one in found:
        assert word_of(one) == GPU_CASES[one["name"]]["word"], one
        assert one["honest"] is True, one


def test_honest_kernels_are_never_accused(arena):
    items = HONEST * (20 if LONG else 1)
    found = arena.run_honest(items, "honest", timeout_s=SHARD_SECONDS * (4 if LONG else 1))
    assert len(found) == len(items)
    # constraints: a kernel for another architecture than this GPU's
    fine = ("pass", "environment", "constraints")
    assert [one for one in found if one["word"] not in fine] == []
    assert any(one["word"] == "pass" for one in found)


def test_nothing_is_left(arena, outcome):
    if not outcome:
        pytest.skip("no candidate was asked for that could leave something")
    assert wait_for_no_leftovers(arena.folder) == []
    assert list(arena.temporary.iterdir()) == []
    assert arena.files() == arena.before


def test_what_remembers_is_not_faster(arena):
    """Within a turn's allowance; beside the honest one of the same work nothing is won."""
    row = arena.compare("memo_in_budget", "honest", TURN_PROBLEM)
    assert row["outcome"] != "faster", row
    assert "fresh inputs" in json.dumps(row), row
    # Its timed calls were faster, or it was refused.
    if row["speedup"] is not None:
        assert row["speedup"] > 1.2, row
        assert row["fresh"]["state"] in ("absent", "unclear"), row


@pytest.mark.parametrize("other", ["sm80_sequential_kv", "torch_math"])
def test_a_true_gain_is_faster(arena, other):
    """Beside a compiled kernel, and beside Python's: first calls on fresh inputs show it, too."""
    if other.startswith("torch") and not importlib.util.find_spec("torch"):
        pytest.skip("this machine lacks torch")
    row = arena.compare("sm80_mma_flash", other, "B=2 Hq=8 Sq=1024 D=64 f16", "--path", ROOT)
    assert row["outcome"] == "faster", row
    assert row["fresh"]["state"] == "stands", row
    assert row["fresh"]["rounds"] >= 6, row


# What needs no GPU


def test_every_source_compiles(tmp_path):
    for name, text in sources_in(SOURCES, ".py").items():
        compile(text, f"{name}.py", "exec")
    if not find_nvcc():
        pytest.skip("no nvcc to compile with")
    names = sorted(KERNELS)
    status, words = compile_together(names, tmp_path)
    assert status == 0, words
    # A kernel that its file does not launch would be no fault at all.
    ptx = (tmp_path / "together.ptx").read_text()
    launching = [name for name in names if "__global__" in KERNELS[name]]
    assert [name for name in launching if f"case_{name}" not in ptx] == []


def test_a_broken_source_is_seen(tmp_path):
    if not find_nvcc():
        pytest.skip("no nvcc to compile with")
    status, words = compile_together(["no_such_candidate"], tmp_path)
    assert status != 0
    assert "no_such_candidate" in words


def test_every_source_has_its_row():
    named = {case.get("file", case["name"]) for case in GPU_CASES.values()}
    sources = {*KERNELS, *sources_in(SOURCES, ".py")}
    assert sources <= named
    assert named - sources == {"py_library"}  # which is among the candidates of the CPU
    assert "py_library" in SUBJECTS
    for case in GPU_CASES.values():
        assert case["stage"] in ("verdict", "turn"), case
        assert ("today" in case) == ("expected_missed" in case), case
        assert case.get("today") != case["word"], case
        assert case.get("plan", "eager") in ("eager", "cold"), case
        assert re.fullmatch("[a-z0-9_]+", case["name"]), case
