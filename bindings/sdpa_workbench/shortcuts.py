# SPDX-License-Identifier: MIT
"""check, compare, tune and adopt in one call each. Each makes a Workbench with the default options
and closes it; who calls often makes one and passes it as `workbench`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Literal

from . import errors, results
from ._tensor_dispatch import forget_choices
from ._verbs_answers import DispatchAdoptAnswer
from .session import Session
from .workbench import PathName, Workbench

__all__ = ["adopt", "check", "compare", "tune"]

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


def adopt(
    shapes: str | Sequence[str],
    *,
    backend: Literal["cpu", "cuda"] | None = None,
    effort: Effort | None = None,
    workbench: Workbench | None = None,
) -> DispatchAdoptAnswer:
    """Builds, judges and times here what dispatch rules offer for these shapes, once for each.

    A rule is offered where it was proved on another device or by another compiler; `tensors.sdpa`
    calls the fallback until the rule is adopted. A variant that passes here and is not slower than
    its rivals serves from then on: `sdpa` in this process too, later processes, `best` with
    `proven`, exports. The passes lie in sessions below the user's data folder. A minute or so a
    shape, on a machine that is quiet.

    `shapes`: problems in their text form, "B=1 Hq=32 Hkv=8 Sq=1 Skv=8192 D=128 bf16": batch, query
    and KV heads, queries, keys, head dim, dtype (of tensors, `tensors.Dispatch.adopt` makes it);
    `backend`: for which device (default: cpu); `effort`: how many processes and placements
    (default: quick). The answer's `rules` has a row a shape, whose `outcome` is adopted, declined
    (a rival is faster), failed (it does not build here, or its verdict fails), served (it passed
    before) or none (no rule is offered), with the reason.

    Raises UsageError for no shape or what is no text, ParseError or InvalidError for a text that is
    no problem, NotFoundError where there are no rules, EnvironmentFault where the machine has no
    such device or is too busy to measure, Canceled.
    """
    texts = [shapes] if isinstance(shapes, str) else list(shapes)
    if not texts:
        raise errors.UsageError("adopt needs a shape, such as 'B=1 Hq=8 Sq=512 D=64 f32'")
    for text in texts:
        if not isinstance(text, str):
            raise errors.UsageError(f"a shape is a problem's text, not {type(text).__name__}")
    with _workbench(workbench) as bench:
        answer = bench.dispatch_adopt(problem="; ".join(texts), backend=backend, effort=effort)
    forget_choices()
    return answer
