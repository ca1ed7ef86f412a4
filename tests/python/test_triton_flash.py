# SPDX-License-Identifier: MIT
"""kernels/triton_flash gives what PyTorch's float64 math gives, in Triton's interpreter; skipped
where Triton is not installed. What becomes of the kernel there is tested by the real command."""

import importlib.util
import math
import os
import pathlib
import random

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

KERNEL = pathlib.Path(__file__).resolve().parents[2] / "kernels" / "triton_flash" / "kernel.py"
PROBLEMS = 36
pytestmark = pytest.mark.skipif(
    torch.cuda.is_available(), reason="with a GPU the kernel is tested there, not interpreted"
)
if not torch.cuda.is_available():
    os.environ["TRITON_INTERPRET"] = "1"  # read when Triton is first imported, by whatever test
TOLERANCE = {torch.float32: 1e-5, torch.float16: 4e-3, torch.bfloat16: 3e-2}


@pytest.fixture(scope="module")
def sdpa():
    pytest.importorskip("triton", reason="Triton is not installed")
    spec = importlib.util.spec_from_file_location("triton_flash", KERNEL)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    with pytest.MonkeyPatch.context() as patch:
        teach_bf16_products(patch)
        yield module.sdpa


def teach_bf16_products(patch):
    """The interpreter keeps bf16 as its 16 bits, and its dot multiplies these as integers (3.9)."""
    from triton.language import bfloat16, float32
    from triton.runtime.interpreter import InterpreterBuilder, TensorHandle

    def widened(handle):
        if handle.dtype.scalar != bfloat16:
            return handle
        return TensorHandle((handle.data.astype("uint32") << 16).view("float32"), float32)

    def create_dot(self, a, b, *more):
        return original(self, widened(a), widened(b), *more)

    original = InterpreterBuilder.create_dot
    patch.setattr(InterpreterBuilder, "create_dot", create_dot)


def tensor(shape, dtype, layout):
    """Indexed [B, H, S, D] whatever its layout."""
    if layout == "BSHD":
        shape = (shape[0], shape[2], shape[1], shape[3])
    made = torch.randn(shape, dtype=torch.float64).to(dtype)
    return made.transpose(1, 2) if layout == "BSHD" else made


def reference(q, k, v, causal, scale):
    """Float64; a row without a key gives zeros."""
    group = q.shape[1] // k.shape[1]
    q, k, v = q.double(), *(t.double().repeat_interleave(group, 1) for t in (k, v))
    scores = q @ k.transpose(-1, -2) * scale
    rows, keys = scores.shape[-2:]
    offset = {"none": keys, "top_left": 0, "bottom_right": keys - rows}[causal]
    keep = torch.ones(rows, keys, dtype=torch.bool).tril(diagonal=offset)
    return scores.masked_fill(~keep, -math.inf).softmax(-1).nan_to_num(0.0) @ v


@pytest.mark.parametrize("number", range(PROBLEMS))
def test_it_agrees_with_float64(sdpa, number):
    draw = random.Random(number)
    torch.manual_seed(number)
    dtype = list(TOLERANCE)[number % 3]
    causal = ("none", "top_left", "bottom_right")[number // 3 % 3]
    layout = draw.choice(["BHSD", "BSHD"])
    batch, heads_kv, group = draw.randint(1, 2), draw.randint(1, 2), draw.randint(1, 3)
    rows, keys = draw.randint(1, 90), draw.choice([1, 17, 64, 65, 130])
    dim = draw.choice([1, 8, 17, 40, 64, 128])
    dim_v = draw.choice([dim, dim, 3, 72])
    scale = draw.choice([1 / math.sqrt(dim), 0.25, -0.5, 0.0])
    q = tensor((batch, heads_kv * group, rows, dim), dtype, layout)
    k = tensor((batch, heads_kv, keys, dim), dtype, layout)
    v = tensor((batch, heads_kv, keys, dim_v), dtype, layout)
    out = tensor((batch, heads_kv * group, rows, dim_v), dtype, layout).fill_(math.nan)
    assert sdpa(q, k, v, causal=causal, scale=scale, mask=None, out=out, lse=None) is None
    error = (out.double() - reference(q, k, v, causal, scale)).abs().max().item()
    assert error <= TOLERANCE[dtype]  # NaN fails


def test_it_refuses_what_it_does_not_take(sdpa):
    q = torch.zeros(1, 1, 4, 8)
    call = {"causal": "none", "scale": 1.0, "mask": None, "out": q.clone(), "lse": None}
    wide = torch.zeros(1, 1, 4, 129)
    for tensors, change in [
        ((q, q, q), {"mask": torch.zeros(1, 1, 4, 4)}),
        ((q, q, q), {"lse": torch.zeros(1, 1, 4)}),
        ((wide, wide, q), {}),
        ((q, q, wide), {}),
        ((q.double(), q.double(), q.double()), {}),
        ((q.transpose(2, 3), q, q), {}),
    ]:
        with pytest.raises(NotImplementedError):
            sdpa(*tensors, **{**call, **change})
