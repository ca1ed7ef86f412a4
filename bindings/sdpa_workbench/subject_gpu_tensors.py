# SPDX-License-Identifier: MIT
"""Tensors of a Python subject on a GPU, and the kernel that fills them (for subject_gpu.py)."""

import base64
import ctypes
import sys

import sdpa_wb_subject as loop


class GpuTensors(loop.subject_tensors.TorchTensors):
    def __init__(self, device):
        super().__init__()
        self.device = device

    def private(self, shared):
        return shared.to(self.device)  # keeps the strides

    def empty(self, problem, name):
        dtype = self.dtypes[problem.dtype_of(name)]
        tensor = self.torch.empty(problem.memory_shape(name), dtype=dtype, device=self.device)
        return tensor.transpose(1, 2) if problem.swapped_of(name) else tensor


class FillKernel:
    """The worker's kernel that makes inputs. A launch of it comes in a message: `blocks`, `threads`
    and the bytes of its one parameter, which begins with the address of the tensor."""

    def __init__(self, driver, image, name):
        self.driver = driver
        module, self.function = ctypes.c_void_p(), ctypes.c_void_p()
        self.check(driver.cuModuleLoadData(ctypes.byref(module), image))
        self.check(driver.cuModuleGetFunction(ctypes.byref(self.function), module, name.encode()))

    def queue(self, launch, tensor, stream):
        parameter = bytearray(base64.b64decode(launch["params_base64"]))
        parameter[:8] = tensor.data_ptr().to_bytes(8, sys.byteorder)
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
