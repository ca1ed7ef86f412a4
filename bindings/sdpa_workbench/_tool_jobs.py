# SPDX-License-Identifier: MIT
"""Long calls of tools. Each is a separate process that holds the session's lock, outlives the
caller, and leaves its answer in the log under its request_id."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NoReturn

from . import errors

PARENT = Path(os.path.abspath(__file__)).parent.parent  # not resolved: a build folder has links
# With -P nothing in the current folder can stand in for a module.
START = "import sys; sys.path.insert(0, sys.argv[1]); from sdpa_workbench import _tool_jobs as j; "
LOCK_S = 2.0  # seconds to wait for the lock
MOST_TOLD = 65_536  # bytes of a job's output that are read


class Job:
    """A job that this process started. Other processes know it only by the session's log."""

    def __init__(self, process: subprocess.Popen[bytes], words: Path):
        self.process, self.words = process, words

    def ended(self) -> bool:
        return self.process.poll() is not None

    def error(self) -> tuple[str, str] | None:
        """Code and message if the job ended with an error."""
        if not self.process.returncode:
            return None
        try:
            with open(self.words, "rb") as file:
                file.seek(max(0, os.path.getsize(self.words) - MOST_TOLD))
                last = file.read().decode("utf-8", "replace").strip().splitlines()[-1:]
        except OSError:
            last = []
        try:
            told = json.loads(last[0])
            return str(told["code"]), str(told["message"])
        except (IndexError, ValueError, KeyError, TypeError):
            return "canceled", (
                f"the job ended by itself (exit {self.process.returncode}) before it answered; "
                f"its words are in {self.words}; call again"
            )


def start(
    folder: Path, options: Mapping[str, Any], verb: str, arguments: Mapping[str, Any], request: str
) -> Job:
    """Starts the call as a process of its own, in a session without a terminal. Raises
    StorageError."""
    try:
        place = folder / "jobs"
        place.mkdir(exist_ok=True)
        handle, words = tempfile.mkstemp(prefix="call-", suffix=".log", dir=place)
        order = {
            "folder": os.fspath(folder), "options": options, "verb": verb,
            "arguments": arguments, "request_id": request, "words": words,
        }  # fmt: skip
        with os.fdopen(handle, "wb") as output, tempfile.TemporaryFile() as input_:
            input_.write(json.dumps(order, default=os.fspath).encode())
            input_.seek(0)
            process = subprocess.Popen(
                [sys.executable, "-P", "-c", START + "j.main()", PARENT],
                stdin=input_, stdout=output, stderr=output, start_new_session=True,
            )  # fmt: skip
    except OSError as fault:
        raise errors.StorageError(f"cannot start a job in {folder}: {fault}") from fault
    return Job(process, Path(words))


def stop_here(*_: object) -> NoReturn:
    raise KeyboardInterrupt


def run(workbench: Any, order: Mapping[str, Any]) -> None:
    """Makes the call. Another process's short call may hold the lock for a moment."""
    until = time.monotonic() + LOCK_S
    while True:
        try:
            with workbench(**order["options"]) as bench:
                bench.call(
                    order["verb"], order["arguments"], session=order["folder"],
                    request_id=order["request_id"],
                )  # fmt: skip
            return
        except errors.LockedError:
            if time.monotonic() > until:
                raise
        time.sleep(0.02)


def main() -> None:
    """The process of one job. Its order is JSON on standard input."""
    from .workbench import Workbench

    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        signal.signal(number, stop_here)
    order = json.load(sys.stdin)
    try:
        run(Workbench, order)
        os.unlink(order["words"])  # nothing was said; the answer is in the log
    except errors.WorkbenchError as fault:
        print(json.dumps({"code": fault.code, "message": fault.message}), flush=True)
        sys.exit(1)
    except KeyboardInterrupt:
        words = "the job was stopped; what was in flight is abandoned, the session can go on"
        print(json.dumps({"code": "canceled", "message": words}), flush=True)
        sys.exit(1)
