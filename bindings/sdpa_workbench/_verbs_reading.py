# SPDX-License-Identifier: MIT
"""Verbs that read one session.

Generated from the verb table by bindings/generate_verbs.py.
"""

from collections.abc import Mapping
from typing import Any, Literal

from . import results


class ReadingVerbs:
    """Verbs that read one session."""

    def _verb(self, verb: str, given: dict[str, Any]) -> Any:
        raise NotImplementedError

    def status(self) -> results.Answer:
        """Where a session stands, on one screen.

        Answer:
            best_speedup: real or null: incumbent over the start, confirmed (ratio)
            cost: map: ledger
            incumbent: string: label
            iterations: int: iterations closed, baseline included
            status: string: open, paused or closed
            stop_reason: string or null: which budget or stop rule holds
            text: string: the screen
            warning: string or null: which events the log lost, and what to do
        """
        return results.Answer(self._verb("status", locals()))

    def report(
        self,
        *,
        kind: Literal["session", "iteration", "root-cause", "bottleneck", "handover"] | None = None,
        iteration: int | None = None,
        html: bool | None = None,
        output: str | None = None,
    ) -> results.Answer:
        """The session's report, made from its log: Markdown, or a page for a browser.

        Arguments:
            kind: which page (default session)
            iteration: of kind iteration: its number (default: the last that closed), 0 to 1e+06
            html: one self-contained file of HTML with plots (docs/guide/pages.md)
            output: the file to write (default: standard output)

        Answer:
            file: string or null: output
            text: string: Markdown or HTML; with output what was written
        """
        return results.Answer(self._verb("report", locals()))

    def brief(self) -> results.Answer:
        """What to know of a session after losing all context, in at most 4 KiB.

        Answer:
            budget: map: used and left (null: no limit) of evaluations, wall_s and usd;
                stop_reason
            in_flight: map or null: the iteration that runs, or was cut off
            incumbent: map or null: variant, configuration, over_start (ratio), iteration, event
            last: list: outcomes, newest first
            left_out: map: how many of each list had no room
            next: list: what the facts suggest
            notes: list: newest first
            objective: map: rule, plan, min_speedup, suite, problems, held_out, some
            refuted: list: refuted hypotheses with what they measured, newest first
            rivals: list: the incumbent against each over the suite (ratio)
            session: string: its name
            status: string: open, paused or closed
            techniques: list: what tries added to their parents, with the best of their speedups
            title: string: its heading
            untried: list: techniques that nothing here has used
        """
        return results.Answer(self._verb("brief", locals()))

    def advise(self, *, target: float | None = None) -> results.Answer:
        """What to try next on a session's incumbent, what it should gain, and its cost.

        Arguments:
            target: the wanted speed over the fastest rival (default 1) (ratio), 0.01 to 1000

        Answer:
            calibration: map: share (of the predicted logarithm that past predictions measured),
                count, events
            entries: list: technique, low, expected and high (speedup over the suite), strength of
                the evidence, why, events, source of the range, hours, complexity, risk, needs,
                pros, cons; best first
            hours_high: real: likewise (h)
            hours_low: real: of all stages, a guess (h)
            incumbent: string: label
            measuring_s: real or null: an iteration a step, as those before (s)
            measuring_usd: real or null: the same (USD)
            not_advised: list: technique, reason, event
            reached_at_stage: int or null: where the expected figures reach the target; 0: already
            rival_ratio: real or null: speed over the fastest rival now (ratio)
            stages: list: techniques of a stage; low, expected and high up to there; and the speed
                over the fastest rival then
            target_ratio: real: as asked for
            text: string: the same for people
            unseen: list: what the log does not say
        """
        return results.Answer(self._verb("advise", locals()))

    def history(self, query: str | None = None, *, limit: int | None = None) -> results.Answer:
        """Search a session's iterations, notes and decisions by words, newest first.

        Arguments:
            query: words that must all stand there, in any case (default: all)
            limit: at most so many (default 20) (matches), 1 to 100

        Answer:
            matches: list: kind, event, iteration, variant, outcome, speedup, decision and where
                the words stand
            text: string: the same for people
            total: int: how many there are
        """
        return results.Answer(self._verb("history", locals()))

    def read_ref(
        self, ref: str, *, offset: int | None = None, limit: int | None = None
    ) -> results.Answer:
        """Read a long text by its reference, piece by piece: sources, events, compiler output,
        answers that were cut.

        Arguments:
            ref: cpu_tiled/kernel.cpp or LABEL/kernel.cpp (file), LABEL (its files), e12 (event),
                i3 (iteration), or 64 digits of an answer
            offset: where to begin (default 0; next_offset of the piece before) (bytes), 0 to
                1e+12
            limit: at most so much (default 3000) (bytes), 1 to 65536

        Answer:
            next_offset: int or null: where the next one begins; null: it is the last
            offset: int: where the text begins (bytes)
            ref: string: as asked for
            text: string: the piece
            total_bytes: int: of the whole text
        """
        return results.Answer(self._verb("read_ref", locals()))

    def proof(
        self,
        variant: str,
        *,
        configuration: Mapping[str, int] | None = None,
        problem: str | None = None,
    ) -> results.Answer:
        """The artifact of a variant that passed in a session, and which problems that covers.

        Arguments:
            variant: a label of the session, or a kernel's name: then the last of it that passed
            configuration: which of several that passed: tunable parameters, NAME=VALUE
            problem: whether the passes cover it, such as 'B=1 Hq=8 Sq=512 D=64 f16'

        Answer:
            artifact_id: string: of what passed
            backend: string: cpu or cuda
            configuration: map: tunable parameters
            device: string: what it passed on
            domain: map: entries (per dtype and head dim: causal, masks, layouts, gqa, largest
                sizes, events), restrictions, rows_without_keys
            library: string: the file, in the cache
            name: string: kernel name
            passes: list: event, problem, worst_share
            reason: string or null: why not
            session: string: its folder
            takes: bool or null: the passes cover the problem
            target: string: what it was compiled for
            text: string: the same for people
            variant: string: label
            variant_id: string: of its sources
        """
        return results.Answer(self._verb("proof", locals()))

    def export(
        self,
        variant: str,
        *,
        configuration: Mapping[str, int] | None = None,
        torch: bool | None = None,
        c: bool | None = None,
        output: str | None = None,
        name: str | None = None,
        request_id: str | None = None,
    ) -> results.Answer:
        """Write a variant that passed as a package for PyTorch or C, with its provenance.

        Arguments:
            variant: a label of the session, or a kernel's name: then the last of it that passed
            configuration: which of several that passed: tunable parameters, NAME=VALUE
            torch: a Python package with an operator of PyTorch (docs/guide/export.md)
            c: a header, the library and CMake
            output: a new or empty folder (default: the package's name)
            name: of package and operator (default: the kernel's, then _op)

        Answer:
            artifact_id: string: of the library in it
            domain: map: as proof gives it
            files: list: what was written
            folder: string: where it is
            package: string: its name
            text: string: the same for people
            variant: string: label
        """
        return results.Answer(self._verb("export", locals()))

    def diagnose(
        self,
        *,
        measure: bool | None = None,
        iteration: int | None = None,
        effort: Literal["quick", "standard", "thorough"] | None = None,
        table: str | None = None,
        device: str | None = None,
        shape: str | None = None,
        ours: str | None = None,
        reference: str | None = None,
        plan: Literal["hot", "cold", "eager"] | None = None,
        ncu: str | None = None,
        problem: str | None = None,
        sass: str | None = None,
        request_id: str | None = None,
    ) -> results.Answer:
        """Why it is slow: known causes held against what was found, of a session or of files.

        Arguments:
            measure: first measure what undecided causes need (in an open session)
            iteration: the candidate of that iteration instead of the incumbent, by its own
                measurements, and what its parent has not, 0 to 1e+06
            effort: how many processes, placements and rounds: quick, standard (5 processes x 3
                placements at confirmation) or thorough
            table: CSV or Markdown: problems with times, ours and a reference's
                (docs/contracts/analyses.md)
            device: of the files: a GPU of the table, such as H200, L4 or "RTX 4000 Ada"
            shape: what the table leaves out of its problems, such as 'D=64 f16'
            ours: the header of our times' column
            reference: the header of the reference's
            plan: how the table's times were taken (default hot)
            ncu: a report of `ncu --csv --page details --print-units base` of one call
            problem: the problem of that call
            sass: a disassembly, as `show --sass` or `cuobjdump --dump-sass` prints it

        Answer:
            causes: list: cause, title, theory, test, prediction, state (supported, refuted,
                undecided), strength, contradictory, where, share_frac, evidence, needs, remedies,
                gain (speedup over the suite: low, expected, high); the most important first
                (docs/contracts/causes.md)
            explains: list: with iteration: causes supported of its candidate and not of its
                parent
            gaps: list: what could not be read, and why
            measured: list: probe, outcome, message of what --measure took
            plan: string: of the objective
            start: map or null: subject and causes of the start, if another holds now
            subject: string: what was diagnosed; empty where files name none
            text: string: the same for people
        """
        return results.Answer(self._verb("diagnose", locals()))
