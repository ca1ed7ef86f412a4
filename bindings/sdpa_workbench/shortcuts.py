# SPDX-License-Identifier: MIT
"""check, compare and tune in one call each, for the first minute. Each makes a Workbench with the
default options and closes it; who calls often makes one and passes it as `workbench`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Literal

from . import results
from .session import Session
from .workbench import PathName, Workbench

__all__ = ["check", "compare", "tune"]

Effort = Literal["quick", "standard", "thorough"]
Strategy = Literal["exhaustive", "random", "hill_climb", "racing", "tpe", "cma_es", "gp"]
PREDICTED_SPEEDUP = 1.05  # where the caller predicts nothing


@contextmanager
def _workbench(given: Workbench | None) -> Iterator[Workbench]:
    """The caller's, which stays open, or one of our own."""
    if given is not None:
        yield given
        return
    with Workbench() as own:
        yield own


def check(
    variant: str,
    *,
    problem: str | None = None,
    suite: str | None = None,
    configuration: Mapping[str, int] | None = None,
    draws: int | None = None,
    workbench: Workbench | None = None,
) -> results.Verdict:
    """Builds a variant and judges it against scaled dot product attention.

    `variant`: a kernel's name; `problem`: such as "B=1 Hq=8 Sq=512 D=64 f16"; `draws`: runs drawn
    from all that its manifest claims (Workbench.check has the rest).
    """
    with _workbench(workbench) as bench:
        return bench.check(
            variant, problem=problem, suite=suite, configuration=configuration, draws=draws
        )


def compare(
    candidate: str,
    against: str,
    *,
    problem: str | None = None,
    suite: str | None = None,
    configuration: Mapping[str, int] | None = None,
    plan: Literal["hot", "cold", "eager"] | None = None,
    effort: Effort | None = None,
    workbench: Workbench | None = None,
) -> results.Comparison:
    """Times two kernels in turns: `speedup` is against's time over candidate's, with an interval.

    `effort`: how many processes and placements (Workbench.compare has the rest).
    """
    with _workbench(workbench) as bench:
        return bench.compare(
            candidate,
            against,
            problem=problem,
            suite=suite,
            configuration=configuration,
            plan=plan,
            effort=effort,
        )


def tune(
    variant: str,
    *,
    problem: str | None = None,
    suite: str | None = None,
    strategy: Strategy | None = None,
    evaluations: int | None = None,
    seconds: float | None = None,
    seed: int | None = None,
    effort: Effort | None = None,
    predicted_speedup: float = PREDICTED_SPEEDUP,
    session: PathName | None = None,
    workbench: Workbench | None = None,
) -> results.Iteration:
    """Searches a kernel's tunable parameters and confirms the best beside its defaults.

    This is a session of its own that starts from the kernel's defaults and is closed afterwards:
    in the folder `session`, or the next in the workbench's `sessions`; the answer's `session` says
    where. `evaluations` (count) and `seconds` (s) bound the search. `predicted_speedup` (ratio) is
    what the log holds the gain against; 1.05 where nobody predicts. A `workbench` that is passed
    must hold no session. What an exception interrupts is paused and can be resumed.
    """
    with _workbench(workbench) as bench:
        tuned = Session.open(
            session,
            workbench=bench,
            start=variant,
            problem=problem,
            suite=suite,
            rivals=["none"],
            effort=effort,
            title=f"Parameters of {variant}",
        )
        try:
            found = tuned.tune(
                hypothesis=f"another configuration of {variant} is faster than its defaults",
                predicted_speedup=predicted_speedup,
                strategy=strategy,
                evaluations=evaluations,
                seconds=seconds,
                seed=seed,
            )
            tuned.close()
        except BaseException as fault:
            if tuned.held:
                tuned.pause(f"stopped by {type(fault).__name__}")
            raise
        return results.Iteration.of({**found.to_dict(), "session": str(tuned.folder)})
