# SPDX-License-Identifier: MIT
"""The SDPA Workbench from Python: every verb of `sdpa-wb`, sessions, typed results.

    import sdpa_workbench as wb

    problem = "B=1 Hq=2 Sq=64 D=32 f32"
    print(wb.check("cpu_tiled", problem=problem).passed)
    print(wb.compare("cpu_tiled", "cpu_unfused", problem=problem).speedup)
    with wb.Session.open("s", start="cpu_unfused", problem=problem) as session:
        session.iterate(variant="cpu_tiled", hypothesis="tiles reuse keys", predicted_speedup=2)
        print(session.report())

docs/guide/python.md is the way in. What decides anything is the engine in C++ (module `_core`);
where it is missing, only `command()` and `__version__` work, and all else says how to get it.
"""

import importlib
from typing import TYPE_CHECKING

from ._command import command

if TYPE_CHECKING:
    from . import errors, evaluation, progress, results, search, tensors, tools
    from .errors import WorkbenchError
    from .progress import Progress
    from .results import (
        Answer,
        Comparison,
        Finding,
        Findings,
        Interval,
        Iteration,
        Kernel,
        Ledger,
        Measurement,
        Suite,
        Verdict,
    )
    from .session import Session
    from .shortcuts import adopt, check, compare, tune
    from .workbench import Workbench

_MODULES = (
    "errors",
    "evaluation",
    "progress",
    "results",
    "search",
    "session",
    "shortcuts",
    "tensors",
    "tools",
    "workbench",
)
_HOMES = {
    **dict(zip(_MODULES, _MODULES, strict=True)),
    "WorkbenchError": "errors",
    "Session": "session",
    "Workbench": "workbench",
    "Progress": "progress",
    "adopt": "shortcuts",
    "check": "shortcuts",
    "compare": "shortcuts",
    "tune": "shortcuts",
    "Variant": "results",  # its older name for Kernel
} | dict.fromkeys(
    ("Answer", "Comparison", "Finding", "Findings", "Interval", "Iteration", "Kernel", "Ledger",
     "Measurement", "Suite", "Verdict"),
    "results",
)  # fmt: skip

__all__ = [
    "Answer",
    "Comparison",
    "Finding",
    "Findings",
    "Interval",
    "Iteration",
    "Kernel",
    "Ledger",
    "Measurement",
    "Progress",
    "Session",
    "Suite",
    "Verdict",
    "Workbench",
    "WorkbenchError",
    "adopt",
    "check",
    "command",
    "compare",
    "errors",
    "evaluation",
    "progress",
    "results",
    "search",
    "tensors",
    "tools",
    "tune",
]


def __getattr__(name: str):
    if name == "__version__":
        from ._command import version

        return version()
    if name not in _HOMES:
        raise AttributeError(f"module {__name__} has no attribute {name}")
    home = importlib.import_module(f".{_HOMES[name]}", __name__)
    value = home if name == _HOMES[name] else getattr(home, name)
    if name != "Variant":  # warn on each use
        globals()[name] = value
    return value


def __dir__():
    return sorted({*globals(), *__all__, "__version__"})
