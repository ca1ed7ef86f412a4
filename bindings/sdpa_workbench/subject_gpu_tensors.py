# SPDX-License-Identifier: MIT
"""Tensors of a Python subject on a GPU, memory of the judge's that they may lie in, and the kernel
that fills them (for subject_gpu.py)."""

import base64
import ctypes
import math
import sys

import sdpa_wb_subject as loop


class GpuTensors(loop.subject_tensors.TorchTensors):
    def __init__(self, device):
        super().__init__()
        self.device = device

    def private(self, shared):
        """The tensor on the device with its strides; a tensor already there is not copied."""
        return shared.to(self.device)

    def empty(self, problem, name):
        dtype = self.dtypes[problem.dtype_of(name)]
        tensor = self.torch.empty(problem.memory_shape(name), dtype=dtype, device=self.device)
        return tensor.transpose(1, 2) if problem.swapped_of(name) else tensor

    def lent(self, problem, name, memory):
        """A view of the judge's memory. The array interface has no bf16, so bytes come first."""
        dtype = self.dtypes[problem.dtype_of(name)]
        shape = problem.memory_shape(name)
        size = math.prod(shape) * dtype.itemsize
        flat = self.torch.as_tensor(memory.bytes_at(size), device=self.device)
        tensor = flat.view(dtype).view(shape)
        return tensor.transpose(1, 2) if problem.swapped_of(name) else tensor


class Bytes:
    """Device memory as `torch.as_tensor` accepts it."""

    def __init__(self, address, size):
        self.__cuda_array_interface__ = {
            "shape": (size,), "typestr": "|u1", "data": (address, False), "version": 3,
        }  # fmt: skip


class Location(ctypes.Structure):
    _fields_ = (("type", ctypes.c_int), ("device", ctypes.c_int))


class Access(ctypes.Structure):
    _fields_ = (("location", Location), ("flags", ctypes.c_int))


class LentMemory:
    """Device memory of another process, mapped by the descriptor that stands for it: as
    worker/cuda/device_buffer.hpp."""

    DESCRIPTOR, DEVICE, READ_AND_WRITE = 1, 1, 3

    def __init__(self, driver, device, fd, part):
        self.driver, self.size, self.offset = driver, part["bytes"], part["offset"]
        self.handle, self.address = ctypes.c_uint64(), ctypes.c_uint64()
        self.is_mapped = False
        size = ctypes.c_size_t(self.size)
        zero = ctypes.c_uint64(0)
        number = ctypes.c_void_p(fd)
        self.check(
            driver.cuMemImportFromShareableHandle(
                ctypes.byref(self.handle), number, self.DESCRIPTOR
            )
        )
        self.check(
            driver.cuMemAddressReserve(
                ctypes.byref(self.address), size, ctypes.c_size_t(0), zero, zero
            )
        )
        self.check(driver.cuMemMap(self.address, size, ctypes.c_size_t(0), self.handle, zero))
        self.is_mapped = True
        access = Access(Location(self.DEVICE, device), self.READ_AND_WRITE)
        self.check(
            driver.cuMemSetAccess(self.address, size, ctypes.byref(access), ctypes.c_size_t(1))
        )

    def bytes_at(self, size):
        return Bytes(self.address.value + self.offset, size)

    def close(self):
        size = ctypes.c_size_t(self.size)
        if self.is_mapped:
            self.driver.cuMemUnmap(self.address, size)
        if self.address.value:
            self.driver.cuMemAddressFree(self.address, size)
        if self.handle.value:
            self.driver.cuMemRelease(self.handle)

    @staticmethod
    def check(code):
        if code != 0:
            raise RuntimeError(f"the driver answered {code} where memory was to be mapped")


class FillKernel:
    """The worker's kernel that makes inputs. A launch of it comes in a message: `blocks`, `threads`
    and the bytes of its one parameter, which begins with the address of the tensor."""

    def __init__(self, driver, image, name):
        self.driver = driver
        module, self.function = ctypes.c_void_p(), ctypes.c_void_p()
        self.check(driver.cuModuleLoadData(ctypes.byref(module), image))
        self.check(driver.cuModuleGetFunction(ctypes.byref(self.function), module, name.encode()))

    def queue(self, launch, tensor, stream, seed=None):
        """Queues the fill. `seed`: the seed's offset in the parameter and the seed to use
        instead."""
        parameter = bytearray(base64.b64decode(launch["params_base64"]))
        parameter[:8] = tensor.data_ptr().to_bytes(8, sys.byteorder)
        if seed is not None:
            parameter[seed[0] : seed[0] + 4] = seed[1].to_bytes(4, sys.byteorder)
        held = (ctypes.c_char * len(parameter)).from_buffer(parameter)
        pointers = (ctypes.c_void_p * 1)(ctypes.addressof(held))
        grid, block = (launch["blocks"], 1, 1), (launch["threads"], 1, 1)
        stream = ctypes.c_void_p(stream.cuda_stream)
        self.check(
            self.driver.cuLaunchKernel(self.function, *grid, *block, 0, stream, pointers, None)
        )

    @staticmethod
    def check(code):
        if code != 0:
            raise RuntimeError(f"the driver answered {code} where inputs were to be made")
