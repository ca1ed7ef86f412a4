# SPDX-License-Identifier: MIT
"""Workbench: one engine and what it works with. Sessions stand in session.py."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypedDict

from . import errors
from ._command import command
from ._forks import process
from ._loaded import _core
from ._program import Program
from ._remote_evaluator import RemoteEvaluator
from ._verbs_alone import AloneVerbs
from ._verbs_anywhere import AnywhereVerbs
from ._verbs_folder import FolderVerbs
from .progress import Callback, Listener, Progress
from .results import Answer, Kernel, Suite

__all__ = ["Progress", "Workbench"]

PathName = str | os.PathLike[str]


def checked_path(value: PathName, what: str) -> Path:
    """A path that the system accepts. Raises UsageError for anything else."""
    if not isinstance(value, (str, os.PathLike)):
        raise errors.UsageError(f"{what} must be a path, not {type(value).__name__}")
    text = os.fspath(value)
    if not isinstance(text, str):
        raise errors.UsageError(f"{what} must be text, not bytes")
    if not text or "\0" in text:
        raise errors.UsageError(f"{what} is {'empty' if not text else 'no path: it holds a NUL'}")
    return Path(text)


def checked_program(value: PathName | None, what: str) -> str | None:
    """A program as it was written, name or path: `./cc` is not `cc`. Raises UsageError."""
    if value is None:
        return None
    checked_path(value, what)
    return os.fspath(value)


def arguments_of(given: dict[str, Any]) -> tuple[dict[str, Any], PathName | None, str | None]:
    """The locals of a generated method: the verb's arguments, the session's folder, the request."""
    session, request_id = given.get("session"), given.get("request_id")
    skipped = ("self", "session", "request_id")
    named = {
        name.rstrip("_"): value
        for name, value in given.items()
        if name not in skipped and value is not None
    }
    return named, session, request_id


class WorkbenchOptions(TypedDict, total=False):
    """The options of Workbench, where they are passed on."""

    path: Sequence[PathName]
    sessions: PathName | None
    cache: PathName | None
    compiler: PathName | None
    nvcc: PathName | None
    host_compiler: PathName | None
    allow_include: Sequence[PathName]
    python: PathName | None
    worker: PathName | None
    transport: Sequence[str]
    gpu: int | None
    threads: int | None
    cpu_set: str | None
    isolation: str | None
    device_lock: PathName | None
    progress: Callback | None


class Workbench(FolderVerbs, AnywhereVerbs, AloneVerbs):
    """One engine, with a method for each verb that needs no session held.

    Options are those of the command line (docs/guide/command_line.md), None for its defaults:
    `path` (folders with kernels/ and playbooks/), `sessions` (where new ones go), `cache`,
    `compiler`, `nvcc`, `host_compiler`, `allow_include`, `python` (of Python subjects; here: this
    interpreter), `worker`, `transport`, `gpu`, `threads`, `cpu_set`, `isolation`, `device_lock`.
    `progress` is called with a Progress while a verb runs.

    An engine runs one call at a time, on a thread of its own and without the GIL; calls of other
    threads wait. Ctrl-C, stop(), or an exception of `progress` ends a call in order: what is in
    flight is closed as abandoned, the session can be resumed. It does not survive a fork: make a
    new one in the child (what `tensors` loaded does that by itself). Errors: WorkbenchError and its
    subclasses (errors.py).
    """

    def __init__(
        self,
        *,
        path: Sequence[PathName] = (),
        sessions: PathName | None = None,
        cache: PathName | None = None,
        compiler: PathName | None = None,
        nvcc: PathName | None = None,
        host_compiler: PathName | None = None,
        allow_include: Sequence[PathName] = (),
        python: PathName | None = None,
        worker: PathName | None = None,
        transport: Sequence[str] = (),
        gpu: int | None = None,
        threads: int | None = None,
        cpu_set: str | None = None,
        isolation: str | None = None,
        device_lock: PathName | None = None,
        progress: Callback | None = None,
    ):
        if isinstance(path, (str, os.PathLike)) or isinstance(allow_include, (str, os.PathLike)):
            raise errors.UsageError("path and allow_include are lists of folders")
        self._options = {
            "path": [checked_path(item, "path") for item in path],
            "sessions": None if sessions is None else checked_path(sessions, "sessions"),
            "cache": None if cache is None else checked_path(cache, "cache"),
            "compiler": checked_program(compiler, "compiler"),
            "nvcc": checked_program(nvcc, "nvcc"),
            "host_compiler": checked_program(host_compiler, "host_compiler"),
            "allow_include": [checked_path(item, "allow_include") for item in allow_include],
            "python": checked_program(python, "python") or sys.executable,
            "worker": checked_program(worker, "worker"),
            "transport": list(transport),
            "gpu": gpu,
            "threads": threads,
            "cpu_set": cpu_set,
            "isolation": isolation,
            "device_lock": None if device_lock is None else os.fspath(device_lock),
        }
        self.progress = progress
        self._process = process()
        self._heir: Workbench | None = None
        try:
            self._engine = _core.Engine(Path(command()).parent, **self._options)
        except (TypeError, ValueError, RuntimeError) as fault:
            raise errors.UsageError(f"cannot use the options: {fault}") from fault

    def another(self) -> Workbench:
        """A workbench with the same options and an engine of its own."""
        made = object.__new__(type(self))
        made._options, made.progress = self._options, self.progress
        made._process, made._heir = process(), None
        made._engine = _core.Engine(Path(command()).parent, **self._options)
        return made

    def start(self) -> None:
        """Makes the engine, else made by the first call: wrong options are refused here. Errors:
        UsageError, naming the option."""
        self._here()._engine.start()

    def _here(self) -> Workbench:
        """This workbench; in a process forked since, another with its options, kept for the next
        call."""
        if self._process == process():
            return self
        heir = self._heir
        if heir is None or heir._process != process():
            heir = self._heir = self.another()
        return heir

    def call(
        self,
        verb: str,
        arguments: Mapping[str, Any] | None = None,
        *,
        session: PathName | None = None,
        request_id: str | None = None,
        evaluator: RemoteEvaluator | None = None,
    ) -> Answer:
        """Any verb by its name, as tools do. A repeated `request_id` gets the first answer.
        `evaluator` is Session's own affair."""
        if not isinstance(verb, str):
            raise errors.UsageError(f"a verb is a str, not {type(verb).__name__}")
        if arguments is not None and not isinstance(arguments, Mapping):
            raise errors.UsageError(f"arguments are a dict, not {type(arguments).__name__}")
        if request_id is not None and not isinstance(request_id, str):
            raise errors.UsageError(f"request_id is a str, not {type(request_id).__name__}")
        folder = "" if session is None else checked_path(session, "session")
        return Answer(
            self._engine.call(
                verb,
                dict(arguments or {}),
                folder,
                request_id,
                Listener(self.progress),
                Program(evaluator),
            )
        )

    def _verb(self, verb: str, given: dict[str, Any]) -> Answer:
        arguments, session, request_id = arguments_of(given)
        return self.call(verb, arguments, session=session, request_id=request_id)

    def catalogue(self) -> tuple[Kernel, ...]:
        """The kernels that can be found, with their parameters."""
        found = self.kernels()["kernels"]
        return tuple(Kernel.of(self.kernels(kernel["name"])["kernels"][0]) for kernel in found)

    def variants(self) -> tuple[Kernel, ...]:
        """The older name of catalogue()."""
        warnings.warn("variants() is catalogue() now", DeprecationWarning, stacklevel=2)
        return self.catalogue()

    def suite(self, name: str) -> Suite:
        """A suite with its problems."""
        return Suite.of(self.suites(name)["suites"][0])

    def stop(self) -> None:
        """Ends the call that runs in another thread, as Ctrl-C does; it raises Canceled there."""
        self._engine.stop()

    def close(self) -> None:
        """Stops what runs and ends the engine. Sessions keep all that was logged."""
        self._engine.close()

    def __enter__(self) -> Workbench:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __reduce__(self):
        raise TypeError(
            "a Workbench holds a thread and cannot be pickled or copied; make one there"
        )
