# SPDX-License-Identifier: MIT
"""The workbench as tools for an agent: `list_tools()` for its model, `call()` for what it answers.

    from sdpa_workbench import tools

    with tools.Toolbox("sessions/mine") as box:
        schemas = box.list_tools(style="anthropic")
        answer = box.call("propose", {"edits": [{"path": "kernel.cpp", "search": …}]})

A call never raises for what an agent did: its answer is a dict with `is_error` and either `result`
or `code`, `message` and `fixable`. docs/guide/agents.md is the way in.
"""

from __future__ import annotations

import difflib
import json
import os
import re
import threading
import time
import uuid
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from . import _tool_jobs, _tool_results, errors
from . import _tool_schemas as schemas
from ._loaded import _core
from ._tool_schemas import list_tools
from .session import Session
from .workbench import PathName, Workbench, checked_path

__all__ = ["Toolbox", "call", "list_tools"]

Answer = dict[str, Any]

MOST_ARGUMENT_BYTES = 8 << 20
SLICE_S = 0.05  # seconds between two checks of a job
LOOK_S = 1.0  # a job can end without an event
SHORT_S = 1.0  # seconds to wait for the lock
BEGIN_S = 60.0  # seconds to wait for a job's start; get_job tells the rest
ITERATION = re.compile(r"i[0-9]{1,9}")


class Toolbox:
    """One session's tools. Holds no lock between calls and keeps nothing that the log does not
    have: another Toolbox, of another process too, can go on at any moment. For several threads.

    `session`: its folder, or a Session, whose workbench is then used; one that it holds is paused.
    `toolset`: what may be called, "core" or "full". `max_bytes`: of a result as JSON. `wait_s`: how
    long a long call is waited for where it does not say so itself.
    """

    def __init__(
        self,
        session: PathName | Session,
        *,
        workbench: Workbench | None = None,
        toolset: str = "full",
        max_bytes: int = 4096,
        wait_s: float = 10.0,
    ):
        if isinstance(session, Session):
            if session.held:
                session.pause("its tools were handed to an agent")
            workbench, session = workbench or session.workbench, session.folder
        self.folder = Path(os.path.abspath(checked_path(session, "the session's folder")))
        self._names = frozenset(schemas.names_of(toolset))
        self.toolset = toolset
        if not isinstance(max_bytes, int) or not 512 <= max_bytes <= 1 << 20:
            raise errors.UsageError("max_bytes must be an integer from 512 to 1048576")
        self.max_bytes, self.wait_s = max_bytes, schemas.checked_wait(wait_s, 10.0)
        self._bench = (workbench or Workbench()).another()
        self._writes = threading.Lock()
        self._jobs: dict[str, _tool_jobs.Job] = {}

    def list_tools(self, style: str = "openai") -> list[dict[str, Any]]:
        """Its tools as an API of `style` wants them."""
        return list_tools(style, self.toolset)

    def call(self, name: str, arguments: Mapping[str, Any] | str | None = None) -> Answer:
        """Answers one call. `arguments`: a dict, or the JSON text that a model wrote."""
        try:
            self._known(name)
            given = self._read(arguments)
            request = schemas.checked_request(
                given.pop("request_id", None) if schemas.mutates(name) else None
            )
            wait_s = self.wait_s
            if schemas.is_long(name):
                wait_s = schemas.checked_wait(given.pop("wait_s", None), self.wait_s)
            return self._run(name, schemas.verb_arguments(name, given), request, wait_s)
        except errors.WorkbenchError as fault:
            return _tool_results.of_error(fault, self.max_bytes)
        except Exception as fault:  # an agent's call must not end its harness
            words = f"a fault of the tools: {type(fault).__name__}: {fault}"
            return _tool_results.failed("internal", words, self.max_bytes)

    def close(self) -> None:
        """Ends the engine. Jobs continue."""
        self._bench.close()

    def __enter__(self) -> Toolbox:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _known(self, name: object) -> None:
        if isinstance(name, str) and name in self._names:
            return
        near = difflib.get_close_matches(str(name)[:64], self._names, 1)
        then = f"did you mean {near[0]}?" if near else f"tools: {', '.join(sorted(self._names))}"
        raise errors.UsageError(f"there is no tool {str(name)[:64]!r}; {then}")

    @staticmethod
    def _read(arguments: Mapping[str, Any] | str | None) -> dict[str, Any]:
        """A copy as plain JSON. Raises UsageError, LimitError."""
        if isinstance(arguments, str):
            if len(arguments) > MOST_ARGUMENT_BYTES:
                raise _too_large(len(arguments))
            try:
                arguments = json.loads(arguments or "{}", object_pairs_hook=_no_doubles)
            except (ValueError, RecursionError) as fault:
                raise errors.UsageError(f"the arguments are not JSON: {str(fault)[:200]}") from None
        if arguments is None:
            return {}
        if not isinstance(arguments, Mapping):
            kind = type(arguments).__name__
            raise errors.UsageError(f"the arguments must be a JSON object, not {kind}")
        try:
            text = json.dumps(dict(arguments), allow_nan=False)
        except (TypeError, ValueError, RecursionError) as fault:
            raise errors.UsageError(f"the arguments are not JSON: {str(fault)[:200]}") from None
        if len(text) > MOST_ARGUMENT_BYTES:
            raise _too_large(len(text))
        return json.loads(text)

    def _run(self, name: str, given: Answer, request: str | None, wait_s: float) -> Answer:
        if name == "get_job":
            return self._get_job(given)
        given = _core.check_arguments(name, given)
        if name == "read_ref":
            return self._read_ref(given)
        if schemas.is_long(name) and (name != "diagnose" or given.get("measure")):
            if self._is_only_read():  # refused with the engine's message, without a job
                return self._write(name, given, request)
            return self._long(name, given, request, wait_s)
        if name == "cancel_job" or (schemas.mutates(name) and not schemas.is_long(name)):
            return self._write(name, given, request)
        alone = schemas.verbs()[name]["session"] == "none"
        answer = self._bench.call(name, given, session=None if alone else self.folder)
        return self._told(name, answer)

    def _is_only_read(self) -> bool:
        """Whether the session can only be read: an archive, or a folder whose log is packed."""
        return not (self.folder / "events.jsonl").exists() and _core.is_session(self.folder)

    def _told(self, verb: str, answer: Mapping[str, Any]) -> Answer:
        """A verb's answer without the copies for people."""
        fields = schemas.verbs()[verb]["result"]
        copies = [f for f, meaning in fields.items() if meaning.endswith("the same for people")]
        kept = {key: value for key, value in answer.items() if key not in copies}
        return _tool_results.succeeded(kept, self.folder, self.max_bytes)

    def _read_ref(self, given: Answer) -> Answer:
        """A piece that fits, so that it is never cut again."""
        limit = min(given.get("limit", 3000), self.max_bytes)
        while True:
            piece = self._bench.call("read_ref", given | {"limit": limit}, session=self.folder)
            if _tool_results.size_of(_tool_results.marked(piece)) <= self.max_bytes or limit < 8:
                return self._told("read_ref", piece)
            limit = limit * 2 // 3

    def _write(self, name: str, given: Answer, request: str | None) -> Answer:
        """A short call that writes, by a separate engine that releases the lock."""
        with self._writes:
            before = self._before(name, given, request)
            if before is not None:
                return before
            until = time.monotonic() + SHORT_S
            while True:
                try:
                    with self._bench.another() as bench:
                        answer = bench.call(name, given, session=self.folder, request_id=request)
                    return self._told(name, answer)
                except errors.LockedError:  # by a job, or briefly by another process's short call
                    if time.monotonic() > until:
                        if (facts := self._look())["state"] == "running":
                            raise _beside(facts) from None
                        raise
                time.sleep(SLICE_S)

    def _before(self, name: str, given: Answer, request: str | None) -> Answer | None:
        """The answer to a repeated call, without the lock."""
        call = self._look(request)["call"] if request else None
        if not call:
            return None
        if call["verb"] != name or call["args"] != given:
            raise errors.UsageError(
                f"the request_id {request} was {call['verb']} with other arguments; use a new one"
                if call["verb"] == name
                else f"the request_id {request} was {call['verb']}; use a new one"
            )
        return self._answer_of(call)

    def _answer_of(self, call: Mapping[str, Any]) -> Answer | None:
        if "result" in call:
            return self._told(call["verb"], call["result"])
        if "error" in call:
            error = call["error"]
            return _tool_results.failed(error["code"], error["message"], self.max_bytes)
        return None

    def _look(self, request: str | None = None, job: str | None = None) -> Answer:
        """The session's job now; with a request_id that call, null if the log has none."""
        asked = {k: v for k, v in (("request_id", request), ("job", job)) if v is not None}
        try:
            return self._bench.call("get_job", asked, session=self.folder)
        except errors.NotFoundError:
            if request is None or not _core.is_session(self.folder):
                raise
            return self._bench.call("get_job", {}, session=self.folder) | {"call": None}

    def _long(self, name: str, given: Answer, request: str | None, wait_s: float) -> Answer:
        request = request or f"t-{uuid.uuid4().hex}"
        with self._writes:
            known = self._look(request)
            done = self._before(name, given, request)
            if done is not None:
                return done
            if not (known["call"] and known["state"] == "running"):
                self._refuse_beside_a_job()
                begun = self._begin(name, given, request)
                if begun is not None:
                    return begun
        return self._wait(request, wait_s)

    def _refuse_beside_a_job(self) -> None:
        """Refuses a second job. Raises LockedError; waits for another process's short call."""
        until = time.monotonic() + SHORT_S
        while (facts := self._look())["state"] == "running":
            if time.monotonic() > until:
                raise _beside(facts)
            time.sleep(SLICE_S)

    def _begin(self, name: str, given: Answer, request: str) -> Answer | None:
        """Starts the job and waits until its call is in the log; returns its error if it never
        was."""
        job = _tool_jobs.start(self.folder, self._bench._options, name, given, request)
        self._jobs = {key: old for key, old in self._jobs.items() if not old.ended()}
        self._jobs[request] = job
        until = time.monotonic() + BEGIN_S
        while time.monotonic() < until:
            ended = job.ended()  # before the look: what it wrote, it wrote by now
            if self._look(request)["call"]:
                return None
            if ended:
                code, message = job.error() or ("internal", "the job ended without a word")
                return _tool_results.failed(code, message, self.max_bytes)
            time.sleep(SLICE_S)
        return None

    def _until(self, look: Callable[[], Answer], wait_s: float) -> Answer:
        """Checks until the job is done or the time is up, again only after a change."""
        log = self.folder / "events.jsonl"
        until = time.monotonic() + wait_s
        while True:
            size, looked = _size(log), time.monotonic()
            facts = look()
            if facts["done"]:
                return facts
            while _size(log) == size and time.monotonic() < min(looked + LOOK_S, until):
                time.sleep(min(SLICE_S, max(0.0, until - time.monotonic())))
            if time.monotonic() >= until:
                return look()

    def _wait(self, request: str, wait_s: float) -> Answer:
        facts = self._until(lambda: self._look(request), wait_s)
        call = facts["call"]
        answer = self._answer_of(call) if call else None
        if answer is not None:
            return answer
        if call and call["verb"] == "close" and facts["state"] == "closed":
            return self._write("close", call["args"], request)  # no answer follows a closing
        if facts["state"] != "running":
            job = self._jobs.get(request)
            if job is not None:
                job.process.wait()
            told = job.error() if job else None
            code, message = told or (
                "canceled",
                f"the job of {request} ended before it answered ({facts['state']}); the same call "
                "with the same request_id begins it again",
            )
            return _tool_results.failed(code, message, self.max_bytes)
        running = {
            "done": False, "job": request, "state": "running", "iteration": facts["iteration"],
            "next": "get_job waits for the answer, cancel_job stops it",
        }  # fmt: skip
        return _tool_results.succeeded(running, self.folder, self.max_bytes)

    def _get_job(self, given: Answer) -> Answer:
        wait_s = schemas.checked_wait(given.get("wait_s"), 0.0)
        job = given.get("job")
        if isinstance(job, str) and not ITERATION.fullmatch(job):
            request = schemas.checked_request(job)
            if not self._look(request)["call"]:
                raise errors.NotFoundError(f"the session has no job {job}; call the tool again")
            return self._wait(request, wait_s)
        _core.check_arguments("get_job", given)
        return self._told("get_job", self._until(lambda: self._look(job=job), wait_s))


def call(
    name: str,
    arguments: Mapping[str, Any] | str | None = None,
    *,
    session: PathName | Session,
    workbench: Workbench | None = None,
    toolset: str = "full",
    max_bytes: int = 4096,
    wait_s: float = 10.0,
) -> Answer:
    """One call without a Toolbox to keep; options are those of Toolbox."""
    with Toolbox(
        session, workbench=workbench, toolset=toolset, max_bytes=max_bytes, wait_s=wait_s
    ) as box:
        return box.call(name, arguments)


def _beside(job: Mapping[str, Any]) -> errors.LockedError:
    return errors.LockedError(
        f"a job runs in this session: {job['text'].strip()}; get_job without a job waits for it, "
        "cancel_job stops it; then call again"
    )


def _no_doubles(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) != len(pairs):
        raise ValueError("a key stands twice in one object")
    return made


def _too_large(size: int) -> errors.LimitError:
    most = MOST_ARGUMENT_BYTES >> 20
    return errors.LimitError(
        f"the arguments are {size} bytes of JSON, of which at most {most} MiB are taken; "
        "send fewer files, or edits of a parent"
    )


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return -1
