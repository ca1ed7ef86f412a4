# SPDX-License-Identifier: MIT
"""RemoteEvaluator: runs the evaluations of one call of `tune` or `race` on an executor."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, Executor, Future, wait
from typing import Any

from . import errors

Evaluate = Callable[[Mapping[str, Any]], dict[str, Any]]

IN_FLIGHT_MAX = 1000
REPLY_MAX_BYTES = 8 << 20


def _words(fault: BaseException) -> str:
    """The exception's message, as valid text for any reader."""
    try:
        said = str(fault)
    except Exception:
        said = "it cannot say why"
    text = f"{type(fault).__name__}: {said}".replace("\0", " ")[:2000]
    return text.encode("utf-8", "replace").decode()


def _plain(reply: object) -> dict[str, Any]:
    """The reply as JSON text, or why it is invalid; an evaluator may return anything."""
    if not isinstance(reply, dict):
        return {"fault": f"its reply is a {type(reply).__name__}, not a dict"}
    try:
        text = json.dumps(reply, allow_nan=False)
    except Exception as fault:  # a subclass may raise anything
        return {"fault": f"its reply is no JSON: {_words(fault)}"}
    if len(text) > REPLY_MAX_BYTES:
        return {"fault": f"its reply is too large ({len(text)} bytes of {REPLY_MAX_BYTES})"}
    return {"text": text}


def _told(future: Future[Any]) -> dict[str, Any]:
    if future.cancelled():
        return {"fault": "it was cancelled"}
    fault = future.exception()
    return _plain(future.result()) if fault is None else {"fault": _words(fault)}


class RemoteEvaluator:
    """Sends requests to an executor and hands back what came, in the order of coming. `evaluate`
    answers one request there (evaluation.evaluate).

    An evaluation that fails is a fault with its reason, and the search asks again. What the
    executor's `submit` raises (it was shut down, its processes died) passes through and stops the
    verb in order, so that the session can be resumed with another executor.
    """

    def __init__(self, executor: Executor, evaluate: Evaluate, in_flight: int | None = None):
        if not isinstance(executor, Executor):
            raise errors.UsageError(
                f"executor must be one of concurrent.futures, not {type(executor).__name__} "
                "(of a dask Client: client.get_executor())"
            )
        processes = getattr(executor, "_mp_context", None)
        if processes is not None and processes.get_start_method() == "fork":
            raise errors.UsageError(
                "its processes would be forked and hold the session's files and lock: take "
                'device_pool(), or mp_context=multiprocessing.get_context("spawn")'
            )
        if in_flight is None:
            workers = getattr(executor, "_max_workers", None)
            in_flight = workers if isinstance(workers, int) and workers > 0 else 4
            in_flight = min(in_flight, IN_FLIGHT_MAX)
        if not isinstance(in_flight, int) or not 1 <= in_flight <= IN_FLIGHT_MAX:
            raise errors.UsageError(f"in_flight must be 1 to {IN_FLIGHT_MAX}, not {in_flight!r}")
        self.in_flight = in_flight
        self._executor, self._evaluate = executor, evaluate
        self._futures: dict[int, Future[Any]] = {}

    @classmethod
    @contextlib.contextmanager
    def of(
        cls, executor: Executor | None, evaluate: Evaluate, in_flight: int | None
    ) -> Iterator[RemoteEvaluator | None]:
        """The evaluator of one call, or None without an executor. Evaluations still running at its
        end are ignored."""
        if executor is None:
            if in_flight is not None:
                raise errors.UsageError("in_flight says how much an executor gets: name one")
            yield None
            return
        evaluator = cls(executor, evaluate, in_flight)
        try:
            yield evaluator
        finally:
            evaluator.forget()

    def start(self, number: int, request: Mapping[str, Any]) -> None:
        self._futures[number] = self._executor.submit(self._evaluate, request)

    def ended(self, patience_s: float) -> list[dict[str, Any]]:
        """The evaluations that ended since the last call; waits up to `patience_s` for the
        first."""
        wait(self._futures.values(), timeout=patience_s, return_when=FIRST_COMPLETED)
        told, size = [], 0
        for number in [number for number, future in self._futures.items() if future.done()]:
            if size > REPLY_MAX_BYTES // 2:
                break  # the next call returns the others
            told.append({"number": number} | _told(self._futures.pop(number)))
            size += len(told[-1].get("text", ""))
        return told

    def cancel(self) -> None:
        """Cancels evaluations that have not started; they are reported as a fault."""
        for future in self._futures.values():
            future.cancel()

    def forget(self) -> None:
        self.cancel()
        self._futures.clear()
