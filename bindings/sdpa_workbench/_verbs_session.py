# SPDX-License-Identifier: MIT
"""Verbs that write into one session.

Generated from the verb table by bindings/generate_verbs.py.
"""

from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from typing import Any, Literal

from . import results


class SessionVerbs:
    """Verbs that write into one session."""

    def _verb(self, verb: str, given: dict[str, Any]) -> Any:
        raise NotImplementedError

    def remeasure_floor(
        self,
        problem: str | None = None,
        *,
        all_plans: bool | None = None,
        request_id: str | None = None,
    ) -> results.Answer:
        """Take the noise floors again: those of a busy machine hide gains that are there.

        Arguments:
            problem: one of the suite's, by its name (default: all of them)
            all_plans: hot, cold and eager, not the objective's plan alone

        Answer:
            fit: bool: every floor can serve now
            floors: list: per problem and plan floor_frac, between_instance_frac,
                cannot_show_frac, used (else the narrower one before stands) and unfit (why it
                cannot serve)
            text: string: the same for people
        """
        return results.Answer(self._verb("remeasure_floor", locals()))

    def note(
        self,
        text: str,
        *,
        phase: str | None = None,
        planned_minutes: float | None = None,
        request_id: str | None = None,
    ) -> results.Answer:
        """Write a note into the session's log.

        Arguments:
            text: the note
            phase: the note begins a phase of this name, up to the next one
            planned_minutes: planned for that phase; the report holds what it took against it
                (min), 0 to 1e+06

        Answer:
            event: int: its event id
        """
        return results.Answer(self._verb("note", locals()))

    def record_decision(
        self,
        question: str,
        *,
        choice: str,
        reason: str,
        options: Sequence[str] | None = None,
        request_id: str | None = None,
    ) -> results.Answer:
        """Write a decision into the session's log: what was asked, what was chosen and why.

        Arguments:
            question: what was to be decided
            choice: what was chosen
            reason: why
            options: what else could be chosen

        Answer:
            event: int: its event id
        """
        return results.Answer(self._verb("record_decision", locals()))

    def close(
        self,
        *,
        reason: str | None = None,
        recommendation: str | None = None,
        request_id: str | None = None,
    ) -> results.Answer:
        """Close the session: final report, last commit.

        Arguments:
            reason: why it ends (default: finished)
            recommendation: what the author of the session advises

        Answer:
            commit: string: object id of the last commit
            report: string: path of the report
            session: string: the session's folder
        """
        return results.Answer(self._verb("close", locals()))

    def iterate(
        self,
        *,
        hypothesis: str,
        predicted_speedup: float,
        variant: str | None = None,
        parent: str | None = None,
        configuration: Mapping[str, int] | None = None,
        files: Mapping[str, str] | None = None,
        name: str | None = None,
        confirm: Literal["if_faster", "always", "never"] | None = None,
        plans: Literal["all", "deciding"] | None = None,
        request_id: str | None = None,
    ) -> results.Iteration:
        """One iteration: hypothesis, build, verdict, measurement beside the incumbent, commit.

        Arguments:
            variant: a kernel by name, or the label of a variant of this session
            parent: the variant it derives from (default: the incumbent)
            configuration: tunable parameters, NAME=VALUE; the rest from the manifest's defaults
            files: files of the parent to replace or add: path -> content
            name: name of the derived variant
            hypothesis: why this should help, one sentence
            predicted_speedup: predicted gain over the incumbent on the objective (ratio), 0.001
                to 1000
            confirm: measure again in fresh processes: if_faster (default), always or never
            plans: what a confirmation times: all (default: hot, cold and eager) or deciding, the
                objective's alone, for a step on the way to others

        Answer:
            decision: string: supported, refuted or undecided
            incumbent: string: label of the incumbent afterwards
            interval: map or null: low, high, confidence of the speedup
            invalidity: string or null: why it is invalid
            iteration: int: its number
            message: string: what happened, one sentence
            outcome: string: win, no_gain, invalid or stopped
            problems: list: per problem outcome, speedup and medians (us)
            speedup: real or null: over the incumbent on the objective (ratio)
            stop_reason: string or null: why the session should end now
            subject_output: string: what the variant printed before it failed
            subject_output_ref: string or null: for read_ref, the whole of that
            variant: string: label of the variant
        """
        return results.Iteration.of(self._verb("iterate", locals()))

    def tune(
        self,
        *,
        hypothesis: str,
        predicted_speedup: float,
        variant: str | None = None,
        strategy: Literal["exhaustive", "random", "hill_climb", "racing", "tpe", "cma_es", "gp"]
        | None = None,
        seed: int | None = None,
        evaluations: int | None = None,
        seconds: float | None = None,
        usd: float | None = None,
        ahead: int | None = None,
        executor: Executor | None = None,
        in_flight: int | None = None,
        request_id: str | None = None,
    ) -> results.Iteration:
        """One iteration that searches a variant's tunable parameters and confirms the best in
        fresh processes.

        Arguments:
            variant: the kernel, or the label of a variant (default: the incumbent)
            hypothesis: why tuning should help, one sentence
            predicted_speedup: predicted gain over the incumbent on the objective (ratio), 0.001
                to 1000
            strategy: what to ask for next (default random; docs/guide/simulation.md); tpe, cma_es
                and gp are Optuna's, from Python only
            seed: of the strategy's order (default 1), 0 to 4.29497e+09
            evaluations: budget of the search: answers, failed ones and duplicates included
                (evaluations), 1 to 1e+06
            seconds: budget of the search: wall time; the confirmation comes on top (s), 0.001 to
                1e+08
            usd: budget of the search: money (USD), 1e-06 to 1e+09
            ahead: builds kept ahead of the one that is needed (default: two for each builder;
                where builds and turns overlap one, and at least 4) (builds), 0 to 1000
            executor: who evaluates, of concurrent.futures (default: this process;
                docs/guide/python.md)
            in_flight: evaluations that it gets at a time (default: the pool's number of workers
                where it has one, else 4), 1 to 1000

        Answer:
            configuration: map or null: of what looks best
            decision: string: supported, refuted or undecided
            evaluations: list: the 40 best: variant, configuration, outcome and speedup against
                the best, which choose but report nothing
            incumbent: string: label of the incumbent afterwards
            interval: map or null: low, high, confidence of the speedup
            invalidity: string or null: why nothing that was searched is valid
            iteration: int: its number
            message: string: what happened, one sentence
            outcome: string: win, no_gain, invalid or stopped
            problems: list: per problem outcome, speedup and medians (us)
            speedup: real or null: confirmed, over the incumbent (ratio)
            stop_reason: string or null: why the session should end now
            tune: map: counts, seconds built, measured and waited, why it ended
            variant: string: label of the best
        """
        return results.Iteration.of(self._verb("tune", locals()))

    def race(
        self,
        *,
        variants: Sequence[str],
        hypothesis: str,
        predicted_speedup: float,
        seed: int | None = None,
        evaluations: int | None = None,
        seconds: float | None = None,
        usd: float | None = None,
        ahead: int | None = None,
        executor: Executor | None = None,
        in_flight: int | None = None,
        request_id: str | None = None,
    ) -> results.Iteration:
        """One iteration that times several variants against each other, drops the slower ones
        stage by stage, and confirms the best in fresh processes.

        Arguments:
            variants: 2 to 64 kernels or labels of variants of this session
            hypothesis: why one of them should win, one sentence
            predicted_speedup: predicted gain over the incumbent on the objective (ratio), 0.001
                to 1000
            seed: of the strategy's order (default 1), 0 to 4.29497e+09
            evaluations: budget of the search: answers, failed ones and duplicates included
                (evaluations), 1 to 1e+06
            seconds: budget of the search: wall time; the confirmation comes on top (s), 0.001 to
                1e+08
            usd: budget of the search: money (USD), 1e-06 to 1e+09
            ahead: builds kept ahead of the one that is needed (default: two for each builder;
                where builds and turns overlap one, and at least 4) (builds), 0 to 1000
            executor: who evaluates, of concurrent.futures (default: this process;
                docs/guide/python.md)
            in_flight: evaluations that it gets at a time (default: the pool's number of workers
                where it has one, else 4), 1 to 1000

        Answer:
            configuration: map or null: of what looks best
            decision: string: supported, refuted or undecided
            evaluations: list: the 40 best: variant, configuration, outcome and speedup against
                the best, which choose but report nothing
            incumbent: string: label of the incumbent afterwards
            interval: map or null: low, high, confidence of the speedup
            invalidity: string or null: why nothing that was searched is valid
            iteration: int: its number
            message: string: what happened, one sentence
            outcome: string: win, no_gain, invalid or stopped
            problems: list: per problem outcome, speedup and medians (us)
            speedup: real or null: confirmed, over the incumbent (ratio)
            stop_reason: string or null: why the session should end now
            tune: map: counts, seconds built, measured and waited, why it ended
            variant: string: label of the best
        """
        return results.Iteration.of(self._verb("race", locals()))

    def propose(
        self,
        *,
        parent: str | None = None,
        edits: Sequence[Mapping[str, str]] | None = None,
        files: Mapping[str, str] | None = None,
        configuration: Mapping[str, int] | None = None,
        name: str | None = None,
        request_id: str | None = None,
    ) -> results.Answer:
        """Store, compile and check a new variant, by files or by edits of a parent; nothing is
        timed.

        Arguments:
            parent: kernel or label it derives from, one that failed too (default: the incumbent)
            edits: replacements {path, search, replace}; search must stand in the parent's file
                exactly once
            files: whole files to replace or add: path -> content
            configuration: tunable parameters, NAME=VALUE; the rest as in the parent
            name: name of the new variant

        Answer:
            cached: bool: nothing was compiled
            compiler_output: string: the compiler's words
            message: string: what happened
            outcome: string: pass, stopped, or why it is invalid
            output_ref: string or null: for read_ref, the whole of them
            parent: string: what it derives from
            pass: bool: it takes a problem of the suite and every verdict passed
            problems: list: per problem outcome, message and worst_share
            spill_bytes: int: registers spilled, as ptxas says (bytes)
            stop_reason: string or null: why the session should end now
            subject_output: string: what the variant printed before it failed
            subject_output_ref: string or null: for read_ref, the whole of that
            variant: string: label, for iterate, race and as a parent
            variant_id: string: hash of its sources
            worst_share: real or null: the largest share of the error budget
        """
        return results.Answer(self._verb("propose", locals()))

    def propose_many(
        self, *, proposals: Sequence[Mapping[str, Any]], request_id: str | None = None
    ) -> results.Answer:
        """Propose several variants and rank them: right ones first, by spills and error; race
        times them.

        Arguments:
            proposals: 1 to 16 maps, each with the arguments of propose

        Answer:
            passed: int: how many passed
            rows: list: rank, proposal (its place in the list, from 1), and what propose answers;
                outcome refused: it could not be read
            stop_reason: string or null: why the session should end now
        """
        return results.Answer(self._verb("propose_many", locals()))

    def record_usage(
        self,
        *,
        model: str,
        input_tokens: int,
        output_tokens: int,
        cached_tokens: int | None = None,
        usd: float | None = None,
        request_id: str | None = None,
    ) -> results.Answer:
        """Debit what an agent's model used; the session's token rate gives the price.

        Arguments:
            model: the model's name
            input_tokens: read by the model, cached ones too (tokens), 0 to 1e+12
            output_tokens: written by the model (tokens), 0 to 1e+12
            cached_tokens: those of input_tokens that were cached (tokens), 0 to 1e+12
            usd: what its provider billed (default: by the rate) (USD), 0 to 1e+06

        Answer:
            event: int: its event id
            stop_reason: string or null: why the session should end now
            tokens: int: of this call
            total_tokens: real: of the session so far
            total_usd: real or null: of the session so far, all items (USD)
            usd: real or null: its price; null: no rate was given (USD)
            warning: string or null: costs that no budget can count
        """
        return results.Answer(self._verb("record_usage", locals()))
