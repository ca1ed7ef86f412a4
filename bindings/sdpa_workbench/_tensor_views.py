# SPDX-License-Identifier: MIT
"""Tensors of PyTorch, NumPy and whatever speaks DLPack, seen as address, shape and strides; nothing
is copied. Neither library is imported before somebody's tensor needs it."""

from __future__ import annotations

import sys
from typing import Any, NamedTuple

from ._tensor_errors import DeviceError, DtypeError, GradientError, LayoutError, ShapeError

TORCH_DTYPES = {"torch.float32": "f32", "torch.float16": "f16", "torch.bfloat16": "bf16",
                "torch.bool": "bool"}  # fmt: skip
NUMPY_DTYPES = {"float32": "f32", "float16": "f16", "bfloat16": "bf16", "bool": "bool"}
CALL = "call the variant on"


class View(NamedTuple):
    """Strides in elements. `device`: "cpu", "cuda:0", …"""

    address: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: str
    device: str


def is_torch(value: Any) -> bool:
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(value, torch.Tensor)


def is_numpy(value: Any) -> bool:
    numpy = sys.modules.get("numpy")
    return numpy is not None and isinstance(value, numpy.ndarray)


def one_family(named: dict[str, Any]) -> dict[str, Any]:
    """All of NumPy where all are; else all of PyTorch, or of NumPy where it is not installed."""
    if all(is_numpy(value) or value is None for value in named.values()):
        return named
    return {
        name: value if value is None or is_torch(value) else _through_dlpack(name, value)
        for name, value in named.items()
    }


def _through_dlpack(name: str, value: Any) -> Any:
    if not is_numpy(value) and not hasattr(value, "__dlpack__"):
        raise DtypeError(CALL, name, f"it is a {type(value).__name__}, no tensor",
                         "pass a tensor of PyTorch or NumPy, or one with __dlpack__")  # fmt: skip
    try:
        try:
            from torch import from_dlpack
        except ImportError:
            from numpy import from_dlpack
        return from_dlpack(value)
    except (BufferError, RuntimeError, TypeError, ValueError) as fault:
        raise LayoutError(CALL, name, f"DLPack does not hand it over: {fault}",
                          "copy it to memory that may be shared") from fault  # fmt: skip


def view_of(name: str, value: Any) -> View:
    return _torch_view(name, value) if is_torch(value) else _numpy_view(name, value)


def _torch_view(name: str, tensor: Any) -> View:
    torch = sys.modules["torch"]
    if tensor.requires_grad and torch.is_grad_enabled():
        raise GradientError(CALL, name, "it requires a gradient, and there is no backward",
                            "call under torch.no_grad(), or pass tensor.detach()")  # fmt: skip
    if tensor.device.type not in ("cpu", "cuda"):
        raise DeviceError(CALL, name, f"it is on {tensor.device}", "move it to the CPU or a GPU")
    if tensor.layout is not torch.strided:
        raise LayoutError(CALL, name, f"its layout is {tensor.layout}", "pass a strided tensor")
    if tensor.is_neg() or tensor.is_conj():
        raise LayoutError(CALL, name, "it is a lazy view", "pass tensor.resolve_neg()")
    dtype = TORCH_DTYPES.get(str(tensor.dtype), str(tensor.dtype))
    return View(tensor.data_ptr(), tuple(tensor.shape), tensor.stride(), dtype, str(tensor.device))


def _numpy_view(name: str, array: Any) -> View:
    dtype = NUMPY_DTYPES.get(array.dtype.name, array.dtype.name)
    if not array.dtype.isnative:
        raise DtypeError(CALL, name, "its bytes are in another order", "convert it")
    size = array.itemsize
    if any(stride % size for stride in array.strides) or not array.flags.aligned:
        raise LayoutError(CALL, name, "it is not aligned to its elements", "copy it")
    strides = tuple(stride // size for stride in array.strides)
    return View(array.__array_interface__["data"][0], array.shape, strides, dtype, "cpu")


def empty_result(q: Any, shape: tuple[int, ...], rows_first: bool) -> Any:
    """Of q's family, dtype and device, [B, H, S, D]; in memory rows before heads if asked for."""
    batch, heads, rows, width = shape
    inside = (batch, rows, heads, width) if rows_first else shape
    if is_torch(q):
        out = q.new_empty(inside)
        return out.transpose(1, 2) if rows_first else out
    out = sys.modules["numpy"].empty(inside, q.dtype)
    return out.swapaxes(1, 2) if rows_first else out


def broadcast(mask: Any, shape: tuple[int, ...]) -> Any:
    """A view with stride 0 where it is repeated."""
    try:
        if is_torch(mask):
            return mask.expand(shape)
        return sys.modules["numpy"].broadcast_to(mask, shape)
    except (RuntimeError, ValueError) as fault:
        raise ShapeError(CALL, "mask", f"{tuple(mask.shape)} does not broadcast to {shape}",
                         "give it [B, Hq, Sq, Skv], 1 where it repeats") from fault  # fmt: skip


def like_given(given: Any, result: Any) -> Any:
    """The result as the library of `given` has it: through its from_dlpack, if it has one."""
    if is_torch(given) or is_numpy(given):
        return result
    home = sys.modules.get(type(given).__module__.partition(".")[0])
    convert = getattr(home, "from_dlpack", None) or getattr(
        getattr(home, "dlpack", None), "from_dlpack", None
    )
    return result if convert is None else convert(result)
