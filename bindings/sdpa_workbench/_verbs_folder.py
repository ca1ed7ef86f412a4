# SPDX-License-Identifier: MIT
"""Verbs that begin a session, go on with one or look at its job.

Generated from the verb table by bindings/generate_verbs.py.
"""

from collections.abc import Mapping, Sequence
from os import PathLike
from typing import Any, Literal

from . import results


class FolderVerbs:
    """Verbs that begin a session, go on with one or look at its job."""

    def _verb(self, verb: str, given: dict[str, Any]) -> Any:
        raise NotImplementedError

    def open(
        self,
        session: str | PathLike[str] | None = None,
        *,
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
    ) -> results.Answer:
        """Open a session: record the environment, measure the noise floor and the baseline.

        Arguments:
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

        Answer:
            baseline: list: per problem the medians (us) of start and rivals (null where nothing
                was measured; message says why)
            cannot_show: list: per problem the gain (cannot_show_frac) below which a confirmation
                shows nothing, and why its noise floor cannot serve (unfit, or empty)
            cannot_show_text: string: the same for people
            incumbent: string: label of the starting variant
            rivals: list: names of the rivals that passed
            session: string: the session's folder
        """
        return results.Answer(self._verb("open", locals()))

    def run(
        self,
        playbook: str,
        session: str | PathLike[str] | None = None,
        *,
        suite: str | None = None,
        problem: str | None = None,
        start: str | None = None,
        after: str | None = None,
        backend: Literal["cpu", "cuda"] | None = None,
        rivals: Sequence[str] | None = None,
        title: str | None = None,
        repo: str | None = None,
        branch: str | None = None,
        effort: Literal["quick", "standard", "thorough"] | None = None,
        evaluations: int | None = None,
        wall_s: float | None = None,
        usd: float | None = None,
        planned_minutes: float | None = None,
        seed: int | None = None,
        arguments: Mapping[str, str] | None = None,
        resume_or_start: bool | None = None,
    ) -> results.Answer:
        """Open a session and run a playbook in it.

        Arguments:
            playbook: a playbook's name or file
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
            effort: how many processes, placements and rounds: quick, standard (5 processes x 3
                placements at confirmation) or thorough
            evaluations: budget: iterations after the baseline (iterations), 0 to 1e+06
            wall_s: budget: wall time since open (s), 0 to 1e+08
            usd: budget: money (USD), 0 to 1e+09
            planned_minutes: planned for opening and baseline; the report holds what they took
                against it (min), 0 to 1e+06
            seed: of the playbook's random source, 0 to 4.29497e+09
            arguments: the playbook's own arguments, NAME=VALUE
            resume_or_start: go on with --session DIR when it is there, else start it

        Answer:
            result: any: what the playbook returned
            session: string: the session's folder
        """
        return results.Answer(self._verb("run", locals()))

    def resume(self, session: str | PathLike[str], *, replan: bool | None = None) -> results.Answer:
        """Go on with an interrupted session; a playbook is replayed up to where it was.

        Arguments:
            replan: accept a changed playbook; calls that no longer match run anew

        Answer:
            abandoned: int: iterations that were in flight and are abandoned
            environment_changed: list: what differs from when it was opened
            session: string: the session's folder
        """
        return results.Answer(self._verb("resume", locals()))

    def get_job(
        self,
        session: str | PathLike[str],
        job: str | None = None,
        *,
        wait_s: float | None = None,
        request_id: str | None = None,
    ) -> results.Answer:
        """What runs in a session, waiting for it to end if asked.

        Arguments:
            job: an iteration's id, such as i3 (default: all that the process does)
            wait_s: wait this long for the end (default 0) (s), 0 to 86400
            request_id: of the call to wait for, whose answer is told

        Answer:
            call: map or null: the one with that request_id: verb, args, n; result or error once
                it is answered
            done: bool: the process, or that iteration, came to its end
            iteration: map or null: that iteration, of a request_id the last that it opened (null:
                none yet), else the latest: outcome (null: in flight), speedup, message
            job: string or null: id of the iteration below
            pid: int or null: the process
            session: string: its folder
            state: string: running, interrupted (resume goes on), idle or closed
            text: string: the same for people
        """
        return results.Answer(self._verb("get_job", locals()))

    def cancel_job(self, session: str | PathLike[str]) -> results.Answer:
        """Ask the process that runs a session to stop; what is in flight is abandoned.

        Answer:
            ended: bool: it is gone
            pid: int or null: the process; null: nothing ran
            text: string: the same for people
        """
        return results.Answer(self._verb("cancel_job", locals()))
