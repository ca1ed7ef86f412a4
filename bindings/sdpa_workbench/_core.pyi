# SPDX-License-Identifier: MIT
"""The module of C++ (bindings/src/module.cpp). Use the package's own classes instead."""

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

__version__: str

_Path = str | os.PathLike[str]
_Progress = Callable[[dict[str, Any]], object] | None
_Program = Callable[[dict[str, Any]], dict[str, Any]] | None

def verb_table() -> list[dict[str, Any]]: ...
def error_codes() -> list[str]: ...
def check_arguments(verb: str, args: Mapping[str, Any]) -> dict[str, Any]: ...
def simulate(
    recording: _Path, options: Mapping[str, Any], program: _Program = None
) -> dict[str, Any]: ...

class Engine:
    def __init__(
        self,
        programs: _Path,
        *,
        path: Sequence[_Path] | None = None,
        sessions: _Path | None = None,
        cache: _Path | None = None,
        compiler: str | None = None,
        nvcc: str | None = None,
        host_compiler: str | None = None,
        allow_include: Sequence[_Path] | None = None,
        python: str | None = None,
        worker: str | None = None,
        transport: Sequence[str] | None = None,
        gpu: int | None = None,
        threads: int | None = None,
        cpu_set: str | None = None,
    ) -> None: ...
    def call(
        self,
        verb: str,
        args: Mapping[str, Any],
        session: _Path = "",
        request_id: str | None = None,
        progress: _Progress = None,
        program: _Program = None,
    ) -> dict[str, Any]: ...
    def evaluate(
        self, request: Mapping[str, Any], progress: _Progress = None
    ) -> dict[str, Any]: ...
    def pause(self, reason: str) -> None: ...
    def open_playbook(
        self,
        open_args: Mapping[str, Any],
        session: _Path,
        path: str,
        source: str,
        args: Mapping[str, Any],
        seed: int,
        progress: _Progress = None,
    ) -> dict[str, Any]: ...
    def resume_playbook(
        self,
        session: _Path,
        path: str,
        source: str,
        args: Mapping[str, Any],
        seed: int,
        replan: bool = False,
        progress: _Progress = None,
    ) -> dict[str, Any]: ...
    def playbook_call(
        self,
        verb: str,
        args: Mapping[str, Any],
        progress: _Progress = None,
        program: _Program = None,
    ) -> Any: ...
    def replaying(self) -> bool: ...
    def stop(self) -> None: ...
    def close(self) -> None: ...
    @property
    def session(self) -> Path | None: ...
