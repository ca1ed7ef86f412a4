# SPDX-License-Identifier: MIT
"""kernels/common/sdpa_abi.h through ctypes: one loaded variant, one plan per problem and layout."""

import ctypes as c

import torch

DTYPES = {torch.float32: 0, torch.float16: 1, torch.bfloat16: 2}
CAUSAL = {"none": 0, "top_left": 1, "bottom_right": 2}
UNSUPPORTED = 1


class Strides(c.Structure):
    _fields_ = [("batch", c.c_int64), ("head", c.c_int64), ("row", c.c_int64)]


class Problem(c.Structure):
    _fields_ = (
        [("struct_size", c.c_size_t)]
        + [(n, c.c_int32) for n in ("abi_version", "dtype", "causal", "mask")]
        + [
            (n, c.c_int64)
            for n in ("batch", "heads_q", "heads_kv", "seq_q", "seq_kv", "dim", "dim_v")
        ]
        + [(n, Strides) for n in ("q", "k", "v", "out", "mask_strides")]
        + [
            ("scale", c.c_double),
            ("want_lse", c.c_int32),
            ("device", c.c_int32),
            ("window_left", c.c_int64),
            ("window_right", c.c_int64),
            ("softcap", c.c_double),
            ("cu_seqlens_q", c.c_void_p),
            ("cu_seqlens_kv", c.c_void_p),
            ("page_table", c.c_void_p),
            ("page_size", c.c_int64),
        ]
    )


class Args(c.Structure):
    _fields_ = (
        [("struct_size", c.c_size_t)]
        + [(n, c.c_void_p) for n in ("q", "k", "v", "mask", "out", "lse", "workspace", "stream")]
        + [("threads", c.c_int32)]
    )


class Unsupported(Exception):
    """The variant says that the problem is outside its reach."""


def strides_of(x):
    return Strides(x.stride(0), x.stride(1), x.stride(2))


class Variant:
    def __init__(self, name, path):
        self.name, self.lib = name, c.CDLL(path)
        self.lib.wb_sdpa_workspace_bytes.restype = c.c_size_t
        self.lib.wb_sdpa_workspace_bytes.argtypes = [c.c_void_p]
        self.lib.wb_sdpa_last_error.restype = c.c_char_p
        self.lib.wb_sdpa_plan_create.argtypes = [c.POINTER(Problem), c.POINTER(c.c_void_p)]
        self.lib.wb_sdpa_forward.argtypes = [c.c_void_p, c.POINTER(Args)]
        self.lib.wb_sdpa_plan_destroy.argtypes = [c.c_void_p]

    def error(self):
        return self.lib.wb_sdpa_last_error().decode()


class Plan:
    """One problem on one set of tensors; call it to enqueue on torch's current stream."""

    def __init__(self, variant, q, k, v, out, lse, causal, scale, mask=None):
        kind = 0 if mask is None else 1 if mask.dtype == torch.bool else 2
        if mask is not None:  # strides of 0 where it repeats
            mask = mask.expand(q.shape[0], q.shape[1], q.shape[2], k.shape[2])
        p = Problem(
            struct_size=c.sizeof(Problem),
            abi_version=1,
            dtype=DTYPES[q.dtype],
            causal=CAUSAL[causal],
            mask=kind,
            batch=q.shape[0],
            heads_q=q.shape[1],
            heads_kv=k.shape[1],
            seq_q=q.shape[2],
            seq_kv=k.shape[2],
            dim=q.shape[3],
            dim_v=v.shape[3],
            q=strides_of(q),
            k=strides_of(k),
            v=strides_of(v),
            out=strides_of(out),
            mask_strides=strides_of(mask) if kind else Strides(0, 0, 0),
            scale=scale,
            want_lse=int(lse is not None),
            device=0,
        )
        self.variant, self.handle = variant, c.c_void_p()
        status = variant.lib.wb_sdpa_plan_create(c.byref(p), c.byref(self.handle))
        if status == UNSUPPORTED:
            raise Unsupported(variant.error())
        if status != 0:
            raise RuntimeError(f"{variant.name}: plan_create: {variant.error()}")
        size = variant.lib.wb_sdpa_workspace_bytes(self.handle)
        self.workspace = torch.zeros(size, dtype=torch.uint8, device="cuda") if size else None
        self.keep = (q, k, v, out, lse, mask)
        self.args = Args(
            struct_size=c.sizeof(Args),
            q=q.data_ptr(),
            k=k.data_ptr(),
            v=v.data_ptr(),
            mask=mask.data_ptr() if kind else None,
            out=out.data_ptr(),
            lse=lse.data_ptr() if lse is not None else None,
            workspace=self.workspace.data_ptr() if size else None,
            threads=1,
        )

    def __call__(self):
        self.args.stream = torch.cuda.current_stream().cuda_stream
        if self.variant.lib.wb_sdpa_forward(self.handle, c.byref(self.args)) != 0:
            raise RuntimeError(f"{self.variant.name}: forward: {self.variant.error()}")

    def close(self):
        if self.handle:
            self.variant.lib.wb_sdpa_plan_destroy(self.handle)
            self.handle = None
