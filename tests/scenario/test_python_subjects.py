# SPDX-License-Identifier: MIT
"""Python subjects: one that compiles while it runs (FlexAttention under torch.compile starts
compilers, writes caches and loads what they made, under whatever confinement subjects have), one
whose rows without keys are not 0, and kernels/triton_flash where Triton is not installed."""

import importlib.util
import json
import shutil
import sys

import pytest
from support.commands import EXIT_ENVIRONMENT, ROOT, SMALL

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
if not torch.backends.cpu.get_cpu_capability().startswith(("AVX2", "AVX512")):
    pytest.skip("PyTorch compiles FlexAttention for AVX2 and AVX512 only", allow_module_level=True)

MANIFEST = {
    "name": "flex",
    "about": "FlexAttention under torch.compile",
    "backend": "python",
    "supports": {
        "dtypes": ["f32"],
        "causal": ["none", "top_left"],
        "masks": ["none"],
        "layouts": ["BHSD"],
        "head_dims": [32],
        "gqa": False,
        "dv_differs": False,
        "seq_q_max": 96,
        "seq_kv_max": 96,
    },
    "sources": ["flex.py"],
    "entry": "flex:sdpa",
}
# The whole graph or an error; and that nothing took a way without compiled code is asked for.
KERNEL = """
import functools

import torch
from torch._dynamo.utils import counters
from torch._inductor import metrics
from torch.nn.attention.flex_attention import flex_attention

torch._dynamo.config.recompile_limit = 256


def keep_past(score, b, h, row, key):
    return torch.where(row >= key, score, -float("inf"))


@functools.cache
def compiled(causal):
    score_mod = keep_past if causal == "top_left" else None
    call = functools.partial(flex_attention, score_mod=score_mod)
    return torch.compile(call, fullgraph=True, dynamic=True)


def sdpa(q, k, v, *, causal, scale, mask, out, lse):
    result = compiled(causal)(q, k, v, scale=FACTOR * scale)
    if not counters["stats"]["unique_graphs"] or not metrics.generated_kernel_count:
        raise RuntimeError("nothing was compiled")
    return result
"""
PROBLEMS = "B=1 Hq=2 Sq=64 D=32 f32;B=1 Hq=2 Sq=33 Skv=96 D=32 f32 causal=top_left"  # a graph each


def write_kernel(folder, factor):
    home = folder / "kernels" / "flex"
    home.mkdir(parents=True)
    (home / "kernel.json").write_text(json.dumps(MANIFEST))
    (home / "flex.py").write_text(KERNEL.replace("FACTOR", factor))


def check_compiled(wb, *words):
    """Half a minute and more: each graph is some ten seconds of compilers."""
    words = ("check", "flex", "--problem", PROBLEMS, "--draws", "2", "--json", *words)
    return json.loads(wb.run(*words, timeout=1200).stdout)


@pytest.mark.parametrize("level", ["seccomp", "namespaces"])
def test_flex_attention_is_compiled_and_right(wb, level):
    write_kernel(wb.folder, "1")
    answer = check_compiled(wb, "--isolation", level)
    assert answer["pass"], answer
    assert len(answer["problems"]) == 3


def test_a_wrong_compiled_kernel_is_found_out(wb):
    """So that what passes above was judged, compiled as it is."""
    write_kernel(wb.folder, "1.5")
    answer = check_compiled(wb)
    assert not answer["pass"]
    assert {row["outcome"] for row in answer["problems"]} >= {"correctness"}


# A kernel whose rows without keys are not 0 (as PyTorch's on a GPU): wrong where it claims them,
# right where its manifest leaves them out.

# Scores of a masked row are all alike, so its weights are, too: the mean of the values.
NAN_ROWS = """
import torch

def attend(q, k, v, *, causal, scale, mask, out, lse):
    if lse is not None:
        raise NotImplementedError("no log-sum-exp")
    scores = (q.double() @ k.double().transpose(-1, -2)) * scale
    keep = torch.ones(q.shape[-2], k.shape[-2], dtype=torch.bool)
    if causal != "none":
        keep = keep.tril(k.shape[-2] - q.shape[-2] if causal == "bottom_right" else 0)
    if mask is not None:
        keep = keep & mask
    weights = torch.softmax(scores.masked_fill(~keep, -1e30), dim=-1)
    return (weights @ v.double()).to(v.dtype)
"""
MASKED = "B=1 Hq=1 Sq=8 Skv=32 D=16 f32 mask=bool:0.9"
# Rows that the mask may leave without keys, in any draw.
FEW_KEYS = "B=1 Hq=1 Sq=8 Skv=2 D=16 f32 mask=bool:0.5"
FIRST_ROWS = "B=8 Hq=1 Sq=8 Skv=8 D=16 f32 causal=top_left mask=bool:0.9"
MORE_ROWS = "B=1 Hq=1 Sq=40 Skv=8 D=16 f32 causal=bottom_right"


@pytest.fixture
def kernel(wb):
    if not importlib.util.find_spec("torch"):
        pytest.skip("PyTorch is not installed")
    folder = wb.folder / "kernels" / "py_mean"
    folder.mkdir(parents=True)
    (folder / "mean.py").write_text(NAN_ROWS)

    def write(**claims):
        manifest = {
            "name": "py_mean", "about": "rows without keys are the mean", "backend": "python",
            "supports": {"dtypes": ["f32"], "causal": ["none", "top_left", "bottom_right"],
                         "gqa": False, "masks": ["none", "bool"], "layouts": ["BHSD"], **claims},
            "sources": ["mean.py"], "entry": "mean:attend",
        }  # fmt: skip
        (folder / "kernel.json").write_text(json.dumps(manifest))
        return "py_mean"

    return write


def check(wb, kernel, problem, *more):
    return wb.run("check", kernel, "--problem", problem, "--python", sys.executable, *more)


def outcomes(wb, kernel, problem):
    answer = json.loads(check(wb, kernel, problem, "--json").stdout)
    return answer["pass"], {row["outcome"] for row in answer["problems"]}


@pytest.mark.parametrize("problem", [MASKED, FEW_KEYS, FIRST_ROWS, MORE_ROWS])
def test_who_claims_such_rows_is_judged_on_them(wb, kernel, problem):
    passed, found = outcomes(wb, kernel(), problem)
    assert not passed
    assert "correctness" in found


def test_who_leaves_them_out_is_not(wb, kernel):
    passed, found = outcomes(wb, kernel(rows_without_keys=False), MASKED)
    assert (passed, found) == (True, {"pass"})
    for problem in (FEW_KEYS, FIRST_ROWS, MORE_ROWS):
        done = check(wb, "py_mean", problem)
        assert "rows that may see no key" in done.stdout + done.stderr


# What becomes of kernels/triton_flash where Triton is not installed, by the real command. That it
# is right is tested by tests/python/test_triton_flash.py and, on a GPU, by test_gpu.py.


def test_a_missing_triton_is_named(wb):
    """As a subject of the CPU, since that is where every machine can load it."""
    if importlib.util.find_spec("triton"):
        pytest.skip("Triton is installed")
    folder = wb.folder / "kernels" / "triton_on_cpu"
    shutil.copytree(ROOT / "kernels" / "triton_flash", folder)
    manifest = json.loads((folder / "kernel.json").read_text())
    manifest["name"] = folder.name
    del manifest["architectures"]
    (folder / "kernel.json").write_text(json.dumps(manifest))
    words = ("check", folder.name, "--path", wb.folder, "--python", sys.executable)
    answer = wb.json(*words, "--problem", SMALL, check=1)
    (row,) = answer["problems"]
    assert row["outcome"] == "constraints"
    assert "Triton is not installed" in row["message"]
    assert "pip install triton" in row["message"]


def test_a_worker_without_its_files_names_them(by_clock, build):
    """A program that was copied alone: Python is there, the loop for subjects is not."""
    alone = by_clock.folder / "bin" / "sdpa-wb-worker"
    alone.parent.mkdir()
    shutil.copy(build / "sdpa-wb-worker", alone)
    done = by_clock.run("check", "torch_cpu_sdpa", "--problem", SMALL, "--worker", alone)
    assert done.returncode == EXIT_ENVIRONMENT, done.stdout
    assert "no folder above it has share/sdpa-workbench" in done.stdout + done.stderr
    named = by_clock.run("check", "torch_cpu_sdpa", "--problem", SMALL, "--python", "/no/python3")
    assert "/no/python3" in named.stdout + named.stderr
