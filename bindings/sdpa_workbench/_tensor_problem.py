# SPDX-License-Identifier: MIT
"""Converts tensors to an attention problem and checks them before a variant is called."""

from __future__ import annotations

import functools
import math
import sys
from dataclasses import dataclass
from typing import Any

from . import _tensor_abi as abi
from ._tensor_errors import DeviceError, DtypeError, LayoutError, ShapeError
from ._tensor_views import (
    CALL,
    View,
    broadcast,
    one_family,
    refuse_derivative,
    refuse_records,
    view_of,
)

GPU_ALIGNMENT = 256


@dataclass(frozen=True)
class Call:
    """One call, checked. `text` is the problem's text form, `rows_first` q's layout BSHD."""

    tensors: dict[str, Any]
    views: dict[str, View]
    causal: str
    scale: float
    text: str
    key: tuple[Any, ...]
    out_shape: tuple[int, ...]
    rows_first: bool
    out: Any

    @classmethod
    def of(cls, q, k, v, mask, causal, scale, out) -> Call:
        tensors = one_family({"q": q, "k": k, "v": v, "mask": mask, "out": out})
        out = tensors.pop("out")
        if tensors["mask"] is None:
            del tensors["mask"]
        views = {name: view_of(name, tensor) for name, tensor in tensors.items()}
        refuse_derivative("scale", scale)
        refuse_records()
        _check_dtypes(views)
        _check_devices(views)
        _check_shapes(views)
        word = _causal_word(causal)
        batch, heads, rows, width = views["q"].shape
        scale = width**-0.5 if scale is None else _scale_of(scale)
        if mask is not None:
            _check_mask(views)
            full = (batch, heads, rows, views["k"].shape[2])
            tensors["mask"] = broadcast(tensors["mask"], full)
            views["mask"] = view_of("mask", tensors["mask"])
        key = (*((name, v.shape, v.strides, v.dtype, v.device) for name, v in views.items()),
               word, scale)  # fmt: skip
        strides = views["q"].strides
        return cls(tensors, views, word, scale, _text(views, word, scale), key,
                   (batch, heads, rows, views["v"].shape[3]), strides[1] < strides[2],
                   out)  # fmt: skip


def _check_dtypes(views: dict[str, View]) -> None:
    dtype = views["q"].dtype
    if dtype not in abi.DTYPES:
        raise DtypeError(CALL, "q", f"its dtype is {dtype}", "convert to f32, f16 or bf16")
    for name in ("k", "v"):
        if views[name].dtype != dtype:
            raise DtypeError(CALL, name, f"its dtype is {views[name].dtype}, and q's {dtype}",
                             "convert one of them")  # fmt: skip
    if "mask" in views and views["mask"].dtype not in ("bool", dtype):
        raise DtypeError(CALL, "mask", f"its dtype is {views['mask'].dtype}",
                         f"pass bool (True keeps) or q's {dtype} (is added)")  # fmt: skip


def _check_devices(views: dict[str, View]) -> None:
    for name, view in views.items():
        if view.device != views["q"].device:
            raise DeviceError(CALL, name, f"it is on {view.device}, and q on {views['q'].device}",
                              "move one of them")  # fmt: skip


def _check_shapes(views: dict[str, View]) -> None:
    for name in ("q", "k", "v"):
        shape = views[name].shape
        if len(shape) != 4 or min(shape) < 1:
            raise ShapeError(CALL, name, f"its shape is {shape}",
                             "give it the shape [B, H, S, D], none of them 0")  # fmt: skip
    (batch, heads, _, width), k, v = (views[name].shape for name in ("q", "k", "v"))
    if k[0] != batch or k[3] != width:
        raise ShapeError(CALL, "k", f"its shape is {k}, and q's {views['q'].shape}",
                         "B and D must be the same")  # fmt: skip
    if v[:3] != k[:3]:
        raise ShapeError(CALL, "v", f"its shape is {v}, and k's {k}",
                         "B, Hkv and Skv must be the same")  # fmt: skip
    if heads % k[1]:
        raise ShapeError(CALL, "q", f"its {heads} heads are no multiple of the {k[1]} of k and v",
                         "each key head serves equally many query heads")  # fmt: skip


def _check_mask(views: dict[str, View]) -> None:
    shape, keys = views["mask"].shape, views["k"].shape[2]
    if not 1 <= len(shape) <= 4 or shape[-1] != keys:
        raise ShapeError(CALL, "mask", f"its shape is {shape}, and there are {keys} keys",
                         "give it [B, Hq, Sq, Skv], 1 where it repeats but in Skv")  # fmt: skip


def _scale_of(given: Any) -> float:
    try:
        if isinstance(given, (str, bytes, bytearray)) or type(given).__name__ in ("bool", "bool_"):
            raise TypeError
        scale = float(given)
    except (OverflowError, RuntimeError, TypeError, ValueError) as fault:
        raise ShapeError(CALL, "scale", f"it is a {type(given).__name__}, no number",
                         "give a finite number") from fault  # fmt: skip
    if not math.isfinite(scale):
        raise ShapeError(CALL, "scale", f"it is {scale}", "give a finite number")
    return scale


def _causal_word(causal: bool | str) -> str:
    if isinstance(causal, bool):
        return "top_left" if causal else "none"
    if not isinstance(causal, str) or causal not in abi.CAUSAL:
        raise ShapeError(CALL, "causal", f"it is {causal!r}",
                         "give False, True, none, top_left or bottom_right")  # fmt: skip
    return causal


def _fits(views: dict[str, View]) -> set[str]:
    """The layouts that match the order of heads and rows in memory."""
    fitting = {"BHSD", "BSHD"}
    for view in (views["q"], views["k"], views["v"]):
        if view.shape[1] > 1 and view.shape[2] > 1 and view.strides[1] != view.strides[2]:
            fitting &= {"BHSD"} if view.strides[1] > view.strides[2] else {"BSHD"}
    return fitting


def _text(views: dict[str, View], causal: str, scale: float) -> str:
    batch, heads, rows, width = views["q"].shape
    _, kv_heads, keys, value_width = views["v"].shape
    words = [
        f"B={batch} Hq={heads} Hkv={kv_heads} Sq={rows} Skv={keys} D={width} Dv={value_width}",
        views["q"].dtype, f"causal={causal}",
    ]  # fmt: skip
    if scale != width**-0.5:
        words.append(f"scale={scale!r}")
    if "mask" in views:
        words.append("mask=bool:0.5" if views["mask"].dtype == "bool" else "mask=additive")
    if "BHSD" not in _fits(views):
        words.append("layout=BSHD")
    return " ".join(words)


def check_layout(call: Call, on_gpu: bool) -> None:
    """Checks the ABI's rules for addresses and strides. Raises LayoutError."""
    if not _fits(call.views):
        raise LayoutError(CALL, "q, k and v", "heads are outside of rows in some of them only",
                          "bring them to one layout")  # fmt: skip
    for name, view in call.views.items():
        if view.shape[3] > 1 and view.strides[3] != 1:
            raise LayoutError(CALL, name, f"the stride of its last dimension is {view.strides[3]}",
                              "pass tensor.contiguous()")  # fmt: skip
        if min(view.strides) < 0 or (name != "mask" and _repeats(view)):
            raise LayoutError(CALL, name, f"its strides are {view.strides}",
                              "pass a tensor that repeats nothing and runs forward")  # fmt: skip
        size = 4 if view.dtype == "f32" else 1 if view.dtype == "bool" else 2
        if on_gpu and (view.address % GPU_ALIGNMENT or not _rows_are_safe(view, size)):
            raise LayoutError(CALL, name, f"it begins at {view.address:#x} with strides "
                              f"{view.strides}: a GPU variant needs {GPU_ALIGNMENT} bytes, and "
                              "rows packed or on 16", "pass a copy")  # fmt: skip


def _repeats(view: View) -> bool:
    return any(size > 1 and step == 0 for size, step in zip(view.shape, view.strides, strict=True))


def _overlaps(view: View) -> bool:
    """Whether two elements may share an address: a dimension's stride is less than the extent of a
    smaller one."""
    last = 0
    for step, size in sorted(zip(view.strides, view.shape, strict=True)):
        if size > 1 and step <= last:
            return True
        last += (size - 1) * step
    return False


def _rows_are_safe(view: View, size: int) -> bool:
    """Whether rows begin as in a packed tensor or at multiples of 16 bytes, which are loaded at
    once."""
    _, heads, rows, width = view.shape
    packed = (
        (heads * rows * width, rows * width, width)
        if view.strides[1] >= view.strides[2]
        else (heads * rows * width, width, heads * width)
    )
    return all(
        count == 1 or step == whole or step * size % 16 == 0
        for count, step, whole in zip(view.shape[:3], view.strides[:3], packed, strict=True)
    )


def out_view(call: Call, result: Any) -> View:
    """The view of a caller's `out`; raises an error if it is unsuitable."""
    view, q = view_of("out", result), call.views["q"]
    if view.dtype != q.dtype:
        raise DtypeError(CALL, "out", f"its dtype is {view.dtype}, and q's {q.dtype}", "convert it")
    if view.device != q.device:
        raise DeviceError(CALL, "out", f"it is on {view.device}, and q on {q.device}", "move it")
    if view.shape != call.out_shape:
        raise ShapeError(CALL, "out", f"its shape is {view.shape}",
                         f"it must be {call.out_shape}")  # fmt: skip
    if call.out is None:
        return view
    writable = getattr(getattr(result, "flags", None), "writeable", True)
    if not writable or view.strides[3] != 1 or min(view.strides) < 0 or _overlaps(view):
        raise LayoutError(CALL, "out", f"its strides are {view.strides}"
                          + ("" if writable else ", and it is read-only"),
                          "pass a packed tensor of its own")  # fmt: skip
    if q.device != "cpu" and (
        view.address % GPU_ALIGNMENT or not _rows_are_safe(view, 4 if view.dtype == "f32" else 2)
    ):
        raise LayoutError(CALL, "out", "it is not aligned as a GPU variant needs", "pass another")
    first, last = _extent(view)
    for name, other in call.views.items():
        begin, end = _extent(other)
        if begin < last and first < end:
            raise LayoutError(
                CALL, "out", f"it shares memory with {name}", "pass a tensor of its own"
            )
    return view


def _extent(view: View) -> tuple[int, int]:
    size = 4 if view.dtype == "f32" else 1 if view.dtype == "bool" else 2
    last = sum((n - 1) * step for n, step in zip(view.shape, view.strides, strict=True))
    return view.address, view.address + (last + 1) * size


def abi_problem(call: Call, out: View) -> abi.Problem:
    batch, heads, rows, width = call.views["q"].shape
    _, kv_heads, keys, value_width = call.views["v"].shape
    mask = call.views.get("mask")
    device = call.views["q"].device
    problem = abi.Problem(
        dtype=abi.DTYPES[call.views["q"].dtype], causal=abi.CAUSAL[call.causal],
        mask=abi.MASKS["none" if mask is None else "bool" if mask.dtype == "bool" else "additive"],
        batch=batch, heads_q=heads, heads_kv=kv_heads, seq_q=rows, seq_kv=keys, dim=width,
        dim_v=value_width, scale=call.scale,
        device=int(device.partition(":")[2] or 0) if device != "cpu" else -1,
    )  # fmt: skip
    for name in ("q", "k", "v"):
        setattr(problem, name, abi.Strides(*call.views[name].strides[:3]))
    problem.out = abi.Strides(*out.strides[:3])
    if mask is not None:
        problem.mask_strides = abi.Strides(*mask.strides[:3])
    return problem


@functools.cache
def cpu_name() -> str:
    """The CPU's name as the system reports it and the worker records it."""
    with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as lines:
        fields = {key.strip(): word.strip() for key, _, word in (x.partition(":") for x in lines)}
    return fields.get("model name") or fields.get("CPU part") or "unknown CPU"


def gpu_name(device: str) -> str:
    return sys.modules["torch"].cuda.get_device_name(device)
