# SPDX-License-Identifier: MIT
"""Verbs that need no session.

Generated from the verb table by bindings/generate_verbs.py.
"""

from collections.abc import Sequence
from typing import Any, Literal

from . import results


class AloneVerbs:
    """Verbs that need no session."""

    def _verb(self, verb: str, given: dict[str, Any]) -> Any:
        raise NotImplementedError

    def doctor(self) -> results.Answer:
        """What works on this machine and what is missing.

        Answer:
            checks: list: name, state (ok, missing, warning), detail, next
            healthy: bool: CPU sessions can run
        """
        return results.Answer(self._verb("doctor", locals()))

    def suites(self, suite: str | None = None) -> results.Answer:
        """The problem suites.

        Arguments:
            suite: only this one, with its problems

        Answer:
            suites: list: name, about, problems
        """
        return results.Answer(self._verb("suites", locals()))

    def kernels(self, name: str | None = None) -> results.Answer:
        """The kernels that can be found.

        Arguments:
            name: only this one, with its parameters

        Answer:
            kernels: list: name, about, backend, parameters, folder
        """
        return results.Answer(self._verb("kernels", locals()))

    def playbooks(self, name: str | None = None) -> results.Answer:
        """The playbooks that can be found, Lua's and agents'.

        Arguments:
            name: only this one; an agent's with its instructions

        Answer:
            playbooks: list: name, kind (lua or agent), about, arguments (lua: name to default and
                doc), model and tools (agent), file, problem (why it cannot be read, or null),
                instructions (of one agent)
            text: string: the same for people
        """
        return results.Answer(self._verb("playbooks", locals()))

    def playbook_check(self, playbook: str) -> results.Answer:
        """Dry-run a playbook on a fake engine.

        Arguments:
            playbook: a playbook's name or file

        Answer:
            about: string: what it says it does
            calls: list: the verbs it called
        """
        return results.Answer(self._verb("playbook_check", locals()))

    def diff(
        self, before: str, after: str, *, plan: Literal["hot", "cold", "eager"] | None = None
    ) -> results.Answer:
        """Compare two sessions: what changed around them, and their ratios to a shared rival.

        Arguments:
            before: a session's folder or archive, or its name in --sessions
            after: the session to judge by it
            plan: which timing (default: the plan of the second one's objective)

        Answer:
            after: map: session, incumbent
            before: map: session, incumbent
            changes: list: what, before, after
            message: string: why something cannot be compared, or empty
            outcome: string: better, worse, same, ambiguous or not_comparable
            plan: string: hot, cold or eager
            regressions: int: problems that are worse
            rivals: list: per shared rival suite and problems with outcome, change (ratio of the
                ratios), interval, before, after
            text: string: the same for people
        """
        return results.Answer(self._verb("diff", locals()))

    def gc(
        self,
        *,
        max_bytes: int | None = None,
        older_than: float | None = None,
        dry_run: bool | None = None,
    ) -> results.Answer:
        """Trim the cache of built artifacts; what a running process uses stays.

        Arguments:
            max_bytes: then remove the longest unused until so much is left (bytes), 0 to 1e+15
            older_than: remove what was not used for so long (default 30 without --max-bytes)
                (days), 0 to 100000
            dry_run: remove nothing

        Answer:
            bytes: int: before (bytes)
            dry_run: bool: nothing was removed
            entries: int: before
            failed: int: due, but the file system refused
            folder: string: the cache
            freed_bytes: int: of entries and leftovers (bytes)
            in_use: int: due, but a running process uses them
            leftovers: int: folders of killed builders
            recent: int: due, but used in the last 10 minutes
            removed: int: entries
            text: string: the same for people
        """
        return results.Answer(self._verb("gc", locals()))

    def best(
        self,
        *,
        problem: str,
        device: str | None = None,
        proven: bool | None = None,
        proofs: Sequence[str] | None = None,
    ) -> results.Answer:
        """Which variant the dispatch rules choose for a problem, and what proves it.

        Arguments:
            problem: one problem, such as 'B=1 Hq=8 Sq=512 D=64 f16 causal=none'
            device: the device's name (default: this machine's, when a rule asks)
            proven: only what can be loaded here and whose recorded passes cover the problem
            proofs: sessions beside the rules' own whose passes count; means --proven

        Answer:
            artifact_id: string or null: of the recorded pass
            configuration: map: tunable parameters
            device: string or null: the name that the rules saw
            fallback: bool: it is the last rule
            passed_over: list: rule, variant, reason of rules that could not serve, and whether
                one is offered here (dispatch adopt)
            problem: string: its text form
            proof: map or null: of proven ones variant (label), session and artifact_id
            rule: int: its place in the table, from 1
            session: string or null: that proved it
            table: string: the file
            text: string: the same for people
            variant: string: kernel name
            when: string: its conditions
        """
        return results.Answer(self._verb("best", locals()))

    def reproduce(
        self,
        recorded: str,
        *,
        iteration: int | None = None,
        effort: Literal["quick", "standard", "thorough"] | None = None,
    ) -> results.Answer:
        """Measure an iteration on record again, here and now, against its incumbent; the session
        stays as it is.

        Arguments:
            recorded: a session's folder or archive, or its name in --sessions
            iteration: which one (default: the last that won), 0 to 1e+09
            effort: how many processes, placements and rounds (default: the session's)

        Answer:
            against: string: label of its incumbent
            candidate: string: label
            changes: list: what, before, after
            iteration: int: its number
            measured: map or null: speedup, interval
            message: string: both figures, or what failed
            outcome: string: reproduced (no change beyond the noise, and a gain is a gain),
                not_reproduced, or environment_differs (not reproduced, elsewhere)
            problems: list: per problem the recorded and the measured speedup
            recorded: map: speedup, interval
            same_artifact: bool or null: compiler, flags and target made the same artifact
            text: string: the same for people
        """
        return results.Answer(self._verb("reproduce", locals()))

    def site(
        self, folder: str, *, output_dir: str | None = None, title: str | None = None
    ) -> results.Answer:
        """Pages of all sessions of a folder and an index over them, for a browser.

        Arguments:
            folder: that sessions lie in
            output_dir: where the pages go (default: site)
            title: of the index

        Answer:
            copies: list: session, copy_of, common_events, apart, message of copies
            faults: list: session and message of those that have no page
            index: string: the index page
            pages: list: one file a session
            text: string: the same for people
        """
        return results.Answer(self._verb("site", locals()))

    def pack(
        self, recorded: str, *, output: str | None = None, redact: bool | None = None
    ) -> results.Answer:
        """One archive of a session, to be kept or given away; all that reads takes it.

        Arguments:
            recorded: a session's folder or archive, or its name in --sessions
            output: the archive (default: <name>.tar.gz, redacted: <name>-redacted.tar.gz)
            redact: replace hosts, users, e-mail addresses, addresses and absolute paths in log,
                blobs and pages (docs/guide/pages.md)

        Answer:
            bytes: int: its size (bytes)
            copies: list: as of `site`, of the sessions beside it; redacted: none
            file: string: the archive
            files: list: what is in it
            kept: list: redacted: sources that hold such words and are as they were
            left_out: list: files of the session that are not
            redacted: map or null: how often a path, email, host, user or url was replaced
            text: string: the same for people
            warning: string or null: which events the log lost, and what to do
        """
        return results.Answer(self._verb("pack", locals()))

    def trace_prepare(
        self,
        trace: str,
        *,
        output_dir: str,
        platform: str | None = None,
        node: str | None = None,
        container: str | None = None,
    ) -> results.Answer:
        """Read a profile and write the tables of its attention, in TraceLens' layout.

        Arguments:
            trace: a trace of the PyTorch profiler: Chrome JSON, plain or gzip
            platform: whose peaks efficiencies are against: L4, A100, H100, H200, B200, RTX 4000
                Ada, MI300X, MI325X, MI355X or a JSON file (default: by the profile's GPU)
            output_dir: the analysis' folder
            node: run this command there, through ssh
            container: run this command inside it, through docker

        Answer:
            backward_calls: int: the same of backward
            backward_rows: int: the same of backward
            events: int: events of the profile
            files: list: written
            forward_calls: int: calls of forward attention with kernels
            forward_rows: int: rows of sdpa_fwd_ops.csv
            gaps: list: what could not be used, in sentences
            nothing_seen: string: why nothing could be looked at; empty: it could
            platform: string: whose peaks
            ranks: list: of a file that holds several: calls and time of each
            text: string: the same for people
            text_bytes: int: unpacked size (bytes)
        """
        return results.Answer(self._verb("trace_prepare", locals()))

    def trace_analyze(
        self, *, output_dir: str, node: str | None = None, container: str | None = None
    ) -> results.Answer:
        """Explain the attention of a prepared profile, ours or TraceLens': metrics and findings.

        Arguments:
            output_dir: the analysis' folder
            node: run this command there, through ssh
            container: run this command inside it, through docker

        Answer:
            categories: list: name, status (OK, none or unseen) and metrics (docs/guide/trace.md)
                of each category
            files: list: written
            text: string: the findings
        """
        return results.Answer(self._verb("trace_analyze", locals()))

    def trace_report(
        self,
        trace: str,
        *,
        output_dir: str,
        platform: str | None = None,
        node: str | None = None,
        container: str | None = None,
    ) -> results.Answer:
        """Prepare a profile and analyze it.

        Arguments:
            trace: a trace of the PyTorch profiler: Chrome JSON, plain or gzip
            platform: whose peaks efficiencies are against: L4, A100, H100, H200, B200, RTX 4000
                Ada, MI300X, MI325X, MI355X or a JSON file (default: by the profile's GPU)
            output_dir: the analysis' folder
            node: run this command there, through ssh
            container: run this command inside it, through docker

        Answer:
            categories: list: name, status (OK, none or unseen) and metrics (docs/guide/trace.md)
                of each category
            files: list: written
            prepared: map: as trace prepare answers
            text: string: the findings
        """
        return results.Answer(self._verb("trace_report", locals()))

    def trace_suite(
        self,
        trace: str,
        *,
        output_dir: str,
        name: str | None = None,
        node: str | None = None,
        container: str | None = None,
    ) -> results.Answer:
        """Make a weighted suite of the forward attention of a profile.

        Arguments:
            trace: a trace of the PyTorch profiler: Chrome JSON, plain or gzip
            output_dir: a folder for kernels/suites.json, to be named with --path
            name: the suite's (default profile)
            node: run this command there, through ssh
            container: run this command inside it, through docker

        Answer:
            file: string: the suites.json written
            gpu_span_ms: real: what shares are of (ms)
            left_out: list: name, why, share_frac, calls, kernel_ms
            problems: list: name, problem, weight (calls), share_frac
            suite: string: its name
            text: string: the same for people
        """
        return results.Answer(self._verb("trace_suite", locals()))

    def import_report(self, report: str, *, output: str | None = None) -> results.Answer:
        """Repair the text of a foreign report and take it apart: sections and tables.

        Arguments:
            report: Markdown or plain text of anyone
            output: a new file for the repaired text

        Answer:
            file: string or null: where the text was written
            gaps: list: what could not be read, in sentences
            lines: int: lines, which keep their numbers
            repaired: string or null: what was mended
            sections: list: line, level, title
            tables: list: line, section, complete, headers, rows {line, cells}
            text: string: the repaired text; with output, what was done
        """
        return results.Answer(self._verb("import_report", locals()))

    def experience(self, folder: str) -> results.Answer:
        """How often each technique and cause of the catalogues was used in the sessions of a
        folder, what won, and how predictions came true.

        Arguments:
            folder: that sessions lie in

        Answer:
            calibration: map: share of a predicted logarithm that was measured (median; null below
                3 predictions), count
            copies: list: as of `site`; what copies share is counted once
            entries: list: id, kind; of a technique title, tried, won, invalid, sessions,
                predicted and measured (geometric means, or null), calibration, where; of a cause
                title, supported, refuted, undecided
            faults: list: session and message of those that could not be read
            never_tried: list: techniques of the catalogue
            sessions: int: that were read
            text: string: the same for people
            tries: int: closed iterations that tell of their variant
            unknown: int: those of which nothing tells what they added
        """
        return results.Answer(self._verb("experience", locals()))

    def loops(
        self, variant: str | None = None, other: str | None = None, *, recorded: str | None = None
    ) -> results.Answer:
        """How two variants divide the work: grid, who walks what, pros, cons, use case, and
        their figures where a session measured both; without names all loops.

        Arguments:
            variant: a kernel, a label of the session, or a loop's id (default: the session's
                start)
            other: what it is held against (default: the session's incumbent)
            recorded: the session to take figures from: a folder or archive, or its name in
                --sessions

        Answer:
            sides: list: name and loop (id, or null) of both; without names of all kernels
            text: string: the same for people, with the figures
        """
        return results.Answer(self._verb("loops", locals()))

    def dispatch_adopt(
        self,
        *,
        problem: str | None = None,
        suite: str | None = None,
        backend: Literal["cpu", "cuda"] | None = None,
        effort: Literal["quick", "standard", "thorough"] | None = None,
    ) -> results.Answer:
        """Build, judge and time here what a dispatch rule offers, and keep the pass for `best`.

        Arguments:
            problem: one problem, such as 'B=1 Hq=8 Sq=512 D=64 f32'
            suite: or problems of a suite: its name, or 'name:problem,pro*'
            backend: for which device of this machine (default: cpu)
            effort: how many processes, placements and rounds (default: quick)

        Answer:
            device: string: the device's name
            folder: string: where sessions of adopted rules lie
            rules: list: per problem rule (its place in the table, from 1), variant,
                configuration, problem, outcome (adopted, declined: a rival is faster, failed,
                served: it passed before, none: no rule is offered), reason, session, artifact_id,
                figures (problem, against, speedup, interval, outcome, event)
            table: string: the rules' file
            text: string: the same for people
        """
        return results.Answer(self._verb("dispatch_adopt", locals()))
