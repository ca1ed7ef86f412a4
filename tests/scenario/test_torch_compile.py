# SPDX-License-Identifier: MIT
"""A Python subject that compiles while it runs: FlexAttention under torch.compile starts compilers,
writes caches and loads what they made, under whatever confinement subjects have."""

import json

import pytest

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


def check(wb, *words):
    """Half a minute and more: each graph is some ten seconds of compilers."""
    words = ("check", "flex", "--problem", PROBLEMS, "--draws", "2", "--json", *words)
    return json.loads(wb.run(*words, timeout=1200).stdout)


@pytest.mark.parametrize("level", ["seccomp", "namespaces"])
def test_flex_attention_is_compiled_and_right(wb, level):
    write_kernel(wb.folder, "1")
    answer = check(wb, "--isolation", level)
    assert answer["pass"], answer
    assert len(answer["problems"]) == 3


def test_a_wrong_compiled_kernel_is_found_out(wb):
    """So that what passes above was judged, compiled as it is."""
    write_kernel(wb.folder, "1.5")
    answer = check(wb)
    assert not answer["pass"]
    assert {row["outcome"] for row in answer["problems"]} >= {"correctness"}
