# SPDX-License-Identifier: MIT
"""Session.open and its arguments, for editors and help().

Generated from the verb table by bindings/generate_verbs.py.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike
from typing import TYPE_CHECKING, Any, Literal, Self, TypedDict

if TYPE_CHECKING:
    from .workbench import Workbench


class OpenArguments(TypedDict, total=False):
    """The arguments of the verb `open`, as Session.open takes them."""

    suite: str
    problem: str
    start: str
    after: str
    backend: Literal["cpu", "cuda"]
    rivals: Sequence[str]
    title: str
    repo: str
    branch: str
    objective: Literal["geomean_speedup", "weighted_time", "one_problem"]
    objective_problem: str
    plan: Literal["hot", "cold", "eager"]
    regime: Literal["burst", "sustained"]
    min_speedup: float
    effort: Literal["quick", "standard", "thorough"]
    evaluations: int
    wall_s: float
    usd: float
    planned_minutes: float
    plateau: int
    equal_failures: int
    compile_cpu_usd_per_hour: float
    device_usd_per_hour: float
    token_usd_per_million: float


class SessionOpening:
    """How a session begins."""

    @classmethod
    def _open(
        cls,
        folder: str | PathLike[str] | None,
        workbench: Workbench | None,
        arguments: Mapping[str, Any],
    ) -> Self:
        raise NotImplementedError

    @classmethod
    def open(
        cls,
        folder: str | PathLike[str] | None = None,
        *,
        workbench: Workbench | None = None,
        suite: str | None = None,
        problem: str | None = None,
        start: str | None = None,
        after: str | None = None,
        backend: Literal["cpu", "cuda"] | None = None,
        rivals: Sequence[str] | None = None,
        title: str | None = None,
        repo: str | None = None,
        branch: str | None = None,
        objective: Literal["geomean_speedup", "weighted_time", "one_problem"] | None = None,
        objective_problem: str | None = None,
        plan: Literal["hot", "cold", "eager"] | None = None,
        regime: Literal["burst", "sustained"] | None = None,
        min_speedup: float | None = None,
        effort: Literal["quick", "standard", "thorough"] | None = None,
        evaluations: int | None = None,
        wall_s: float | None = None,
        usd: float | None = None,
        planned_minutes: float | None = None,
        plateau: int | None = None,
        equal_failures: int | None = None,
        compile_cpu_usd_per_hour: float | None = None,
        device_usd_per_hour: float | None = None,
        token_usd_per_million: float | None = None,
    ) -> Self:
        """Open a session: record the environment, measure the noise floor and the baseline.

        Arguments:
            folder: the new session's (default: the next name in the workbench's `sessions`)
            workbench: has the options, and belongs to this session from then on
            suite: a suite name, or names joined by '+'; part of one: prefill:gqa_*,fa_D64_*
            problem: one problem, such as 'B=1 Hq=8 Sq=512 D=64 f16 causal=none'; several joined
                by ';'
            start: the kernel to start from
            after: the closed session to go on from: its incumbent is the start; suite, objective,
                rivals, rates and effort are its own where none are given
            backend: where to run (default: where the start runs)
            rivals: kernels to measure against, or none (default: the PyTorch rivals)
            title: one line for the report's heading
            repo: a git repository of yours to commit into, below sessions/, instead of the
                session's own
            branch: its branch, new or not checked out anywhere; with repo
            objective: the rule over the suite
            objective_problem: the problem's name, for the rule one_problem
            plan: how to time
            regime: of hot turns: burst (default), or sustained, after up to two seconds of its
                calls
            min_speedup: guard: no problem may fall below this speedup over the incumbent (ratio),
                0 to 100
            effort: how many processes, placements and rounds: quick, standard (5 processes x 3
                placements at confirmation) or thorough
            evaluations: budget: iterations after the baseline (iterations), 0 to 1e+06
            wall_s: budget: wall time since open (s), 0 to 1e+08
            usd: budget: money (USD), 0 to 1e+09
            planned_minutes: planned for opening and baseline; the report holds what they took
                against it (min), 0 to 1e+06
            plateau: stop after so many iterations in a row without a win (iterations), 1 to 1e+06
            equal_failures: stop after so many equal failures in a row (iterations), 1 to 1e+06
            compile_cpu_usd_per_hour: price of one hour of compiler CPU (USD/h), 0 to 1e+06
            device_usd_per_hour: price of one hour of device (USD/h), 0 to 1e+06
            token_usd_per_million: price of one million agent tokens (USD), 0 to 1e+06
        """
        given = {name: value for name, value in locals().items() if value is not None}
        for own in ("cls", "folder", "workbench"):
            given.pop(own, None)
        return cls._open(folder, workbench, given)
