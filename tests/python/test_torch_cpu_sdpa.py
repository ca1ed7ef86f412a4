# SPDX-License-Identifier: MIT
"""The PyTorch rival gives what a float64 reference gives, for every kind of problem it claims."""

import importlib.util
import math
import pathlib
import subprocess
import sys

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

KERNELS = pathlib.Path(__file__).resolve().parents[2] / "kernels"
TOLERANCE = {torch.float32: 1e-5, torch.float16: 4e-3, torch.bfloat16: 3e-2}
# B, Hq, Hkv, Sq, Skv, D, Dv
SHAPES = [
    (2, 4, 2, 33, 70, 32, 32),
    (1, 3, 3, 70, 33, 40, 24),
    (1, 4, 1, 1, 50, 64, 64),
    (1, 2, 2, 40, 40, 16, 16),
]


@pytest.fixture(scope="module")
def sdpa():
    sys.path.insert(0, str(KERNELS))  # as a subject finds `common`
    spec = importlib.util.spec_from_file_location("rival", KERNELS / "torch_cpu_sdpa/rival.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.sdpa


def kept_keys(rows: int, keys: int, causal: str):
    i, j = torch.arange(rows)[:, None], torch.arange(keys)[None, :]
    if causal == "none":
        return torch.ones(rows, keys, dtype=torch.bool)
    return j <= i + (keys - rows if causal == "bottom_right" else 0)


def reference(q, k, v, causal, scale, mask):
    """Float64; a row without a key gives zeros."""
    group = q.shape[1] // k.shape[1]
    k, v = (t.double().repeat_interleave(group, 1) for t in (k, v))
    keep = kept_keys(q.shape[2], k.shape[2], causal)
    scores = (q.double() @ k.transpose(-1, -2)) * scale
    if mask is not None and mask.dtype != torch.bool:
        scores = scores + mask.double()
    elif mask is not None:
        keep = keep & mask
    scores = scores.masked_fill(~keep, -math.inf)
    largest = scores.amax(-1, keepdim=True)
    weights = (scores - torch.where(largest.isinf(), 0.0, largest)).exp()
    total = weights.sum(-1, keepdim=True)
    return (weights @ v) / torch.where(total > 0, total, 1.0)


def draw_mask(kind, shape, dtype):
    """The first row of every head is masked whole."""
    if kind == "none":
        return None
    mask = torch.rand(shape) < 0.5 if kind == "bool" else torch.randn(shape).to(dtype)
    mask[:, :, 0] = False if kind == "bool" else -math.inf
    return mask


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("mask_kind", ["none", "bool", "additive"])
@pytest.mark.parametrize("causal", ["none", "top_left", "bottom_right"])
@pytest.mark.parametrize("dtype", TOLERANCE, ids=str)
def test_rival_agrees_with_float64(sdpa, dtype, causal, mask_kind, shape):
    batch, heads_q, heads_kv, rows, keys, dim, dim_v = shape
    torch.manual_seed(20261120)
    q = torch.randn(batch, heads_q, rows, dim).to(dtype)
    k = torch.randn(batch, heads_kv, keys, dim).to(dtype)
    v = torch.randn(batch, heads_kv, keys, dim_v).to(dtype)
    mask = draw_mask(mask_kind, (batch, 1, rows, keys), dtype)
    out = sdpa(q, k, v, causal=causal, scale=0.2, mask=mask, out=None, lse=None)
    assert out.dtype == dtype
    assert out.shape == (batch, heads_q, rows, dim_v)
    error = (out.double() - reference(q, k, v, causal, 0.2, mask)).abs().max().item()
    assert error <= TOLERANCE[dtype]  # NaN fails


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_bottom_right_by_its_pytorch_name(sdpa, monkeypatch, shape):
    """What GPU rivals do where a fused backend takes it; here PyTorch makes the mask of it."""
    common = sys.modules[sdpa.__module__]
    named = []
    by_name = common._lower_right

    def notes(rows, keys):
        named.append((rows, keys))
        return by_name(rows, keys)

    monkeypatch.setattr(common, "_has_fused_lower_right", lambda q, k, v: True)
    monkeypatch.setattr(common, "_lower_right", notes)
    batch, heads_q, heads_kv, rows, keys, dim, dim_v = shape
    torch.manual_seed(20261123)
    q = torch.randn(batch, heads_q, rows, dim)
    k = torch.randn(batch, heads_kv, keys, dim)
    v = torch.randn(batch, heads_kv, keys, dim_v)
    out = sdpa(q, k, v, causal="bottom_right", scale=0.2, mask=None, out=None, lse=None)
    error = (out.double() - reference(q, k, v, "bottom_right", 0.2, None)).abs().max().item()
    assert error <= TOLERANCE[torch.float32]
    # One row and as many rows as keys are plainer; rows without keys would be NaN.
    assert named == ([(rows, keys)] if 1 < rows < keys else [])
    mask = draw_mask("bool", (batch, 1, rows, keys), torch.float32)
    sdpa(q, k, v, causal="bottom_right", scale=0.2, mask=mask, out=None, lse=None)
    assert len(named) <= 1  # beside a mask it is one


def test_starting_costs_no_more_than_pytorch():
    """Processes start for every confirmation; the module of that name imports 800 more."""
    code = (
        "import sys, torch; before = set(sys.modules); import common.torch_sdpa as own; "
        "print(*(set(sys.modules) - before))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=KERNELS, capture_output=True, text=True, check=True
    )
    assert set(done.stdout.split()) == {"common", "common.torch_sdpa"}


def test_rival_says_that_it_has_no_lse(sdpa):
    q = torch.randn(1, 1, 2, 4)
    with pytest.raises(NotImplementedError):
        sdpa(q, q, q, causal="none", scale=1.0, mask=None, out=None, lse=torch.empty(1, 1, 2))


LOWER_RIGHT = """
import sys, types
sys.path.insert(0, {kernels!r})
import torch
from common import torch_sdpa

class Forgetful(types.ModuleType):
    def __setattr__(self, name, value):  # as a version of PyTorch that asks for other names
        pass

if {refuses}:
    torch_sdpa.types = types.SimpleNamespace(ModuleType=Forgetful)
bias = torch_sdpa._lower_right(4, 8)
print("compiler" if "torch._dynamo" in sys.modules else "none")
q, k = torch.randn(1, 2, 4, 16), torch.randn(1, 2, 8, 16)
sdpa = torch.nn.functional.scaled_dot_product_attention
keep = torch.ones(4, 8, dtype=torch.bool).tril(4)
print(torch.allclose(sdpa(q, k, k, attn_mask=bias), sdpa(q, k, k, attn_mask=keep), atol=1e-6))
assert callable(torch._dynamo.optimize)  # whoever wants the compiler still gets it
"""


@pytest.mark.parametrize(("refuses", "loads"), [(False, "none"), (True, "compiler")])
def test_lower_right_needs_no_compiler(refuses, loads):
    script = LOWER_RIGHT.format(kernels=str(KERNELS), refuses=refuses)
    told = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert told.returncode == 0, told.stderr
    assert told.stdout.split() == [loads, "True"]
