# SPDX-License-Identifier: MIT
"""The tensors of a problem as a Python subject gets them: shapes, and views of memory files in the
type that the function's module uses. Loaded by the loop of Python subjects (subject.py)."""

import contextlib
import ctypes
import math
import sys

ELEMENT_BYTES = {"f32": 4, "f16": 2, "bf16": 2, "bool": 1}
# The supervisor follows a result's strides over so many times its bytes.
MOST_RESULT_SPREAD = 16


def place_of(address, shape, strides, out_shape):
    """The supervisor's description of a result; None if it could not follow it."""
    if tuple(shape) != tuple(out_shape) or not address or min(strides) < 0:
        return None
    last = sum((count - 1) * stride for count, stride in zip(shape, strides, strict=True))
    if last + 1 > MOST_RESULT_SPREAD * math.prod(shape):
        return None
    return {"address": address, "strides": [int(stride) for stride in strides]}


class Problem:
    """Shapes are [batch, head, row, width]; `swapped` names the tensors whose memory has rows
    before heads."""

    def __init__(self, fields):
        width, rows, keys = fields["D"], fields["Sq"], fields["Skv"]
        value_width = fields.get("Dv", width)
        batch, heads, kv_heads = fields["B"], fields["Hq"], fields["Hkv"]
        self.dtype = fields["dtype"]
        self.causal = fields["causal"]
        self.scale = fields.get("scale", width**-0.5)
        layout = fields.get("layout", "BHSD")
        of = layout if isinstance(layout, dict) else dict.fromkeys("qkv", layout)
        self.swapped = {name for name, word in of.items() if word == "BSHD"}
        if "q" in self.swapped:
            self.swapped.add("out")
        self.shapes = {
            "q": (batch, heads, rows, width),
            "k": (batch, kv_heads, keys, width),
            "v": (batch, kv_heads, keys, value_width),
            "out": (batch, heads, rows, value_width),
            "lse": (batch, heads, rows),
        }
        self.inputs = ["q", "k", "v"]
        self.mask_kind = fields.get("mask", {}).get("kind", "none")
        if self.mask_kind != "none":
            self.shapes["mask"] = (batch, 1, rows, keys)
            self.inputs.append("mask")

    def dtype_of(self, name):
        if name == "lse":
            return "f32"
        return "bool" if name == "mask" and self.mask_kind == "bool" else self.dtype

    def swapped_of(self, name):
        return name in self.swapped

    def size_bytes(self, name):
        return math.prod(self.shapes[name]) * ELEMENT_BYTES[self.dtype_of(name)]

    def memory_shape(self, name):
        shape = self.shapes[name]
        return (shape[0], shape[2], shape[1], shape[3]) if self.swapped_of(name) else shape

    def view_strides(self, name, inner, middle, outer):
        """In elements, in the order of memory, of a tensor with so many unused ones behind each
        step of its three inner dimensions (worker: problem/call_form.hpp)."""
        _batch, second, third, width = self.memory_shape(name)
        third_stride = width + (middle if name == "mask" else inner)
        second_stride = third * third_stride + (0 if name == "mask" else middle)
        return (second * second_stride + outer, second_stride, third_stride, 1)


class TorchTensors:
    """Private torch tensors beside shared memory files."""

    def __init__(self):
        self.torch = sys.modules["torch"]
        self.kind = self.torch.Tensor
        self.dtypes = {
            "f32": self.torch.float32,
            "f16": self.torch.float16,
            "bf16": self.torch.bfloat16,
            "bool": self.torch.bool,
        }

    def view(self, problem, name, buffer):
        flat = self.torch.frombuffer(buffer, dtype=self.dtypes[problem.dtype_of(name)])
        tensor = flat.view(problem.memory_shape(name))
        return tensor.transpose(1, 2) if problem.swapped_of(name) else tensor

    def private(self, shared):
        return self.duplicate(shared)

    def duplicate(self, tensor):
        return tensor.clone(memory_format=self.torch.preserve_format)

    def copy(self, target, source):
        target.copy_(source)

    def placed(self, problem, name, tensor, inner, middle, outer, shift):
        """The same elements in a view of a larger tensor filled with NaN (true for a bool one)."""
        shape = problem.memory_shape(name)
        strides = problem.view_strides(name, inner, middle, outer)
        size = shift + sum((n - 1) * step for n, step in zip(shape, strides, strict=True)) + 1
        rest = True if tensor.dtype == self.torch.bool else float("nan")
        whole = self.torch.full((size,), rest, dtype=tensor.dtype, device=tensor.device)
        view = whole.as_strided(shape, strides, shift)
        view = view.transpose(1, 2) if problem.swapped_of(name) else view
        return view.copy_(tensor)

    def fewer_rows(self, name, tensor):
        return (
            tensor[:, :, : tensor.shape[2] // 2] if name in ("q", "out", "mask", "lse") else tensor
        )

    def turn_around(self, tensor):
        """Replaces the values by others of the same kind."""
        tensor.copy_(tensor.flip(-1))

    @contextlib.contextmanager
    def at_most_threads(self, threads):
        before = self.torch.get_num_threads()
        if threads:
            self.torch.set_num_threads(min(threads, before))
        try:
            yield
        finally:
            self.torch.set_num_threads(before)

    def address(self, tensor):
        return tensor.data_ptr(), tensor.numel() * tensor.element_size()

    def place(self, result, out):
        """Where its elements lie; None where memory does not hold them as they are."""
        is_plain = result.layout is self.torch.strided and result.dtype is out.dtype
        if not is_plain or result.device.type != "cpu" or result.is_neg() or result.is_conj():
            return None
        return place_of(result.data_ptr(), result.shape, result.stride(), out.shape)


class NumpyTensors:
    def __init__(self):
        self.numpy = sys.modules["numpy"]
        self.kind = self.numpy.ndarray
        self.dtypes = {"f32": "<f4", "f16": "<f2", "bf16": "<u2", "bool": "?"}

    def view(self, problem, name, buffer):
        flat = self.numpy.frombuffer(buffer, dtype=self.dtypes[problem.dtype_of(name)])
        array = flat.reshape(problem.memory_shape(name))
        return array.swapaxes(1, 2) if problem.swapped_of(name) else array

    def private(self, shared):
        return self.duplicate(shared)

    def duplicate(self, array):
        return array.copy(order="K")

    def copy(self, target, source):
        self.numpy.copyto(target, source, casting="no")

    def placed(self, problem, name, array, inner, middle, outer, shift):
        shape, size = problem.memory_shape(name), array.itemsize
        strides = problem.view_strides(name, inner, middle, outer)
        elements = shift + sum((n - 1) * step for n, step in zip(shape, strides, strict=True)) + 1
        whole = self.numpy.frombuffer(bytearray(b"\xff" * (elements * size)), dtype=array.dtype)
        view = self.numpy.lib.stride_tricks.as_strided(
            whole[shift:], shape, [step * size for step in strides]
        )
        view = view.swapaxes(1, 2) if problem.swapped_of(name) else view
        view[...] = array
        return view

    def fewer_rows(self, name, array):
        return array[:, :, : array.shape[2] // 2] if name in ("q", "out", "mask", "lse") else array

    def turn_around(self, array):
        array[...] = array[..., ::-1].copy()

    @staticmethod
    def at_most_threads(_threads):
        return contextlib.nullcontext()

    def address(self, array):
        return array.ctypes.data, array.nbytes

    def place(self, result, out):
        size = result.itemsize
        if result.dtype != out.dtype or any(stride % size for stride in result.strides):
            return None
        strides = [stride // size for stride in result.strides]
        return place_of(result.ctypes.data, result.shape, strides, out.shape)


class PlainTensors:
    kind = memoryview

    def __init__(self):
        self.formats = {"f32": "f", "f16": "H", "bf16": "H", "bool": "?"}

    def view(self, problem, name, buffer):
        shape = problem.memory_shape(name)
        return memoryview(buffer).cast(self.formats[problem.dtype_of(name)], shape=shape)

    def private(self, shared):
        return self.duplicate(shared)

    def duplicate(self, view):
        return memoryview(bytearray(view)).cast(view.format, shape=view.shape)

    def copy(self, target, source):
        target.cast("B")[:] = source.cast("B")

    def placed(self, _problem, _name, view, *_gaps):
        return view  # a memoryview is packed

    def turn_around(self, view):
        flat = view.cast("B").cast(view.format)
        flat[:] = flat[::-1]

    @staticmethod
    def at_most_threads(_threads):
        return contextlib.nullcontext()

    def address(self, view):
        flat = (ctypes.c_char * view.nbytes).from_buffer(view.cast("B"))
        return ctypes.addressof(flat), view.nbytes

    def place(self, _result, _out):
        """Such views are in memory order; they are copied."""
        return None
