# SPDX-License-Identifier: MIT
"""The errors: one class for each kind that the engine knows.

`code` is the kind's frozen word, the same in JSON, Lua and on the command line
(docs/guide/command_line.md has the exit code of each). Where Python has a class of its own for the
case, ours is one of those, too.
"""

from __future__ import annotations

from collections.abc import Mapping


class WorkbenchError(Exception):
    """Any error of the workbench.

    `code` is its word; `message` one line: what was attempted, on what, why it failed, what to do
    next; `details` the same in parts: `attempted`, `subject`, `cause`, `next`.
    """

    code = "internal"

    def __init__(self, message: str, *, details: Mapping[str, str] | None = None):
        super().__init__(message)
        self.message = message
        self.details = dict(details or {})

    def __reduce__(self):
        return _again, (type(self), self.message, self.details)


class UsageError(WorkbenchError, ValueError):
    """Something that does not exist or is malformed was asked for."""

    code = "usage"


class NotFoundError(WorkbenchError, LookupError):
    """A named file, kernel, suite, session or event is absent."""

    code = "not_found"


class ParseError(WorkbenchError, ValueError):
    """Text that should be JSON, a problem, a manifest … is not."""

    code = "parse"


class InvalidError(WorkbenchError, ValueError):
    """Well-formed, but it breaks a rule."""

    code = "invalid"


class StorageError(WorkbenchError, OSError):
    """The operating system refused a read or write."""

    code = "io"


class NoSpaceError(StorageError):
    """The disk is full."""

    code = "no_space"


class LockedError(WorkbenchError):
    """Another process, or another engine of this one, holds the session or the device."""

    code = "locked"


class ReadOnlyError(StorageError):
    """The folder or the session may not be written."""

    code = "read_only"


class TooNewError(WorkbenchError):
    """A newer format than this version knows."""

    code = "too_new"


class DamagedError(WorkbenchError):
    """A stored file fails its own checks."""

    code = "damaged"


class CompileError(WorkbenchError):
    """The compiler refused the source."""

    code = "compile"


class WrongResultError(WorkbenchError):
    """A verdict failed."""

    code = "wrong_result"


class LimitError(WorkbenchError):
    """A budget, deadline or size cap was reached."""

    code = "limit"


class SecurityError(WorkbenchError):
    """A rule of the sandbox was broken."""

    code = "security"


class EnvironmentFault(WorkbenchError):
    """The machine, not the variant, is at fault; try again when it is quiet."""

    code = "environment"


class Canceled(WorkbenchError):
    """The call was stopped; the session is paused and can be resumed."""

    code = "canceled"


class InternalError(WorkbenchError):
    """A fault of the workbench itself."""

    code = "internal"


BY_CODE: dict[str, type[WorkbenchError]] = {
    kind.code: kind
    for kind in (
        UsageError, NotFoundError, ParseError, InvalidError, StorageError, NoSpaceError,
        LockedError, ReadOnlyError, TooNewError, DamagedError, CompileError, WrongResultError,
        LimitError, SecurityError, EnvironmentFault, Canceled, InternalError,
    )
}  # fmt: skip


def make(code: str, message: str, attempted: str, subject: str, cause: str, next: str):
    """The exception for an error of the engine; called by `_core`."""
    parts = {"attempted": attempted, "subject": subject, "cause": cause, "next": next}
    error = BY_CODE.get(code, WorkbenchError)(message, details=parts)
    error.code = code
    return error


def _again(kind, message, details):
    return kind(message, details=details)
