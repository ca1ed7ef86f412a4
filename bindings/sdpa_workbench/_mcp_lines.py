# SPDX-License-Identifier: MIT
"""Filters the lines of an MCP client before the SDK reads them: a line with an id that the SDK
would drop is answered with an error, so that no client waits for its timeout."""

from __future__ import annotations

import contextlib
import json
import os
import re
import select
import sys
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from io import TextIOWrapper
from typing import Any, BinaryIO

import anyio
from mcp import types
from mcp.shared.message import SessionMessage

MARK = "\ufeff"  # a byte order mark
HALF = re.compile("[\ud800-\udfff]")  # of a surrogate pair
# The id in text that is not JSON, if it precedes the content that the message is about.
ID = re.compile(r'"id"\s*:\s*(-?\d+|"[^"\\]*")\s*[,}]')
ABOUT = re.compile(r'"(?:params|result|error)"\s*:')
READER_LOOK_S = 0.5  # seconds between two checks whether the client still reads


class Refusal(types.JSONRPCError):
    """An error response for any value that was given as an id."""

    id: Any


def refusal(id: Any, code: int, why: str) -> Refusal:
    made = Refusal(jsonrpc="2.0", id=id, error=types.ErrorData(code=code, message=why))
    try:
        made.model_dump_json()
    except ValueError:  # an id that nests too deeply to be written
        made.id = None
    return made


def id_in(text: str) -> Any:
    """The id in text that is not JSON; None if there is none."""
    about = ABOUT.search(text)
    found = ID.search(text[: about.start()] if about else text)
    try:
        return json.loads(found[1]) if found else None
    except ValueError:  # 007, a control character in a text, more digits than Python reads
        return None


def halves(value: Any) -> Iterator[str]:
    """The unpaired surrogates in the strings of a value. Not recursive, because the value may nest
    deeply."""
    rest = [value]
    while rest:
        one = rest.pop()
        if isinstance(one, str):
            yield from HALF.findall(one)
        elif isinstance(one, dict):
            rest += [*one.keys(), *one.values()]
        elif isinstance(one, list):
            rest += one


def is_read(line: str) -> bool:
    """Whether the SDK reads the value as a message: one with an id as a request or a response."""
    try:
        message = types.jsonrpc_message_adapter.validate_json(line, by_name=False)
    except Exception:
        return False
    # The SDK takes a request with an id of a wrong type for a notification.
    return not isinstance(message, types.JSONRPCNotification) or "id" not in json.loads(line)


def refusals(line: str) -> Iterator[Refusal]:
    """The errors that answer an invalid line: one for each id in it."""
    if not line.strip():
        return
    try:
        value = json.loads(line)
    except (ValueError, RecursionError) as fault:
        why = "it nests too deeply" if isinstance(fault, RecursionError) else str(fault)
        yield refusal(id_in(line), types.PARSE_ERROR, f"the line is no JSON: {why}")
        return
    is_batch = isinstance(value, list)
    for message in value if is_batch else [value]:
        if not isinstance(message, dict) or "id" not in message:
            continue
        if "method" not in message and ("result" in message or "error" in message):
            continue  # a response needs no answer
        half = next(halves(message), None)
        id = message["id"]
        if half is not None:
            why = f"a text holds half of a surrogate pair (\\u{ord(half):04x}); send whole ones"
            id = None if isinstance(id, str) and HALF.search(id) else id
            yield refusal(id, types.INVALID_PARAMS, why)
        else:
            why = "batches are not taken" if is_batch else fault_of(message)
            yield refusal(id, types.INVALID_REQUEST, f"the line is no request: {why}")


def fault_of(message: dict[str, Any]) -> str:
    if message.get("jsonrpc") != "2.0":
        return 'its "jsonrpc" must be "2.0"'
    if isinstance(message["id"], bool) or not isinstance(message["id"], (str, int)):
        return 'its "id" must be a text or a whole number'
    if not isinstance(message.get("method"), str):
        return 'its "method" must be a text'
    if not isinstance(message.get("params", {}), (dict, type(None))):
        return 'its "params" must be an object'
    return "the protocol has no such message"


class Requests:
    """The requests that were read and not answered yet."""

    def __init__(self) -> None:
        self._ids: Counter[Any] = Counter()
        self._none_open = anyio.Event()
        self._is_last = False

    def read(self, line: str) -> None:
        """Records the request of a line that the SDK accepts."""
        message = types.jsonrpc_message_adapter.validate_json(line, by_name=False)
        if isinstance(message, types.JSONRPCRequest):
            self._ids[message.id] += 1
        elif getattr(message, "method", None) == "notifications/cancelled":
            self.done((message.params or {}).get("requestId"))  # the SDK does not answer it

    def done(self, id: Any) -> None:
        with contextlib.suppress(TypeError):  # an id that no request can have
            self._ids -= Counter([id])
        if self._is_last and not self._ids:
            self._none_open.set()

    async def all_answered(self, output: int) -> None:
        """Waits for it after the last line, or until nobody reads the descriptor any more."""
        self._is_last = True
        self.done(None)
        while not self._none_open.is_set() and has_reader(output):
            with anyio.move_on_after(READER_LOOK_S):
                await self._none_open.wait()


def has_reader(output: int) -> bool:
    """False once the other end of a pipe or socket is closed."""
    look = select.poll()
    look.register(output, 0)  # errors are reported without registration
    return not look.poll(0)


class Answers:
    """The stream that the SDK writes answers to; it marks each request as answered."""

    def __init__(self, stream: Any, requests: Requests):
        self._stream, self._requests = stream, requests

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    async def __aenter__(self) -> Answers:
        await self._stream.__aenter__()
        return self

    async def __aexit__(self, *fault: Any) -> Any:
        return await self._stream.__aexit__(*fault)

    async def send(self, message: SessionMessage) -> None:
        await self._stream.send(message)
        if isinstance(message.message, (types.JSONRPCResponse, types.JSONRPCError)):
            self._requests.done(message.message.id)


class Lines:
    """Standard input as the SDK's transport reads it. Bad lines are answered on the stream that
    `answers_on` gets. The last line is followed by the end only when every request has its answer,
    since the SDK drops what is unanswered then."""

    def __init__(self, stream: BinaryIO, output: int):
        """`output`: the descriptor that answers are finally written to."""
        # Only this character ends a line: a carriage return between two tokens is white space.
        text = TextIOWrapper(stream, encoding="utf-8", errors="replace", newline="\n")
        self._lines = anyio.wrap_file(text)
        self._output = output
        self._requests = Requests()
        self._answers: Any = None
        self._can_answer = anyio.Event()

    def answers_on(self, stream: Any) -> Answers:
        """The stream to give the SDK in place of `stream`."""
        self._answers = stream
        self._can_answer.set()
        return Answers(stream, self._requests)

    def _refusals(self, line: str) -> list[Refusal]:
        """As `refusals`, but no line can end the server, not even an unforeseen one."""
        try:
            return list(refusals(line))
        except Exception as fault:
            return [refusal(None, types.PARSE_ERROR, f"the line cannot be read: {fault}")]

    async def __aiter__(self) -> AsyncIterator[str]:
        async for raw in self._lines:
            line = raw.removeprefix(MARK)
            if is_read(line):
                self._requests.read(line)
                yield line
                continue
            for answer in self._refusals(line):
                await self._can_answer.wait()
                with contextlib.suppress(anyio.ClosedResourceError, anyio.BrokenResourceError):
                    await self._answers.send(SessionMessage(answer))
        await self._requests.all_answered(self._output)


def claimed_input() -> BinaryIO:
    """Reserves standard input for the protocol: engines and their children read an empty one."""
    try:
        own = os.dup(0)
        empty = os.open(os.devnull, os.O_RDONLY)
        os.dup2(empty, 0)
        os.close(empty)
    except OSError:
        return sys.stdin.buffer
    # Never closed: a thread may still wait for a line when the server ends.
    return os.fdopen(own, "rb", closefd=False)
