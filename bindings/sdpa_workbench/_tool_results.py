# SPDX-License-Identifier: MIT
"""The answers of tools: bounded, with a reference to the whole, and with untrusted text marked."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import tempfile
from pathlib import Path
from typing import Any

from . import errors

# An agent can fix its call, its kernel or its timing; other errors need a person.
FIXABLE = {
    "usage", "not_found", "parse", "invalid", "locked", "compile", "wrong_result", "limit",
    "canceled",
}  # fmt: skip
# Text of compilers, candidates and their authors: data, never instructions.
UNTRUSTED = {
    "compiler_output", "subject_output", "log", "csv", "message", "messages", "warnings", "runs",
    "notes", "text", "matches", "refuted", "value", "hypothesis",
}  # fmt: skip
FROM_CANDIDATES = {"compile", "wrong_result"}
MOST_KEPT = 2000  # cut answers kept beside a session
SIZES = ((1500, 40), (700, 20), (350, 12), (180, 8), (90, 5), (60, 3), (40, 1))


# Invisible or reordering characters; JSON can write them as numbers.
HIDDEN = re.compile(
    "[\x7f-\x9f\xad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufe00-\ufe0f"
    "\ufff9-\ufffb\U000e0000-\U000e0fff]"
)


def visible(text: str) -> str:
    return HIDDEN.sub(lambda found: json.dumps(found.group())[1:-1], text)


def compact(value: Any) -> str:
    return visible(json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False))


def size_of(value: Any) -> int:
    return len(compact(value).encode("utf-8", "replace"))


def marked(value: Any, named: str = "") -> Any:
    """The same with `untrusted_` before the names of fields by a compiler, a kernel or an
    author."""
    if isinstance(value, list):
        return [marked(item) for item in value]
    if not isinstance(value, dict):
        return value
    return {
        f"untrusted_{key}" if key in UNTRUSTED else key: marked(item)
        for key, item in value.items()
    }  # fmt: skip


def keep(folder: Path, text: str) -> str | None:
    """Writes a whole answer beside the session, for read_ref; None if it cannot be written."""
    data = text.encode("utf-8", "replace")
    name = hashlib.sha256(data).hexdigest()
    place = folder / "jobs"
    try:
        place.mkdir(exist_ok=True)
        if (place / name).exists():
            return name
        handle, part = tempfile.mkstemp(prefix=".part-", dir=place)
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        os.chmod(part, 0o644)
        os.replace(part, place / name)
        trim(place)
    except OSError:
        return None
    return name


def trim(place: Path) -> None:
    """Removes the oldest answers if there are too many."""
    kept = [entry for entry in os.scandir(place) if len(entry.name) == 64]
    if len(kept) <= MOST_KEPT:
        return
    for entry in sorted(kept, key=lambda e: e.stat().st_mtime)[: MOST_KEPT // 2]:
        with contextlib.suppress(OSError):
            os.unlink(entry.path)


def shrunk(value: Any, text: int, items: int) -> Any:
    if isinstance(value, str) and len(value) > text:
        return value[:text] + f"… ({len(value) - text} more characters)"
    if isinstance(value, list):
        rest = len(value) - items
        left = [f"({rest} more)"] if rest > 0 else []
        return [shrunk(item, text, items) for item in value[:items]] + left
    if isinstance(value, dict):
        return {key[:80]: shrunk(item, text, items) for key, item in value.items()}
    return value


def bounded(result: dict[str, Any], folder: Path, most: int) -> dict[str, Any]:
    """`result` in at most `most` bytes of JSON; `cut.ref` refers to what was left out."""
    if size_of(result) <= most:
        return result
    whole = visible(json.dumps(result, ensure_ascii=False, indent=1))
    cut = {"whole_bytes": len(whole.encode("utf-8", "replace")), "ref": keep(folder, whole)}
    for text, items in SIZES:
        small = shrunk(result, text, items) | {"cut": cut}
        if size_of(small) <= most:
            return small
    small = {"cut": cut}
    for key, value in result.items():  # short fields first: they carry most per byte
        tried = small | {key[:80]: shrunk(value, 40, 1)}
        if size_of(tried) <= most:
            small = tried
    return small


def succeeded(result: dict[str, Any], folder: Path, most: int) -> dict[str, Any]:
    return {"is_error": False, "result": bounded(marked(result), folder, most)}


def failed(code: str, message: str, most: int) -> dict[str, Any]:
    """An error as an answer. An error of a compiler or a verdict quotes a candidate."""
    answer = {"is_error": True, "code": code, "message": message, "fixable": code in FIXABLE}
    key = "message"
    if code in FROM_CANDIDATES:
        key = "untrusted_message"
        answer["message"] = {
            "compile": "the compiler refused the source; its words follow",
            "wrong_result": "a verdict failed; what it says follows",
        }[code]
        answer[key] = message
    while size_of(answer) > most and len(answer[key]) > 40:
        length = len(answer[key])
        answer[key] = answer[key][: min(length - 20, length * most // size_of(answer))] + "…"
    return answer


def of_error(fault: errors.WorkbenchError, most: int) -> dict[str, Any]:
    return failed(fault.code, fault.message, most)
