# SPDX-License-Identifier: MIT
"""The kernel ABI (docs/contracts/kernel_abi.md) by ctypes: a loaded artifact and its plans.

ctypes because the ABI is plain C: no compiler is needed where tensors are, the GIL is released
during a call, and a variant's library stays apart from the module `_core`, which never loads one.
"""

from __future__ import annotations

import ctypes
from ctypes import (
    POINTER,
    Structure,
    byref,
    c_char_p,
    c_double,
    c_int32,
    c_int64,
    c_size_t,
    c_void_p,
)

from . import errors
from ._forks import process

# That of a dense forward, all that calls ask for: artifacts of either version of the ABI take it.
ABI_VERSION = 1
OK, UNSUPPORTED = 0, 1
DTYPES = {"f32": 0, "f16": 1, "bf16": 2}
CAUSAL = {"none": 0, "top_left": 1, "bottom_right": 2}
MASKS = {"none": 0, "bool": 1, "additive": 2}


class Strides(Structure):
    _fields_ = [(name, c_int64) for name in ("batch", "head", "row")]


class Problem(Structure):
    """wb_sdpa_problem; what is not set is 0, as a dense forward has it."""

    _fields_ = [
        ("struct_size", c_size_t),
        *((name, c_int32) for name in ("abi_version", "dtype", "causal", "mask")),
        *((name, c_int64) for name in ("batch", "heads_q", "heads_kv", "seq_q", "seq_kv", "dim",
                                       "dim_v")),
        *((name, Strides) for name in ("q", "k", "v", "out", "mask_strides")),
        ("scale", c_double),
        ("want_lse", c_int32),
        ("device", c_int32),
        ("window_left", c_int64),
        ("window_right", c_int64),
        ("softcap", c_double),
        *((name, c_void_p) for name in ("cu_seqlens_q", "cu_seqlens_kv", "page_table")),
        ("page_size", c_int64),
        *((name, c_int32) for name in ("pass_", "dtype_out", "kv_shared", "has_window")),
        *((name, c_int64) for name in ("total_q", "total_kv", "total_pages",
                                       "page_table_stride")),
        *((name, Strides) for name in ("dout", "dq", "dk", "dv")),
        ("kv_lens", c_void_p),
    ]  # fmt: skip


class Args(Structure):
    """wb_sdpa_args."""

    _fields_ = [
        ("struct_size", c_size_t),
        *((name, c_void_p) for name in ("q", "k", "v", "mask", "out", "lse", "workspace",
                                        "stream")),
        ("threads", c_int32),
        *((name, c_void_p) for name in ("sink", "descale_q", "descale_k", "descale_v")),
    ]  # fmt: skip


class Library:
    """One artifact, never unloaded: threads of its plans may still run."""

    def __init__(self, path: str, artifact_id: str, label: str):
        self.label = label
        try:
            library = ctypes.CDLL(path)
            self._create = library.wb_sdpa_plan_create
            self._forward = library.wb_sdpa_forward
            self._workspace = library.wb_sdpa_workspace_bytes
            self._destroy = library.wb_sdpa_plan_destroy
            self._last_error = library.wb_sdpa_last_error
            build_id = library.wb_sdpa_build_id
        except (OSError, AttributeError) as fault:
            raise errors.DamagedError(f"cannot load {label} from {path}: {fault}") from fault
        self._create.argtypes = [POINTER(Problem), POINTER(c_void_p)]
        self._forward.argtypes = [c_void_p, POINTER(Args)]
        self._workspace.argtypes, self._workspace.restype = [c_void_p], c_size_t
        self._destroy.argtypes, self._destroy.restype = [c_void_p], None
        self._last_error.restype = build_id.restype = c_char_p
        got = (build_id() or b"").decode(errors="replace")
        if got != artifact_id:
            raise errors.DamagedError(
                f"cannot load {label} from {path}: it says that it is {got or 'nothing'}, and what "
                f"passed is {artifact_id}; remove that folder of the cache"
            )

    def failure(self, what: str, status: int) -> errors.WorkbenchError:
        words = (self._last_error() or b"it gave no reason").decode(errors="replace")
        kind = errors.InvalidError if status == UNSUPPORTED else errors.InternalError
        return kind(f"{what} of {self.label} returned {status}: {words}")


class Plan:
    """A plan for one problem, valid in the process that made it; the caller owns its workspace."""

    def __init__(self, library: Library, problem: Problem):
        self._library, self._handle, self._process = library, c_void_p(), process()
        problem.struct_size, problem.abi_version = ctypes.sizeof(Problem), ABI_VERSION
        status = library._create(byref(problem), byref(self._handle))
        if status != OK:
            self._handle = c_void_p()
            raise library.failure("wb_sdpa_plan_create", status)
        self.workspace_bytes = library._workspace(self._handle)
        self._args = Args(struct_size=ctypes.sizeof(Args))

    def run(self, q, k, v, mask, out, workspace, stream, threads):
        """Calls the plan with addresses; one call at a time."""
        args = self._args
        args.q, args.k, args.v, args.mask, args.out = q, k, v, mask, out
        args.workspace, args.stream, args.threads = workspace, stream, threads
        status = self._library._forward(self._handle, byref(args))
        if status != OK:
            raise self._library.failure("wb_sdpa_forward", status)

    def __del__(self):
        # A forked child does not free it, because the threads that would be joined are not there.
        if getattr(self, "_handle", None) and self._process == process():
            self._library._destroy(self._handle)
