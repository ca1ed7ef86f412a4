# SPDX-License-Identifier: MIT
"""sdpa(): the variant that the dispatch rules choose for the tensors, or the correct fallback."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from . import _tensor_problem as problems
from . import _tensor_subject as subject
from . import errors
from ._forks import lost_torch_threads
from ._tensor_errors import LayoutError
from ._tensor_variant import Variant, load
from ._tensor_views import is_numpy, is_torch, like_given
from .workbench import PathName, Workbench, checked_path


@dataclass(frozen=True)
class Choice:
    """What answered. `rule`: its place in kernels/dispatch.json, from 1, and None of the fallback;
    `reason`: why the fallback, or ""."""

    rule: int | None
    variant: str
    session: str | None
    reason: str

    @property
    def is_fallback(self) -> bool:
        return self.rule is None


class Dispatch:
    """Attention by the rules of kernels/dispatch.json.

    The first rule that takes the problem on this device, and whose variant has a recorded pass that
    covers it and can be loaded here, answers: from the rule's own session, or from those in
    `proofs`, where variants were judged here. Where no rule does, PyTorch's
    scaled_dot_product_attention answers; without PyTorch, plain NumPy. `counts` and `last` tell.
    """

    def __init__(
        self,
        *,
        proofs: Sequence[PathName] = (),
        workbench: Workbench | None = None,
        threads: int | None = None,
    ):
        self._workbench = workbench or Workbench()
        self._proofs = [str(checked_path(folder, "proofs").absolute()) for folder in proofs]
        self._threads = threads
        self._choices: dict[tuple[str, str], Choice] = {}
        self._loaded: dict[tuple[str, str], Variant] = {}
        self.counts = {"kernel": 0, "fallback": 0}
        self.last: Choice | None = None

    def __call__(
        self,
        q: Any,
        k: Any,
        v: Any,
        *,
        mask: Any = None,
        causal: bool | str = False,
        scale: float | None = None,
    ) -> Any:
        """As `Variant.__call__`, without DomainError and LayoutError: the fallback takes all."""
        call = problems.Call.of(q, k, v, mask, causal, scale, None)
        choice = self._choose(call)
        if not choice.is_fallback:
            variant = self._loaded[choice.variant, choice.session]
            out = variant(q, k, v, mask=mask, causal=causal, scale=scale)
        else:
            out = like_given(q, fallback(call))
        self.last = choice
        self.counts["fallback" if choice.is_fallback else "kernel"] += 1
        return out

    def choose(
        self,
        q: Any,
        k: Any,
        v: Any,
        *,
        mask: Any = None,
        causal: bool | str = False,
        scale: float | None = None,
    ) -> Choice:
        """The choice for these tensors; runs nothing."""
        return self._choose(problems.Call.of(q, k, v, mask, causal, scale, None))

    def adopt(
        self,
        q: Any,
        k: Any,
        v: Any,
        *,
        mask: Any = None,
        causal: bool | str = False,
        scale: float | None = None,
    ) -> Choice:
        """Has a rule that is offered here for such tensors (`Choice.reason` says so) built, judged
        and timed, once; it serves from then on where it passed and nothing was faster. Takes a
        minute or so, on a machine that is quiet. Returns what answers now."""
        call = problems.Call.of(q, k, v, mask, causal, scale, None)
        backend = "cpu" if call.views["q"].device == "cpu" else "cuda"
        self._workbench._here().call("dispatch_adopt", {"problem": call.text, "backend": backend})
        self._choices.clear()
        return self._choose(call)

    def write_kernel(self, folder: PathName, *, fallback: bool = False) -> Path:
        """Writes a kernel (its name is the folder's last) whose call is this dispatch's, so that
        sessions judge and time it like any other: with what choosing costs. Problems that no rule
        serves count as not supported; with `fallback` the fallback answers them. It names places of
        this machine: the package, the rules, the proofs and the cache. Raises UsageError for a name
        that no kernel has, FileExistsError where something is there."""
        place = Path(checked_path(folder, "folder")).absolute()
        best = self._workbench._here().call(
            "best", {"problem": subject.ANY_PROBLEM, "device": "any"}
        )
        subject.write_kernel(place, self._workbench._options, best, self._proofs, fallback)
        return place

    def _choose(self, call: problems.Call) -> Choice:
        device = call.views["q"].device
        try:
            problems.check_layout(call, device != "cpu")
        except LayoutError as fault:
            return _no_rule(fault.details["cause"])
        name = problems.cpu_name() if device == "cpu" else problems.gpu_name(device)
        key = (call.text, name)
        if key not in self._choices:
            self._choices[key] = self._ask(call.text, name, device)
        return self._choices[key]

    def _ask(self, problem: str, name: str, device: str) -> Choice:
        arguments = {"problem": problem, "device": name, "proven": True, "proofs": self._proofs}
        workbench = self._workbench._here()
        try:
            best = workbench.call("best", arguments)
            label, session = best["proof"]["variant"], best["proof"]["session"]
            if (label, session) not in self._loaded:
                self._loaded[label, session] = load(
                    label, session=session, workbench=workbench, threads=self._threads
                )
        except (errors.NotFoundError, errors.UsageError) as fault:
            return _no_rule(fault.details.get("cause", fault.message))
        if self._loaded[label, session]._on_gpu == (device == "cpu"):
            return _no_rule(f"{label} runs on another kind of device")
        return Choice(best["rule"], label, session, "")


def _no_rule(reason: str) -> Choice:
    name = "torch" if _has_torch() else "numpy"
    return Choice(None, name, None, reason)


@functools.cache
def _has_torch() -> bool:
    try:
        import torch  # noqa: F401
    except ImportError:
        return False
    return True


@functools.cache
def _default() -> Dispatch:
    return Dispatch()


def forget_choices() -> None:
    """The next sdpa() asks the rules anew: one was adopted."""
    if _default.cache_info().currsize:
        _default()._choices.clear()


def sdpa(
    q: Any,
    k: Any,
    v: Any,
    *,
    mask: Any = None,
    causal: bool | str = False,
    scale: float | None = None,
    dispatch: Dispatch | None = None,
) -> Any:
    """Attention by `dispatch` (default: one of this process, without further proofs). Arguments and
    result as of `Variant.__call__`; `dispatch.last` tells which rule answered."""
    return (dispatch or _default())(q, k, v, mask=mask, causal=causal, scale=scale)


def fallback(call: problems.Call) -> Any:
    """Attention by PyTorch, else by NumPy, in q's layout. A row without a visible key is 0."""
    if not is_torch(call.tensors["q"]) and not _has_torch():
        return _by_numpy(call)
    import torch

    if not lost_torch_threads():
        return _with_torch(call)
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        return _with_torch(call)
    finally:
        torch.set_num_threads(threads)


def _with_torch(call: problems.Call) -> Any:
    import torch

    q = call.tensors["q"]
    if is_torch(q):
        return _by_torch(call, call.tensors)

    def shared(
        array,
    ):  # PyTorch knows no bfloat16 of NumPy's, nor what is read-only or runs backward
        is_plain = array.flags.writeable and min(array.strides) >= 0
        array = array if is_plain else array.copy()
        if array.dtype.name != "bfloat16":
            return torch.from_numpy(array)
        return torch.from_numpy(array.view("uint16")).view(torch.bfloat16)

    out = _by_torch(call, {name: shared(tensor) for name, tensor in call.tensors.items()})
    return out.view(torch.uint16).numpy().view(q.dtype) if out.dtype == torch.bfloat16 else (
        out.numpy()
    )  # fmt: skip


def _by_torch(call: problems.Call, tensors: dict[str, Any]) -> Any:
    import torch
    from torch.nn.functional import scaled_dot_product_attention

    q, k, v = (tensors[name] for name in ("q", "k", "v"))
    mask, is_causal = tensors.get("mask"), call.causal == "top_left"
    if call.causal == "bottom_right" or (is_causal and mask is not None):
        rows, keys = q.shape[2], k.shape[2]
        keep = torch.ones((rows, keys), dtype=torch.bool, device=q.device)
        keep = keep.tril(0 if is_causal else keys - rows)
        is_causal = False
        if mask is None:
            mask = keep
        elif mask.dtype == torch.bool:
            mask = mask & keep
        else:
            mask = mask.masked_fill(~keep, float("-inf"))
    out = scaled_dot_product_attention(
        q, k, v, attn_mask=mask, is_causal=is_causal, scale=call.scale,
        enable_gqa=q.shape[1] != k.shape[1],
    )  # fmt: skip
    if mask is not None:
        keep = mask if mask.dtype == torch.bool else ~mask.isneginf()
        out = out.masked_fill(~keep.any(-1, keepdim=True), 0.0)
    return out.transpose(1, 2).contiguous().transpose(1, 2) if call.rows_first else out.contiguous()


def _by_numpy(call: problems.Call) -> Any:
    """In f32; where PyTorch is not installed."""
    import numpy

    q, k, v = (call.tensors[name].astype(numpy.float32) for name in ("q", "k", "v"))
    k, v = (numpy.repeat(x, q.shape[1] // k.shape[1], axis=1) for x in (k, v))
    scores = q @ k.swapaxes(-1, -2) * numpy.float32(call.scale)
    keep = numpy.ones(scores.shape[-2:], bool)
    if call.causal != "none":
        top = call.causal == "top_left"
        keep = numpy.tril(keep, 0 if top else scores.shape[-1] - scores.shape[-2])
    mask = call.tensors.get("mask")
    if mask is not None and mask.dtype == bool:
        keep = keep & mask
    elif mask is not None:
        scores = scores + mask.astype(numpy.float32)
    scores = numpy.where(keep, scores, -numpy.inf)
    peak = scores.max(-1, keepdims=True)
    weights = numpy.exp(scores - numpy.where(numpy.isfinite(peak), peak, 0))
    total = weights.sum(-1, keepdims=True)
    out = (weights @ v / numpy.where(total == 0, 1, total)).astype(call.tensors["q"].dtype)
    assert is_numpy(out)
    return out.swapaxes(1, 2).copy().swapaxes(1, 2) if call.rows_first else out
