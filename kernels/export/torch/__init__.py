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


@torch.library.register_fake(f"{_NAME}::forward")
def _(q, k, v, mask=None, causal="none", scale=None):
    torch._check(q.dim() == 4 and k.dim() == 4 and v.dim() == 4)
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
