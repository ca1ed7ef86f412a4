# SPDX-License-Identifier: MIT
"""Variant: an artifact with a recorded pass, loaded into this process and called on tensors."""

from __future__ import annotations

import ctypes
import os
import sys
import threading
from collections.abc import Mapping
from contextlib import nullcontext
from typing import Any

from . import _tensor_abi as abi
from . import _tensor_problem as problems
from . import errors
from ._forks import ends_with_its_threads, process
from ._tensor_errors import DeviceError, DomainError
from ._tensor_views import CALL, empty_result, is_torch, like_given, tell_written
from .workbench import PathName, Workbench, checked_path

MOST_PLANS = 256
MOST_THREADS = 4096
ALIGNMENT = 256


def load(
    variant: str,
    *,
    session: PathName,
    configuration: Mapping[str, int] | None = None,
    workbench: Workbench | None = None,
    threads: int | None = None,
) -> Variant:
    """The artifact of `variant` (a label, or a kernel's name: the best of it) that passed in
    `session`. Raises NotFoundError where there is no whole pass, WrongResultError where a verdict
    failed, EnvironmentFault where the very artifact that passed cannot be had here, DeviceError
    where it passed on another device."""
    workbench = workbench or Workbench()
    folder = checked_path(session, "session")
    arguments: dict[str, Any] = {"variant": variant}
    if configuration is not None:
        arguments["configuration"] = dict(configuration)
    proof = workbench.call("proof", arguments, session=folder)
    return Variant(proof, workbench, threads)


def _thread_count(given: Any) -> int:
    """An int, or a value equal to one: 2.0, numpy.int64(2)."""
    try:
        is_whole = not isinstance(given, (str, bytes, bool)) and int(given) == given
    except (TypeError, ValueError, OverflowError):
        is_whole = False
    if not is_whole or not 1 <= given <= MOST_THREADS:
        raise errors.UsageError(
            f"threads must be a whole number from 1 to {MOST_THREADS}, not {given!r}"
        )
    return int(given)


class Variant:
    """A loaded artifact; `load` makes it. May be called from several threads, and in processes that
    were forked from the one that loaded it.

    `label`, `session`, `domain` (what its passes cover), `proof` (the whole answer of `proof`).
    """

    def __init__(self, proof: Mapping[str, Any], workbench: Workbench, threads: int | None):
        self.proof, self._workbench = proof, workbench
        self.label, self.session, self.domain = proof["variant"], proof["session"], proof["domain"]
        self._threads = None if threads is None else _thread_count(threads)
        self._on_gpu = proof["backend"] == "cuda"
        if not self._on_gpu:
            self._require_device(problems.cpu_name())
        self._library = abi.Library(proof["library"], proof["artifact_id"], self.label)
        self._covered: dict[str, str | None] = {}
        self._plans = _Plans()

    def __call__(
        self,
        q: Any,
        k: Any,
        v: Any,
        *,
        mask: Any = None,
        causal: bool | str = False,
        scale: float | None = None,
        out: Any = None,
    ) -> Any:
        """softmax(scale * q k^T + mask) v.

        q [B, Hq, Sq, D], k [B, Hkv, Skv, D], v [B, Hkv, Skv, Dv]: of one dtype (f32, f16, bf16) and
        device, last stride 1, any other strides, so that a transposed [B, S, H, D] costs nothing.
        Query head h reads key head h // (Hq // Hkv). `mask` broadcasts to [B, Hq, Sq, Skv] but in
        Skv; bool (True keeps) or of q's dtype (added to the scores). `causal`: False or "none",
        True or "top_left" (k <= q, PyTorch's is_causal), "bottom_right" (k <= q + Skv - Sq). A row
        that sees no key is 0. `scale` defaults to D ** -0.5.

        Gives [B, Hq, Sq, Dv] in q's layout, of q's library; `out` takes it instead. Nothing is
        copied. On a GPU it is enqueued on PyTorch's current stream. Raises DtypeError, DeviceError,
        ShapeError, LayoutError, GradientError, and DomainError where no pass covers the problem.
        """
        given = q
        call = problems.Call.of(q, k, v, mask, causal, scale, out)
        self._require_place(call)
        problems.check_layout(call, self._on_gpu)
        if reason := self.why_outside(call.text):
            raise DomainError(CALL, call.text, reason, f"{self.label} passed elsewhere: sdpa() "
                              "has a fallback, `check` in a session widens the domain")  # fmt: skip
        result = call.out
        if result is None:
            result = empty_result(call.tensors["q"], call.out_shape, call.rows_first)
        self._run(call, result)
        tell_written(call.out)
        return out if out is not None else like_given(given, result)

    def why_outside(self, problem: str) -> str | None:
        """Why the recorded passes do not cover the problem (its text form), or None."""
        if problem not in self._covered:
            answer = self._workbench._here().call(
                "proof", {"variant": self.label, "problem": problem}, session=self.session
            )
            self._covered[problem] = None if answer["takes"] else answer["reason"]
        return self._covered[problem]

    def _require_device(self, here: str) -> None:
        if here != self.proof["device"]:
            raise DeviceError("load", self.label,
                              f"it passed on {self.proof['device']}, and this is {here}",
                              "judge it here, in a session, and load it from that")  # fmt: skip

    def _require_place(self, call: problems.Call) -> None:
        device = call.views["q"].device
        if self._on_gpu != device.startswith("cuda"):
            raise DeviceError(CALL, f"tensors on {device}", f"{self.label} runs on a "
                              f"{'GPU' if self._on_gpu else 'CPU'}", "move them")  # fmt: skip
        if self._on_gpu:
            self._require_device(problems.gpu_name(device))

    def _run(self, call: problems.Call, result: Any) -> None:
        out = problems.out_view(call, result)
        stream, capturing, guard = _stream_of(call)
        with guard:
            ready = self._ready(call, out, stream, capturing)
            addresses = [call.views[name].address for name in ("q", "k", "v")]
            mask = call.views.get("mask")
            with ready.lock:
                try:
                    ready.plan.run(*addresses, mask.address if mask else None, out.address,
                                   ready.address, stream, self._thread_count())  # fmt: skip
                except Exception:
                    ready.clear()
                    raise

    def _ready(self, call: problems.Call, out: Any, stream: int | None, capturing: bool) -> _Ready:
        key = (call.key, out.strides, stream)
        plans = self._plans
        if plans.process != process():
            plans = self._plans = _Plans()
        with plans.lock:
            ready = None if capturing else plans.ready.get(key)
            if ready is None:
                plan = self._plan(call, out)
                ready = _Ready(plan, call.tensors["q"])
                if capturing:
                    plans.captured.append(ready)
                    return ready
                if len(plans.ready) >= MOST_PLANS:
                    plans.ready.clear()  # bounds memory if shapes never repeat
                plans.ready[key] = ready
            return ready

    def _plan(self, call: problems.Call, out: Any) -> abi.Plan:
        problem = problems.abi_problem(call, out)
        if not ends_with_its_threads():
            return abi.Plan(self._library, problem)
        allowed = os.sched_getaffinity(0)
        os.sched_setaffinity(0, {min(allowed)})  # a kernel's pool has a thread for each CPU
        try:
            return abi.Plan(self._library, problem)
        finally:
            os.sched_setaffinity(0, allowed)

    def _thread_count(self) -> int:
        if ends_with_its_threads():
            return 1
        if self._threads is not None:
            return self._threads
        torch = sys.modules.get("torch")
        return torch.get_num_threads() if torch else len(os.sched_getaffinity(0))

    def __repr__(self) -> str:
        return f"<Variant {self.label} of {self.session}>"

    def __reduce__(self):
        raise TypeError(f"{self.label} is loaded in this process; load it where it is needed")


class _Plans:
    """The plans that one process has made; a forked child makes its own."""

    def __init__(self):
        self.process, self.lock = process(), threading.Lock()
        self.ready: dict[Any, _Ready] = {}
        self.captured: list[_Ready] = []  # graphs replay into their workspaces


class _Ready:
    """A plan with its workspace, zeroed, and the lock under which it is called."""

    def __init__(self, plan: abi.Plan, q: Any):
        self.plan, self.lock = plan, threading.Lock()
        self._memory: Any = None
        self.address: int | None = None
        size = plan.workspace_bytes + ALIGNMENT
        if not plan.workspace_bytes:
            return
        if is_torch(q) and q.is_cuda:
            self._memory = q.new_zeros((size,), dtype=sys.modules["torch"].uint8)
            start = self._memory.data_ptr()
        else:
            self._memory = ctypes.create_string_buffer(size)
            start = ctypes.addressof(self._memory)
        self.address = -(-start // ALIGNMENT) * ALIGNMENT

    def clear(self) -> None:
        if isinstance(self._memory, ctypes.Array):
            ctypes.memset(self._memory, 0, len(self._memory))
        elif self._memory is not None:
            self._memory.zero_()


def _stream_of(call: problems.Call) -> tuple[int | None, bool, Any]:
    """PyTorch's current stream, whether a graph is captured on it, and a guard for the device."""
    q = call.tensors["q"]
    if not is_torch(q) or not q.is_cuda:
        return None, False, nullcontext()
    cuda = sys.modules["torch"].cuda
    stream = cuda.current_stream(q.device).cuda_stream
    return stream, cuda.is_current_stream_capturing(), cuda.device(q.device)
