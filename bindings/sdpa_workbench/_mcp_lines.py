# SPDX-License-Identifier: MIT
"""The lines that a client of the MCP server sends, before the SDK reads them: what the SDK would
drop though it has an id is answered with an error, so that no client waits for its timeout."""

from __future__ import annotations

import contextlib
import json
import os
import re
import sys
from collections.abc import AsyncIterator, Iterator
from io import TextIOWrapper
from typing import Any, BinaryIO

import anyio
from mcp import types
from mcp.shared.message import SessionMessage

MARK = "\ufeff"  # a byte order mark
HALF = re.compile("[\ud800-\udfff]")  # of a surrogate pair
# In text that is no JSON: the id of the message, where it stands before what the message is about.
ID = re.compile(r'"id"\s*:\s*(-?\d+|"[^"\\]*")\s*[,}]')
ABOUT = re.compile(r'"(?:params|result|error)"\s*:')


class Refusal(types.JSONRPCError):
    """An error that answers whatever was given as an id."""

    id: Any


def refusal(id: Any, code: int, why: str) -> Refusal:
    return Refusal(jsonrpc="2.0", id=id, error=types.ErrorData(code=code, message=why))


def id_in(text: str) -> Any:
    """The id of what is no JSON, None where none is told."""
    about = ABOUT.search(text)
    found = ID.search(text[: about.start()] if about else text)
    return json.loads(found[1]) if found else None


def halves(value: Any) -> Iterator[str]:
    """The halves of surrogate pairs in the texts of a value. No recursion: it may nest deeply."""
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
    """Whether the SDK reads it as a message: one that has an id as a request or a response."""
    try:
        message = types.jsonrpc_message_adapter.validate_json(line, by_name=False)
    except Exception:
        return False
    # A request with an id of a wrong type is taken for a notification.
    return not isinstance(message, types.JSONRPCNotification) or "id" not in json.loads(line)


def refusals(line: str) -> Iterator[Refusal]:
    """What a line that is no message is answered with: one error for each id in it."""
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
            continue  # an answer: nobody waits for one to it
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


class Lines:
    """Standard input as the SDK's transport reads it. Bad lines are answered on the stream that
    `answer_on` gets."""

    def __init__(self, stream: BinaryIO):
        # No other line ends: a carriage return between two tokens is a blank.
        text = TextIOWrapper(stream, encoding="utf-8", errors="replace", newline="\n")
        self._lines = anyio.wrap_file(text)
        self._answers: Any = None
        self._can_answer = anyio.Event()

    def answer_on(self, answers: Any) -> None:
        self._answers = answers
        self._can_answer.set()

    async def __aiter__(self) -> AsyncIterator[str]:
        async for raw in self._lines:
            line = raw.removeprefix(MARK)
            if is_read(line):
                yield line
                continue
            for answer in refusals(line):
                await self._can_answer.wait()
                with contextlib.suppress(anyio.ClosedResourceError, anyio.BrokenResourceError):
                    await self._answers.send(SessionMessage(answer))


def claimed_input() -> BinaryIO:
    """Standard input for the protocol alone: engines and their children read an empty one."""
    try:
        own = os.dup(0)
        empty = os.open(os.devnull, os.O_RDONLY)
        os.dup2(empty, 0)
        os.close(empty)
    except OSError:
        return sys.stdin.buffer
    # Never closed: a thread may still wait for a line when the server ends.
    return os.fdopen(own, "rb", closefd=False)
