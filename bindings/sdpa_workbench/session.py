# SPDX-License-Identifier: MIT
"""Session: one session's folder or archive and the verbs inside it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from concurrent.futures import Executor
from pathlib import Path
from typing import Any, Unpack

from . import errors
from ._loaded import _core
from ._program import Program
from ._remote_evaluator import RemoteEvaluator
from ._verbs_anywhere import AnywhereVerbs
from ._verbs_opening import OpenArguments, SessionOpening
from ._verbs_reading import ReadingVerbs
from ._verbs_session import SessionVerbs
from .evaluation import evaluate
from .progress import Callback, Listener
from .results import Answer, Ledger
from .workbench import PathName, Workbench, arguments_of, checked_path


def _in_playbook() -> frozenset[str]:
    return frozenset(verb["name"] for verb in _core.verb_table() if verb["in_playbook"])


class Session(SessionOpening, SessionVerbs, ReadingVerbs, AnywhereVerbs):
    """One session: `Session("folder")` reads it; the first verb that writes takes its lock. Of an
    archive (`NAME.tar.gz`) only the verbs that read are there.

    Every verb is a method. As a context manager it pauses at the end, with whatever exception, and
    the session can be resumed: its log is the truth, and nothing is kept in Python. `workbench`
    has the options and belongs to this session from then on; a `Workbench` holds one session.
    """

    def __init__(self, folder: PathName, *, workbench: Workbench | None = None):
        self.folder = Path(os.path.abspath(checked_path(folder, "the session's folder")))
        self.workbench = workbench or Workbench()
        self._playbook: frozenset[str] | None = None  # the verbs that are replayed, in a playbook

    @classmethod
    def _open(
        cls, folder: PathName | None, workbench: Workbench | None, arguments: Mapping[str, Any]
    ) -> Session:
        workbench = workbench or Workbench()
        answer = workbench.call("open", arguments, session=folder)
        return cls(answer["session"], workbench=workbench)

    @classmethod
    def resume(
        cls, folder: PathName, *, workbench: Workbench | None = None, replan: bool = False
    ) -> Session:
        """Goes on with an interrupted session: abandons what was in flight, measures a baseline
        that never ended again. A playbook of Lua is replayed and runs to its end."""
        workbench = workbench or Workbench()
        session = cls(folder, workbench=workbench)
        workbench.call("resume", {"replan": replan}, session=session.folder)
        return session

    @classmethod
    def resume_or_open(
        cls,
        folder: PathName,
        *,
        playbook: PathName,
        arguments: Mapping[str, Any] | None = None,
        seed: int = 0,
        replan: bool = False,
        workbench: Workbench | None = None,
        **open_arguments: Unpack[OpenArguments],
    ) -> Session:
        """For a script that is a playbook, `playbook=__file__`: run again, it goes on where it was.

        Where the session exists, its verbs are answered from the log while verb and arguments
        match, and run live after that; else it is opened with `open_arguments`. So the script must
        take no other way the second time: no clock, no random numbers but from `seed`. Raises
        InvalidError where the script, its `arguments` or `seed` changed, unless `replan`.
        """
        session = cls(folder, workbench=workbench)
        path = checked_path(playbook, "playbook")
        try:
            source = path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as fault:
            raise errors.NotFoundError(f"cannot read the playbook {path}: {fault}") from fault
        engine, own = session.workbench._engine, dict(arguments or {})
        listener = Listener(session.workbench.progress)
        named = (str(path), source, own, seed)
        if _core.is_session(session.folder):
            engine.resume_playbook(session.folder, *named, replan, listener)
        else:
            engine.open_playbook(dict(open_arguments), session.folder, *named, listener)
        session._playbook = _in_playbook()
        return session

    @property
    def replaying(self) -> bool:
        """Calls are answered from the log, in a script opened by resume_or_open()."""
        return self._playbook is not None and self.workbench._engine.replaying()

    @property
    def progress(self) -> Callback | None:
        """Called with a Progress while a verb runs."""
        return self.workbench.progress

    @progress.setter
    def progress(self, callback: Callback | None) -> None:
        self.workbench.progress = callback

    def call(
        self,
        verb: str,
        arguments: Mapping[str, Any] | None = None,
        *,
        request_id: str | None = None,
        executor: Executor | None = None,
        in_flight: int | None = None,
    ) -> Answer:
        """Any verb by its name, in this session. `executor` and `in_flight` are for `tune` and
        `race`: who evaluates what they search (evaluation.py)."""
        with RemoteEvaluator.of(executor, evaluate, in_flight) as evaluator:
            return self._call(verb, arguments, request_id, evaluator)

    def _call(
        self,
        verb: str,
        arguments: Mapping[str, Any] | None,
        request_id: str | None,
        evaluator: RemoteEvaluator | None,
    ) -> Answer:
        if self._playbook is not None and verb in self._playbook:
            engine = self.workbench._engine
            listener = Listener(self.workbench.progress)
            given = dict(arguments or {})
            return Answer(engine.playbook_call(verb, given, listener, Program(evaluator)))
        return self.workbench.call(
            verb, arguments, session=self.folder, request_id=request_id, evaluator=evaluator
        )

    def _verb(self, verb: str, given: dict[str, Any]) -> Answer:
        executor, in_flight = given.pop("executor", None), given.pop("in_flight", None)
        arguments, _, request_id = arguments_of(given)
        return self.call(
            verb, arguments, request_id=request_id, executor=executor, in_flight=in_flight
        )

    @property
    def ledger(self) -> Ledger:
        """What the session cost so far."""
        return Ledger.of(self.status()["cost"])

    @property
    def held(self) -> bool:
        """This process holds the session's lock."""
        return self.workbench._engine.session is not None

    def pause(self, reason: str = "paused by its Python program") -> None:
        """Releases the lock; what is in flight is abandoned. Any writing verb takes it again."""
        self.workbench._engine.pause(reason)

    def stop(self) -> None:
        """Ends the call that runs in another thread, as Ctrl-C does; it raises Canceled there."""
        self.workbench.stop()

    def __enter__(self) -> Session:
        return self

    def __exit__(self, kind: type[BaseException] | None, value: object, trace: object) -> None:
        if self.held:
            self.pause("finished for now" if kind is None else f"stopped by {kind.__name__}")
        self.workbench.close()

    def __repr__(self) -> str:
        return f"Session({str(self.folder)!r})"

    def _repr_markdown_(self) -> str:
        return self.brief()._repr_markdown_()

    def _repr_html_(self) -> str:
        return self.brief()._repr_html_()

    def __reduce__(self):
        raise TypeError(
            "a Session holds a lock and cannot be pickled or copied; "
            f"pass its folder and make Session({str(self.folder)!r}) there"
        )
