# SPDX-License-Identifier: MIT
"""The tensors of a problem as a Python subject gets them: shapes, and views of memory files in the
type that the function's module uses. Loaded by the loop of Python subjects (subject.py)."""

import ctypes
import sys


class Problem:
    """Shapes are [batch, head, row, width]; `swapped` says that memory has rows before heads."""

    def __init__(self, fields):
        width, rows, keys = fields["D"], fields["Sq"], fields["Skv"]
        value_width = fields.get("Dv", width)
        batch, heads, kv_heads = fields["B"], fields["Hq"], fields["Hkv"]
        self.dtype = fields["dtype"]
        self.causal = fields["causal"]
        self.scale = fields.get("scale", width**-0.5)
        self.swapped = fields.get("layout", "BHSD") == "BSHD"
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
        return self.swapped and name in ("q", "k", "v", "out")

    def memory_shape(self, name):
        shape = self.shapes[name]
        return (shape[0], shape[2], shape[1], shape[3]) if self.swapped_of(name) else shape


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
        return shared.clone(memory_format=self.torch.preserve_format)

    def copy(self, target, source):
        target.copy_(source)

    def address(self, tensor):
        return tensor.data_ptr(), tensor.numel() * tensor.element_size()


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
        return shared.copy(order="K")

    def copy(self, target, source):
        self.numpy.copyto(target, source, casting="no")

    def address(self, array):
        return array.ctypes.data, array.nbytes


class PlainTensors:
    kind = memoryview

    def __init__(self):
        self.formats = {"f32": "f", "f16": "H", "bf16": "H", "bool": "?"}

    def view(self, problem, name, buffer):
        shape = problem.memory_shape(name)
        return memoryview(buffer).cast(self.formats[problem.dtype_of(name)], shape=shape)

    def private(self, shared):
        return memoryview(bytearray(shared)).cast(shared.format, shape=shared.shape)

    def copy(self, target, source):
        target.cast("B")[:] = source.cast("B")

    def address(self, view):
        flat = (ctypes.c_char * view.nbytes).from_buffer(view.cast("B"))
        return ctypes.addressof(flat), view.nbytes
