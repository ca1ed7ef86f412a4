# SPDX-License-Identifier: MIT
"""PyTorch's scaled_dot_product_attention, called the way its users call it: for the rivals torch_*.

q [B, Hq, Sq, D], k [B, Hkv, Skv, D], v [B, Hkv, Skv, Dv] are torch tensors indexed in this order
whatever their memory layout; mask is None, bool [B, 1, Sq, Skv] (True = keep) or additive in q's
dtype. The result is returned as a new tensor, which is what a user gets; `out` is not written.
On a GPU PyTorch 2.11 gives rows that see no key other values than 0: the manifests of the GPU's
rivals say so (rows_without_keys).
"""

import importlib
import sys
import types
from functools import lru_cache

import torch
from torch.backends.cuda import SDPAParams, can_use_efficient_attention, can_use_flash_attention
from torch.nn.functional import scaled_dot_product_attention


@lru_cache(maxsize=16)
def _causal_keep(rows: int, keys: int, first_row_keys: int, device: torch.device) -> torch.Tensor:
    """Row i keeps keys [0, i + first_row_keys). Made once per shape, as a user would."""
    keep = torch.ones(rows, keys, dtype=torch.bool, device=device)
    return keep.tril(diagonal=first_row_keys - 1)


def _import_causal_lower_right():
    """torch.nn.attention.bias imports PyTorch's compiler (800 modules, 4 to 5 s in each process)
    only to mark four functions for it. Nothing is compiled here, so during the import a stand-in
    takes the marks; other versions that want more of it get the compiler."""
    compiler = "torch._dynamo"
    if compiler not in sys.modules:
        stand_in = types.ModuleType(compiler)
        stand_in.allow_in_graph = lambda function: function
        sys.modules[compiler] = torch._dynamo = stand_in
        try:
            importlib.import_module("torch.nn.attention.bias")
        except (AttributeError, ImportError):
            sys.modules.pop("torch.nn.attention.bias", None)
        finally:
            del sys.modules[compiler], torch._dynamo
    from torch.nn.attention.bias import causal_lower_right

    return causal_lower_right


@lru_cache(maxsize=16)
def _lower_right(rows: int, keys: int) -> torch.Tensor:
    """PyTorch's own name for bottom_right, which its fused backends take without a mask."""
    return _import_causal_lower_right()(rows, keys)


_fused_lower_right: dict = {}  # asked once a shape: it takes some microseconds


def _has_fused_lower_right(q, k, v) -> bool:
    """Whether one of the backends that are on takes that name; else PyTorch would make the mask
    anew in every call. cuDNN and math do not."""
    if not q.is_cuda:
        return False
    asked = (q.shape, k.shape, v.shape, q.dtype, q.stride(), k.stride(), v.stride())
    if asked not in _fused_lower_right:
        params = SDPAParams(q, k, v, None, 0.0, False, q.shape[1] != k.shape[1])
        takes = can_use_flash_attention(params) or can_use_efficient_attention(params)
        _fused_lower_right[asked] = takes
    return _fused_lower_right[asked]


def _combined(keep: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    """A causal rule AND a mask: PyTorch takes one or the other."""
    if mask.dtype == torch.bool:
        return mask & keep
    return mask.masked_fill(~keep, float("-inf"))


def sdpa(q, k, v, *, causal, scale, mask, out, lse):
    """causal: "none", "top_left" or "bottom_right"."""
    if lse is not None:
        raise NotImplementedError("PyTorch's public function returns no log-sum-exp")
    rows, keys = q.shape[-2], k.shape[-2]
    if causal == "bottom_right" and rows == 1:
        causal = "none"  # the only row sees every key
    if causal == "bottom_right" and rows == keys:
        causal = "top_left"
    is_causal = causal == "top_left" and mask is None
    is_lower_right = causal == "bottom_right" and mask is None and rows <= keys
    if is_lower_right and _has_fused_lower_right(q, k, v):
        mask = _lower_right(rows, keys)
    elif causal != "none" and not is_causal:
        first_row_keys = 1 if causal == "top_left" else keys - rows + 1
        keep = _causal_keep(rows, keys, first_row_keys, q.device)
        mask = keep if mask is None else _combined(keep, mask)
    try:
        return scaled_dot_product_attention(
            q,
            k,
            v,
            attn_mask=mask,
            is_causal=is_causal,
            scale=scale,
            enable_gqa=q.shape[1] != k.shape[1],
        )
    except RuntimeError as fault:
        # PyTorch 2.11 says the second where a mask leaves none of the backends that are on.
        if "No available kernel" not in str(fault) and "Invalid backend" not in str(fault):
            raise
        raise NotImplementedError("this backend of PyTorch does not take the problem") from fault


def only(backend: str) -> None:
    """From now on this process uses one backend on the GPU: flash, cudnn, efficient or math."""
    cuda = torch.backends.cuda
    for name, enable in {
        "flash": cuda.enable_flash_sdp,
        "cudnn": cuda.enable_cudnn_sdp,
        "efficient": cuda.enable_mem_efficient_sdp,
        "math": cuda.enable_math_sdp,
    }.items():
        enable(name == backend)
