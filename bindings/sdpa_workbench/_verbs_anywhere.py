# SPDX-License-Identifier: MIT
"""Verbs with or without a session.

Generated from the verb table by bindings/generate_verbs.py.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from . import results


class AnywhereVerbs:
    """Verbs with or without a session."""

    def _verb(self, verb: str, given: dict[str, Any]) -> Any:
        raise NotImplementedError

    def build(
        self,
        variant: str,
        *,
        configuration: Mapping[str, int] | None = None,
        target: str | None = None,
    ) -> results.Answer:
        """Compile a variant, or find it in the cache; a CUDA one needs nvcc and no GPU.

        Arguments:
            variant: a kernel's name or a label
            configuration: tunable parameters, NAME=VALUE; the rest from the manifest's defaults
            target: of a CUDA variant the architecture, such as sm_90a (default: the device's,
                else the manifest's first), of a CPU variant such as x86-64-v3 (default native)

        Answer:
            artifact_id: string: of what was built
            cached: bool: nothing was compiled
            codes_left_out: map: code to how many of it had no room
            compiler: string: its version
            cpu_s: real: the same in CPU time (s)
            kernels: list: what ptxas says of each GPU kernel (docs/contracts/kernel_abi.md)
            kernels_left_out: int: kernels that had no room
            library: string: path of the shared library, or of a Python folder
            log: string: the compiler's words
            spilling_left_out: int: those of them that spill registers
            target: string: what it was compiled for
            text: string: the same for people
            variant: string: label
            wall_s: real: compile time, 0 when cached (s)
            warnings: list: of ptxas, about lost performance: code, text, kernel
            warnings_left_out: int: warnings that had no room
            why_target: string: why the target is the manifest's first and not the device's; else
                empty
        """
        return results.Answer(self._verb("build", locals()))

    def check(
        self,
        variant: str,
        *,
        suite: str | None = None,
        problem: str | None = None,
        configuration: Mapping[str, int] | None = None,
        draws: int | None = None,
    ) -> results.Verdict:
        """Build a variant and judge it against scaled dot product attention.

        Arguments:
            variant: a kernel's name or a label
            suite: a suite name, or names joined by '+'; part of one: prefill:gqa_*,fa_D64_*
            problem: one problem, such as 'B=1 Hq=8 Sq=512 D=64 f16 causal=none'; several joined
                by ';'
            configuration: tunable parameters, NAME=VALUE; the rest from the manifest's defaults
            draws: drawn runs, of everything that the manifest claims (default 72; a Python
                subject on a GPU 16), 1 to 100000

        Answer:
            pass: bool: every supported problem passed, and every drawn run
            problems: list: per problem, and once for the drawn runs, outcome, message and the
                worst share of the error budget
            subject_output: string: what the variant printed before it failed
            subject_output_ref: string or null: for read_ref, the whole of that
            variant: string: label
        """
        return results.Verdict.of(self._verb("check", locals()))

    def measure(
        self,
        variant: str,
        *,
        suite: str | None = None,
        problem: str | None = None,
        configuration: Mapping[str, int] | None = None,
        plan: Literal["hot", "cold", "eager"] | None = None,
        regime: Literal["burst", "sustained"] | None = None,
        effort: Literal["quick", "standard", "thorough"] | None = None,
    ) -> results.Measurement:
        """Time one variant (after its verdict).

        Arguments:
            variant: a kernel's name or a label
            suite: a suite name, or names joined by '+'; part of one: prefill:gqa_*,fa_D64_*
            problem: one problem, such as 'B=1 Hq=8 Sq=512 D=64 f16 causal=none'; several joined
                by ';'
            configuration: tunable parameters, NAME=VALUE; the rest from the manifest's defaults
            plan: how to time
            regime: of hot turns: burst (default), or sustained, after up to two seconds of its
                calls
            effort: how many processes, placements and rounds: quick, standard (5 processes x 3
                placements at confirmation) or thorough

        Answer:
            notes: list: what of the machine is in every figure, such as a CPU quota
            problems: list: per problem outcome, median_us, interval_us, gflop_per_s (null where
                nothing was measured; message says why)
            variant: string: label
        """
        return results.Measurement.of(self._verb("measure", locals()))

    def profile(
        self,
        variant: str,
        *,
        suite: str | None = None,
        problem: str | None = None,
        configuration: Mapping[str, int] | None = None,
    ) -> results.Answer:
        """One call on a GPU under a profiler (a CUDA variant: ncu, what its kernels did; Python:
        torch.profiler, which kernels it launched), never a timed figure.

        Arguments:
            variant: a kernel's name or a label
            suite: a suite name, or names joined by '+'; part of one: prefill:gqa_*,fa_D64_*
            problem: one problem, such as 'B=1 Hq=8 Sq=512 D=64 f16 causal=none'; several joined
                by ';'
            configuration: tunable parameters, NAME=VALUE; the rest from the manifest's defaults

        Answer:
            problems: list: per problem outcome, message, launches (kernel, grid, block, metrics
                with value and unit, share_frac of the kernels' time by torch.profiler) and csv
                (ncu's report, null when it is large or none)
            taken: bool: on every problem
            text: string: the same for people
            variant: string: label
        """
        return results.Answer(self._verb("profile", locals()))

    def sanitize(
        self,
        variant: str,
        *,
        suite: str | None = None,
        problem: str | None = None,
        configuration: Mapping[str, int] | None = None,
        tools: str | None = None,
    ) -> results.Answer:
        """One call of a CUDA variant under compute-sanitizer: wrong accesses and races.

        Arguments:
            variant: a kernel's name or a label
            suite: a suite name, or names joined by '+'; part of one: prefill:gqa_*,fa_D64_*
            problem: small ones; default: the edge shapes of the suite
            configuration: tunable parameters, NAME=VALUE; the rest from the manifest's defaults
            tools: of memcheck, racecheck, initcheck and synccheck, with commas between (default
                memcheck,racecheck)

        Answer:
            pass: bool: every run was clean
            runs: list: per tool and problem outcome (clean, found, not_available or an
                invalidity), errors, warnings, messages
            variant: string: label
        """
        return results.Answer(self._verb("sanitize", locals()))

    def compare(
        self,
        candidate: str,
        against: str,
        *,
        others: Sequence[str] | None = None,
        configuration: Mapping[str, int] | None = None,
        suite: str | None = None,
        problem: str | None = None,
        plan: Literal["hot", "cold", "eager"] | None = None,
        regime: Literal["burst", "sustained"] | None = None,
        effort: Literal["quick", "standard", "thorough"] | None = None,
    ) -> results.Comparison:
        """Time a variant and one or more others in turns and compare them.

        Arguments:
            candidate: a kernel's name or a label
            against: the other one
            others: more to compare it with, in the same turns; the fastest of all that take a
                problem counts
            configuration: tunable parameters, NAME=VALUE; the rest from the manifest's defaults
            suite: a suite name, or names joined by '+'; part of one: prefill:gqa_*,fa_D64_*
            problem: one problem, such as 'B=1 Hq=8 Sq=512 D=64 f16 causal=none'; several joined
                by ';'
            plan: how to time
            regime: of hot turns: burst (default), or sustained, after up to two seconds of its
                calls
            effort: how many processes, placements and rounds: quick, standard (5 processes x 3
                placements at confirmation) or thorough

        Answer:
            interval: map: low, high, confidence
            notes: list: what of the machine is in every figure, such as a CPU quota
            outcome: string: faster, slower, same or ambiguous, over all problems
            problems: list: per problem and other one the comparison, against, candidate_us,
                against_us (us; null where nothing was measured), fastest (of the others there)
            speedup: real: geometric mean (ratio, above 1: candidate is faster)
        """
        return results.Comparison.of(self._verb("compare", locals()))

    def show(
        self,
        id: str,
        *,
        source: bool | None = None,
        ptx: bool | None = None,
        sass: bool | None = None,
        configuration: Mapping[str, int] | None = None,
        target: str | None = None,
    ) -> results.Answer:
        """One event, iteration or variant in full, with raw samples; or a variant's code.

        Arguments:
            id: e12 (event), i3 (iteration) or a variant's label; for code also a kernel's name,
                without a session
            source: all files of the variant
            ptx: PTX of a CUDA variant (nvcc)
            sass: machine code of a CUDA variant (nvcc and cuobjdump)
            configuration: tunable parameters, NAME=VALUE; the rest from the manifest's defaults
            target: of a CUDA variant the architecture, such as sm_90a (default: the device's,
                else the manifest's first), of a CPU variant such as x86-64-v3 (default native)

        Answer:
            kind: string: event, iteration, variant, source, ptx or sass
            text: string: the same for people
            value: any: its content; of code the label, the target and why_target as in build
        """
        return results.Answer(self._verb("show", locals()))

    def new(self, name: str, *, from_: str, in_: str | None = None) -> results.Answer:
        """Write a kernel folder to start editing in: kernels/NAME, copied from a variant.

        Arguments:
            name: the new kernel's name
            from_: a kernel's name, or with --session a label of that session
            in_: the folder that holds kernels/, or will (default .)

        Answer:
            changed_headers: list: shared headers that differ from the parent's
            files: list: its files
            folder: string: what was written
            parent: string: label of what it was copied from
            text: string: the same for people
            variant: string: label
        """
        return results.Answer(self._verb("new", locals()))

    def audit(self, what: Sequence[str] | None = None) -> results.Answer:
        """Hold a session against its log, or the figures of any report against each other.

        Arguments:
            what: sessions (folders or archives), Markdown or plain text reports of anyone, and
                sources of kernels (.cu, .cpp, .py …) that advice is held against

        Answer:
            contradictions: int: what figures or limits exclude; above 0 the exit code is 1
            documents: list: name, lines, tables, figures, repaired, gaps, findings {severity,
                check, line, also, section, printed, computed, meaning, tolerance}, held {check,
                line, what}
            doubtful: int: what does not follow, or rests on misleading figures
            sessions: list: session, events, figures, pages, blobs, commits, gaps, findings
                {severity, file, line, printed, computed, meaning}
            text: string: the same for people, in Markdown
            unknown: int: what cannot be told
        """
        return results.Answer(self._verb("audit", locals()))

    def analyze(
        self,
        *,
        table: str | None = None,
        device: str | None = None,
        shape: str | None = None,
        ours: str | None = None,
        reference: str | None = None,
        plan: Literal["hot", "cold", "eager"] | None = None,
        ncu: str | None = None,
        problem: str | None = None,
        sass: str | None = None,
    ) -> results.Findings:
        """Explain what was measured: of a session, or of files (a table of times, ncu's CSV, a
        disassembly); runs nothing.

        Arguments:
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
            device: string: whose peaks; empty where none is known
            findings: list: analysis, statement, problem, figures, events, unseen
                (docs/contracts/analyses.md)
            gaps: list: what could not be read, and why
            text: string: the same for people
        """
        return results.Findings.of(self._verb("analyze", locals()))
