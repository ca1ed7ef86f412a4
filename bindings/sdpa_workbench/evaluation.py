# SPDX-License-Identifier: MIT
"""Evaluations of a search in other threads, processes or machines.

`session.tune(..., executor=pool)` sends `evaluate` and a request to the pool for each configuration
that it wants to know. The process of the session owns the log and decides alone: it scores the
turns of a reply itself, and what looks best has its verdict and its figure from the session's own
device. So an evaluator that lies costs time and may hide the best, and makes no incumbent.
"""

from __future__ import annotations

import multiprocessing
import os
import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from typing import Any, Unpack

from . import errors
from .workbench import Workbench, WorkbenchOptions

_options: WorkbenchOptions = {}
_own = threading.local()


def use(**options: Unpack[WorkbenchOptions]) -> None:
    """What the workbenches of this process that evaluate are made with (see Workbench): the device,
    the cache, the compilers. For what has started already nothing changes."""
    global _options
    _options = options


def _workbench() -> Workbench:
    """One per thread, because an engine does one thing at a time; none survives a fork."""
    if getattr(_own, "process", None) != os.getpid():
        _own.workbench, _own.process = Workbench(**_options), os.getpid()
    return _own.workbench


def evaluate(request: Mapping[str, Any]) -> dict[str, Any]:
    """One evaluation: builds the request's variant, judges it, times it beside what is best so far.

    A function of the request and of this process's device alone, which must be of the same kind as
    the session's; nothing is kept but builds in the cache. The reply has the turns (us per call) of
    both sides, or the failure. Two at a time on one device wait for each other. Raises
    EnvironmentFault (another device or version than asked for), InvalidError and ParseError (no
    such request), Canceled.
    """
    if not isinstance(request, Mapping):
        raise errors.UsageError(f"a request is a dict, not {type(request).__name__}")
    return _workbench()._engine.evaluate(dict(request))


def _take_device(queue: Any) -> None:
    use(**queue.get())


def device_pool(devices: Sequence[Mapping[str, Any]]) -> ProcessPoolExecutor:
    """A pool with one process for each device, for `tune(..., executor=...)`.

    `devices` has the options of Workbench for each: `[{"gpu": 0}, {"gpu": 1}]`, or CPU sets that do
    not overlap, `[{"cpu_set": "0-7", "threads": 8}, {"cpu_set": "8-15", "threads": 8}]`. Processes
    are started anew, not forked: a script that makes one needs `if __name__ == "__main__":`.
    """
    if isinstance(devices, Mapping) or not devices:
        raise errors.UsageError("devices is a list with the options of each, at least one")
    for options in devices:
        Workbench(**options).close()  # report a wrong option here and not in a process that dies
    context = multiprocessing.get_context("spawn")
    queue = context.SimpleQueue()
    for options in devices:
        queue.put(dict(options))
    return ProcessPoolExecutor(
        len(devices), mp_context=context, initializer=_take_device, initargs=(queue,)
    )
