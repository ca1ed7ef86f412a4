# SPDX-License-Identifier: MIT
"""What verbs answer, as frozen objects. Times are in microseconds (us), speedups are ratios of the
incumbent's time to the candidate's: above 1 is faster. Figures come from the engine and nothing is
computed here; each object keeps the engine's whole answer (`to_dict()`), fields or not.
"""

from __future__ import annotations

import copy
import html
import json
import re
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar, Self

from . import _display

Row = Mapping[str, Any]


class Answer(dict[str, Any]):
    """The JSON object that a verb answered. `sdpa-wb command-reference` has the fields."""

    @property
    def text(self) -> str:
        """The answer for people, as the command line prints it; JSON where a verb has none."""
        return self.get("text") or json.dumps(self, indent=1, ensure_ascii=False)

    def _repr_markdown_(self) -> str:
        ticks = max(map(len, re.findall("`+", self.text)), default=0)
        fence = "`" * max(3, ticks + 1)  # nothing in the text can end the block
        return f"{fence}text\n{self.text}\n{fence}\n"

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(self.text)}</pre>"


@dataclass(frozen=True)
class Record:
    """An answer with typed fields. `of()` makes it from the engine's JSON."""

    _rows_of: ClassVar[str] = ""  # the field that is a table
    _answer: Row = field(repr=False, compare=False)

    @classmethod
    def of(cls, answer: Row) -> Self:
        named = {f.name: answer.get(f.name) for f in fields(cls) if f.name != "_answer"}
        for name, value in named.items():
            if name in ("interval",):
                named[name] = None if value is None else Interval.of(value)
            elif isinstance(value, list):
                named[name] = tuple(value)
        return cls(_answer=answer, **named)

    def to_dict(self) -> dict[str, Any]:
        """The engine's whole answer, a copy."""
        return copy.deepcopy(dict(self._answer))

    def rows(self) -> list[dict[str, Any]]:
        """The answer's table (per problem, item or finding); one row where it has none."""
        if not self._rows_of:
            return [self.to_dict()]
        return self.to_dict().get(self._rows_of) or []

    def to_pandas(self):
        """`rows()` as a pandas DataFrame. Raises ImportError where pandas is not installed."""
        try:
            import pandas
        except ImportError as fault:
            raise ImportError("to_pandas() needs pandas: pip install pandas") from fault
        return pandas.DataFrame(self.rows())

    def _facts(self) -> dict[str, Any]:
        names = [f.name for f in fields(self) if f.name not in ("_answer", self._rows_of)]
        answer = {name: self._answer.get(name) for name in names}
        return {key: value for key, value in answer.items() if value not in (None, [], {}, "")}

    def _repr_markdown_(self) -> str:
        rows = self.rows() if self._rows_of else []
        return _display.markdown(type(self).__name__, self._facts(), rows)

    def _repr_html_(self) -> str:
        rows = self.rows() if self._rows_of else []
        return _display.html_text(type(self).__name__, self._facts(), rows)


@dataclass(frozen=True)
class Interval(Record):
    """A confidence interval: `low` and `high` in its figure's unit, None where it says nothing;
    `confidence` 0 to 1."""

    low: float | None
    high: float | None
    confidence: float

    def __contains__(self, value: float) -> bool:
        return self.low is not None and self.high is not None and self.low <= value <= self.high


@dataclass(frozen=True)
class Iteration(Record):
    """One iteration of a session, as `iterate`, `tune` and `race` answer it.

    `outcome`: win, no_gain, invalid or stopped. `speedup` (ratio) over the incumbent, None where
    nothing was measured. `decision` of the hypothesis: supported, refuted or undecided. Its two
    answers: `mechanism`, whether the change helped (confirmed, not_confirmed or undecided), and
    `size` of the gain (within, above or below the prediction, or undecided). Both are None of an
    answer that was recorded before there were two. `problems` has medians in us. Of a search:
    `configuration` of what looks best, `evaluations` the 40 best, `tune` its counts and seconds.
    `stop_reason`: why the session should end now. `session`: the folder, of the module's own
    tune().
    """

    _rows_of: ClassVar[str] = "problems"
    iteration: int
    outcome: str
    invalidity: str | None
    message: str
    speedup: float | None
    interval: Interval | None
    decision: str
    mechanism: str | None
    size: str | None
    variant: str
    incumbent: str
    problems: tuple[Row, ...]
    stop_reason: str | None
    configuration: Mapping[str, int] | None
    evaluations: tuple[Row, ...] | None
    tune: Row | None
    session: str | None

    @property
    def won(self) -> bool:
        """It is the incumbent now, confirmed in fresh processes."""
        return self.outcome == "win"


@dataclass(frozen=True)
class Comparison(Record):
    """A variant timed in turns with others. `outcome`: faster, slower, same or ambiguous; `speedup`
    (ratio, above 1: the candidate is faster) is the geometric mean over the problems, of each the
    row in `problems` that is `fastest`: against the fastest of the others. `notes`: what of the
    machine is in every figure, such as a CPU quota."""

    _rows_of: ClassVar[str] = "problems"
    outcome: str
    speedup: float | None
    interval: Interval | None
    problems: tuple[Row, ...]
    notes: tuple[str, ...] | None


@dataclass(frozen=True)
class Measurement(Record):
    """One variant timed: per problem outcome, median_us, interval_us (us), gflop_per_s, None where
    nothing was measured; message says why. `notes`: what of the machine is in every figure."""

    _rows_of: ClassVar[str] = "problems"
    variant: str
    problems: tuple[Row, ...]
    notes: tuple[str, ...] | None


@dataclass(frozen=True)
class Verdict(Record):
    """One variant judged against scaled dot product attention: per problem outcome, message and the
    worst share of the error budget (fraction, above 1 fails)."""

    _rows_of: ClassVar[str] = "problems"
    # `pass` is a word of Python's.
    variant: str
    problems: tuple[Row, ...]

    @property
    def passed(self) -> bool:
        """Every problem that the variant claims passed."""
        return bool(self._answer["pass"])


@dataclass(frozen=True)
class Kernel(Record):
    """A kernel that can be found. `parameters`: the values that each tunable one may take."""

    name: str
    label: str
    about: str
    backend: str
    folder: str
    parameters: Mapping[str, list[int]]
    defaults: Mapping[str, int]
    techniques: tuple[str, ...]
    parent: str | None


@dataclass(frozen=True)
class Suite(Record):
    """A named list of problems, each with name, text form and weight."""

    _rows_of: ClassVar[str] = "problems"
    name: str
    about: str
    count: int
    problems: tuple[Row, ...] | None


@dataclass(frozen=True)
class Finding(Record):
    """What an analysis says of what was measured (docs/contracts/analyses.md). `figures` have their
    units in their names, `events` are ids of the log, `unseen` is what it could not see."""

    analysis: str
    statement: str
    problem: str
    figures: Row
    events: tuple[int, ...]
    unseen: str


@dataclass(frozen=True)
class Findings(Record):
    """All findings of a session or of files; `gaps`: what could not be read, and why."""

    _rows_of: ClassVar[str] = "findings"
    device: str
    findings: tuple[Finding, ...]
    gaps: tuple[Any, ...]
    text: str

    @classmethod
    def of(cls, answer: Row) -> Findings:
        made = tuple(Finding.of(item) for item in answer["findings"])
        return cls(answer, answer["device"], made, tuple(answer["gaps"]), answer["text"])

    def __iter__(self) -> Iterator[Finding]:
        return iter(self.findings)

    def __len__(self) -> int:
        return len(self.findings)


@dataclass(frozen=True)
class Ledger(Record):
    """What a session cost. `items`: per kind debits (count), quantity, its unit, and usd (USD, None
    where no rate was given). `total_usd` is None unless all of it has a rate (`complete`)."""

    items: Mapping[str, Row]
    total_usd: float | None
    complete: bool

    def rows(self) -> list[dict[str, Any]]:
        return [{"kind": kind, **item} for kind, item in self.to_dict()["items"].items()]


def __getattr__(name: str) -> Any:
    if name == "Variant":
        words = "results.Variant is results.Kernel now; a variant is what tensors.load() gives"
        warnings.warn(words, DeprecationWarning, stacklevel=2)
        return Kernel
    raise AttributeError(f"module {__name__} has no attribute {name}")
