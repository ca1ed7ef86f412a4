# SPDX-License-Identifier: MIT
"""Views of tensors of PyTorch, NumPy and all that speaks DLPack, as address, shape and strides;
nothing is copied. Each library is imported only when one of its tensors is given."""

from __future__ import annotations

import sys
from typing import Any, NamedTuple

from ._tensor_errors import (
    DeviceError,
    DtypeError,
    GradientError,
    LayoutError,
    ShapeError,
    TensorError,
)

TORCH_DTYPES = {"torch.float32": "f32", "torch.float16": "f16", "torch.bfloat16": "bf16",
                "torch.bool": "bool"}  # fmt: skip
NUMPY_DTYPES = {"float32": "f32", "float16": "f16", "bfloat16": "bf16", "bool": "bool"}
OPTIONAL = ("mask", "out")
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
    """All values as NumPy arrays if all are; else all of PyTorch, or of NumPy without PyTorch."""
    left_out = [name for name in OPTIONAL if named[name] is None]
    if all(name in left_out or is_numpy(value) for name, value in named.items()):
        return named
    return {
        name: value if name in left_out or is_torch(value) else _through_dlpack(name, value)
        for name, value in named.items()
    }


def _through_dlpack(name: str, value: Any) -> Any:
    if not is_numpy(value) and not hasattr(value, "__dlpack__"):
        raise DtypeError(CALL, name, f"it is a {type(value).__name__}, no tensor",
                         "pass a tensor of PyTorch or NumPy, or one with __dlpack__")  # fmt: skip
    if is_numpy(value) and _numpy_view(name, value).dtype not in NUMPY_DTYPES.values():
        raise DtypeError(CALL, name, f"its dtype is {value.dtype}", "convert it")
    try:
        try:
            from torch import from_dlpack
        except ImportError:
            from numpy import from_dlpack
        return from_dlpack(value)
    except Exception as fault:  # a foreign class may raise anything
        raise LayoutError(CALL, name, f"DLPack does not hand it over: {_first_line(fault)}",
                          "copy it to memory that may be shared") from fault  # fmt: skip


def _first_line(fault: Exception) -> str:
    return (str(fault).strip() or type(fault).__name__).splitlines()[0][:200]


def view_of(name: str, value: Any) -> View:
    return _torch_view(name, value) if is_torch(value) else _numpy_view(name, value)


def refuse_derivative(name: str, value: Any) -> None:
    """Raises GradientError where one is wanted of `value`: a result would come without it."""
    if not is_torch(value):
        return
    torch = sys.modules["torch"]
    if torch._C._functorch.is_functorch_wrapped_tensor(value):
        if torch._C._functorch.is_gradtrackingtensor(value):
            raise GradientError(CALL, name, "a transform of torch.func wants a derivative, and "
                                "there is none", "call outside of it")  # fmt: skip
        raise LayoutError(CALL, name, "a transform of torch.func (vmap, functionalize) has wrapped "
                          "it, and it has no memory of its own",
                          "call outside of it: B is there for batches")  # fmt: skip
    if value.requires_grad and torch.is_grad_enabled():
        raise GradientError(CALL, name, "it requires a gradient, and there is no backward",
                            "call under torch.no_grad(), or pass tensor.detach()")  # fmt: skip
    if torch.autograd.forward_ad.unpack_dual(value).tangent is not None:
        raise GradientError(CALL, name, "it has a tangent, and there is no derivative in forward "
                            "mode", "pass tensor.detach()")  # fmt: skip


def refuse_records() -> None:
    """Raises LayoutError where PyTorch wraps or records what it computes: there the result, into
    whose memory a variant writes, would have none, or the call would be missing in the record."""
    torch = sys.modules.get("torch")
    if torch is None:
        return
    proxies = sys.modules.get("torch.fx.experimental.proxy_tensor")
    if torch.jit.is_tracing() or (proxies is not None and proxies.get_proxy_mode() is not None):
        raise LayoutError(CALL, "tensors of a trace", "what it writes is no operation that PyTorch "
                          "could record", "export it as an operator: sdpa-wb export --torch"
                          )  # fmt: skip
    if torch._C._functorch.peek_interpreter_stack() is not None:
        raise LayoutError(CALL, "tensors in a transform of torch.func", "it would wrap the result, "
                          "into whose memory the variant writes", "call outside of it"
                          )  # fmt: skip


def tell_written(out: Any) -> None:
    """Tells autograd of the write, so that a backward that needs the old content of `out` fails."""
    if is_torch(out):
        sys.modules["torch"].autograd.graph.increment_version(out)


def _torch_view(name: str, tensor: Any) -> View:
    try:
        return _plain_view(sys.modules["torch"], name, tensor)
    except TensorError:
        raise
    except Exception as fault:  # whatever a kind of tensor raises that has no memory of its own
        raise LayoutError(CALL, name, f"PyTorch does not tell where it lies: {_first_line(fault)}",
                          "pass a plain tensor") from fault  # fmt: skip


def _plain_view(torch: Any, name: str, tensor: Any) -> View:
    if type(tensor).__torch_dispatch__ is not torch.Tensor.__torch_dispatch__ or tensor.is_nested:
        raise LayoutError(CALL, name, f"it is a {type(tensor).__name__}, which holds others",
                          "pass a plain tensor")  # fmt: skip
    refuse_derivative(name, tensor)
    if tensor.device.type not in ("cpu", "cuda"):
        raise DeviceError(CALL, name, f"it is on {tensor.device}", "move it to the CPU or a GPU")
    if tensor.is_cuda and torch.cuda._is_in_bad_fork():
        raise DeviceError(CALL, name, "CUDA was in use when this process was forked, and does not "
                          "work here", 'start processes by the method "spawn"')  # fmt: skip
    if tensor.layout is not torch.strided:
        raise LayoutError(CALL, name, f"its layout is {tensor.layout}", "pass a strided tensor")
    if tensor.is_neg() or tensor.is_conj():
        raise LayoutError(CALL, name, "it is a lazy view", "pass tensor.resolve_neg()")
    dtype = TORCH_DTYPES.get(str(tensor.dtype), str(tensor.dtype))
    shape = tuple(tensor.shape)
    view = View(tensor.data_ptr(), shape, tensor.stride(), dtype, str(tensor.device))
    if not view.address and 0 not in shape:
        raise LayoutError(CALL, name, "it has no memory", "pass a tensor that has its values")
    return view


def _refuse_masked(name: str, array: Any) -> None:
    numpy = sys.modules.get("numpy")
    if numpy is not None and isinstance(array, numpy.ma.MaskedArray):
        raise LayoutError(CALL, name, "it is a masked array, whose mask would be lost",
                          "pass array.filled(value), and the mask as mask=")  # fmt: skip


def _numpy_view(name: str, array: Any) -> View:
    _refuse_masked(name, array)
    dtype = NUMPY_DTYPES.get(array.dtype.name, array.dtype.name)
    if not array.dtype.isnative:
        raise DtypeError(CALL, name, "its bytes are in another order", "convert it")
    size = array.itemsize or 1  # there are dtypes without bytes
    if any(stride % size for stride in array.strides) or not array.flags.aligned:
        raise LayoutError(CALL, name, "it is not aligned to its elements", "copy it")
    strides = tuple(stride // size for stride in array.strides)
    return View(array.__array_interface__["data"][0], array.shape, strides, dtype, "cpu")


def empty_result(q: Any, shape: tuple[int, ...], rows_first: bool) -> Any:
    """An empty [B, H, S, D] of q's family, dtype and device; memory has rows before heads if asked
    for."""
    batch, heads, rows, width = shape
    inside = (batch, rows, heads, width) if rows_first else shape
    if is_torch(q):
        out = q.new_empty(inside)
        return out.transpose(1, 2) if rows_first else out
    out = sys.modules["numpy"].empty(inside, q.dtype)
    return out.swapaxes(1, 2) if rows_first else out


def broadcast(mask: Any, shape: tuple[int, ...]) -> Any:
    """A view with stride 0 in repeated dimensions."""
    try:
        if is_torch(mask):
            return mask.expand(shape)
        return sys.modules["numpy"].broadcast_to(mask, shape)
    except (RuntimeError, ValueError) as fault:
        raise ShapeError(CALL, "mask", f"{tuple(mask.shape)} does not broadcast to {shape}",
                         "give it [B, Hq, Sq, Skv], 1 where it repeats") from fault  # fmt: skip


def like_given(given: Any, result: Any) -> Any:
    """The result as a tensor of the library of `given`, through its from_dlpack if it has one."""
    if is_torch(given) or is_numpy(given):
        return result
    home = sys.modules.get(type(given).__module__.partition(".")[0])
    convert = getattr(home, "from_dlpack", None) or getattr(
        getattr(home, "dlpack", None), "from_dlpack", None
    )
    return result if convert is None else convert(result)
