# SPDX-License-Identifier: MIT
"""One attention variant of the SDPA Workbench as an operator of PyTorch. README.md has the use,
PROVENANCE.json what was proved, where and when."""

import json
from pathlib import Path

import torch

__all__ = ["counts", "last_reason", "provenance", "reset_counts", "sdpa"]

_HERE = Path(__file__).resolve().parent
_NAME = __name__.rpartition(".")[2]

_found = sorted(_HERE.glob("_op*.so"))
if not _found:
    raise ImportError(
        f"{_HERE} holds no compiled operator: install the package, "
        "`pip install --no-build-isolation .` beside its setup.py"
    )
torch.ops.load_library(str(_found[0]))
_ops = getattr(torch.ops, _NAME)


def _check(q, k, v, mask, causal):
    """Of fake tensors what check_call (fallback.hpp) checks of real ones."""

    def value(fits, what):
        if not fits:
            raise ValueError(what)

    def dtype(fits, what):
        if not fits:
            raise TypeError(what)

    value(q.dim() == k.dim() == v.dim() == 4, "q, k and v must be [B, H, S, D]")
    value(
        k.size(0) == q.size(0) and v.shape[:3] == k.shape[:3] and k.size(3) == q.size(3),
        f"q {list(q.shape)}, k {list(k.shape)} and v {list(v.shape)} do not fit: they must be "
        "[B,Hq,Sq,D], [B,Hkv,Skv,D] and [B,Hkv,Skv,Dv]",
    )
    value(
        k.size(1) > 0 and q.size(1) % k.size(1) == 0,
        f"Hq = {q.size(1)} is no multiple of Hkv = {k.size(1)}",
    )
    dtype(
        q.dtype == k.dtype == v.dtype,
        f"q, k and v are {q.dtype}, {k.dtype} and {v.dtype}: they must be of one dtype",
    )
    given = (q, k, v) if mask is None else (q, k, v, mask)
    value(
        all(tensor.device == q.device for tensor in given),
        f"arguments are on {', '.join(str(tensor.device) for tensor in given)}: they must be on "
        "one device",
    )
    value(
        causal in ("none", "top_left", "bottom_right"),
        f'causal is "{causal}": it must be none, top_left (PyTorch\'s is_causal) or bottom_right',
    )
    if mask is None:
        return
    dtype(
        mask.dtype in (torch.bool, q.dtype),
        f"the mask is {mask.dtype}: it must be bool (true keeps) or of q's {q.dtype} (added to the "
        "scores)",
    )
    wanted = (q.size(0), q.size(1), q.size(2), k.size(2))
    value(
        mask.dim() <= 4
        and all(
            size == 1 or size == most
            for size, most in zip(reversed(mask.shape), reversed(wanted), strict=False)
        ),
        f"the mask is {list(mask.shape)}: it must broadcast to [B,Hq,Sq,Skv], here {list(wanted)}",
    )


@torch.library.register_fake(f"{_NAME}::forward")
def _(q, k, v, mask=None, causal="none", scale=None):
    _check(q, k, v, mask, causal)
    batch, heads, rows, width = q.size(0), q.size(1), q.size(2), v.size(3)
    if q.stride(1) < q.stride(2):  # as the operator: q's layout
        return q.new_empty((batch, rows, heads, width)).transpose(1, 2)
    return q.new_empty((batch, heads, rows, width))


def sdpa(q, k, v, mask=None, *, causal="none", scale=None):
    """softmax(scale * q k^T + mask) v. q [B,Hq,Sq,D], k [B,Hkv,Skv,D], v [B,Hkv,Skv,Dv], any
    strides; mask broadcasts to [B,Hq,Sq,Skv], bool (True keeps) or of q's dtype (added); causal is
    "none", "top_left" (PyTorch's is_causal) or "bottom_right"; scale defaults to D ** -0.5. The
    result has q's layout. The variant runs where its recorded passes cover the problem, else
    F.scaled_dot_product_attention: counts() tells how often, last_reason() why. There is no
    derivative: where one is wanted, in reverse or forward mode, NotImplementedError."""
    if isinstance(scale, torch.Tensor):
        raise TypeError(f"{_NAME}.sdpa: scale is a tensor: it must be a float or None")
    return _ops.forward(q, k, v, mask, causal, scale)


def counts():
    """How often each answered in this process: {"kernel": …, "fallback": …}; a forked child begins
    at 0. Replays of a CUDA graph are not seen: it replays what was captured."""
    kernel, fallback = _ops.counts()
    return {"kernel": kernel, "fallback": fallback}


def reset_counts():
    """Both begin at 0 again."""
    _ops.reset_counts()


def last_reason():
    """Why the last fallback was taken; empty when none was."""
    return _ops.last_reason()


def provenance():
    """PROVENANCE.json as a dict."""
    return json.loads((_HERE / "PROVENANCE.json").read_text())
