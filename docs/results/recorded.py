# SPDX-License-Identifier: MIT
"""What recorded sessions say of a kernel beside its rivals, read through the Python package."""

import json
import math
import os
import re
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SESSIONS = ROOT / "sessions"
BUILT_WITH = {"cuda": "CUDA", "cudnn": "cuDNN"}
REGIMES = ("burst", "sustained", "cold", "eager")
# A suite that repeats problems of others comes after them.
SUITES = ("n6", "iteration3", "v3", "short", "large_hdim", "decode", "chunked", "prefill",
          "unusual", "others", "ladder")  # fmt: skip


@dataclass(frozen=True)
class Beside:
    """One rival in the same turns: its median and the other's speedup over it."""

    us: float
    speedup: float
    low: float
    high: float
    outcome: str


@dataclass
class Row:
    """A kernel on a problem in one regime, in one session."""

    problem: str
    kernel: str
    regime: str
    device: str
    session: str
    time: str
    us: float = math.nan
    rivals: dict[str, Beside] = field(default_factory=dict)

    @property
    def fastest(self):
        return min(self.rivals, key=lambda name: self.rivals[name].us)

    @property
    def over_fastest(self):
        return self.rivals[self.fastest]


def session_names():
    """Sessions that are kept: archives with their report beside them. A demo's or a user's are
    folders, or are called as new sessions are."""
    names = (file.name.removesuffix(".tar.gz") for file in SESSIONS.glob("*.tar.gz"))
    kept = (name for name in names if (SESSIONS / f"{name}.md").is_file())
    return sorted(name for name in kept if not re.fullmatch(r"s-\d{4,}", name))


def archive_of(session):
    return SESSIONS / f"{session}.tar.gz"


def link(session, here):
    """A Markdown link from a page of the folder `here` to a session's report."""
    return f"[{session}]({os.path.relpath(SESSIONS / f'{session}.md', here)})"


def kernel_of(label):
    return label.partition("@")[0]


def read_rows(log, session):
    """Rows of the comparisons with rivals that a log (bytes) holds; the last of each counts."""
    rows, regime_of, device = {}, {}, ""
    for line in log.decode().splitlines():
        event = json.loads(line)
        what = event["payload"]
        if event["type"] == "environment_recorded":
            device = what["device"]["name"]
        elif event["type"] == "turn_measured":
            regime_of[event["seq"]] = what.get("regime", "burst") if what["plan"] == "hot" else None
        elif event["type"] == "comparison_made" and what["role"] == "rival" and what["problem"]:
            for regime, figures in regimes_of(what, regime_of):
                kernel = kernel_of(what["candidate"])
                if kernel.startswith("torch_") or not figures["speedup"]:
                    continue
                key = (what["problem"], kernel, regime)
                row = rows.setdefault(key, Row(*key, device, session, event["t"]))
                row.time, row.us = event["t"], figures["candidate_us"]
                row.rivals[kernel_of(what["against"])] = Beside(
                    figures["against_us"], figures["speedup"], figures["interval"]["low"],
                    figures["interval"]["high"], figures["outcome"],
                )  # fmt: skip
    return list(rows.values())


def rival_versions(log):
    """What PyTorch rivals said that they are, as words."""
    found = set()
    for line in log.decode().splitlines():
        if '"type":"verdict_given"' in line[:200]:
            said = json.loads(line)["payload"].get("versions") or {}
            if "torch" in said:
                built = [f"{word} {said[key]}" for key, word in BUILT_WITH.items() if key in said]
                found.add(f"PyTorch {said['torch']}" + ((built and f" ({', '.join(built)})") or ""))
    return found


def regimes_of(comparison, regime_of):
    """Pairs of a regime and its figures. The turns tell the regime of a hot comparison: older logs
    do not, or tell another one."""
    if comparison["plan"] != "hot":
        return [(comparison["plan"], comparison)]
    if comparison.get("regimes"):
        return [(regime, comparison["regimes"][regime]) for regime in ("burst", "sustained")]
    first, last = comparison["turns"]
    seen = {regime_of.get(seq) for seq in range(first, last + 1)} - {None}
    return [("sustained" if "sustained" in seen else "burst", comparison)]


class Recorded:
    """All sessions. `read_log(session)` gives the bytes of a log, `problems_of(suite)` the rows of
    the verb `suites`."""

    def __init__(self, read_log, problems_of):
        self.names = {}
        for suite in SUITES:
            for problem in problems_of(suite):
                self.names.setdefault(problem["problem"], (suite, problem["name"]))
        self.rows, self.versions = [], {}
        for name in session_names():
            log = read_log(name)
            self.rows += read_rows(log, name)
            self.versions[name] = rival_versions(log)

    def name_of(self, problem):
        """A suite's name, else the text, without the word causal."""
        if problem in self.names:
            return self.names[problem][1]
        short = problem.replace(" causal=none", "").replace(" causal=", " ")
        # As many key heads as heads and keys as queries need no word.
        short = re.sub(r"(Hq=(\d+)) Hkv=\2\b", r"\1", short)
        short = re.sub(r"(Sq=(\d+)) Skv=\2\b", r"\1", short)
        return f"`{short}`"

    def group_of(self, problem):
        """The part of a suite, as the tables are divided."""
        if problem not in self.names:
            return "problems of no suite"
        suite, name = self.names[problem]
        if suite == "prefill":
            return "prefill, " + ("grouped heads" if name.startswith("gqa") else
                                  "D " + re.findall(r"_D(\d+)_", name)[0])  # fmt: skip
        if suite == "chunked":
            return "chunked, 64 queries" if "Sq64" in name else "chunked, 2 to 16 queries"
        if suite == "decode":
            size = self.cache_mb(problem)
            return "decode, " + (
                "to 70 MB" if size < 100 else "to 300 MB" if size < 300 else "more"
            )
        if suite == "unusual":
            kind = "f32" if " f32" in problem else "masks" if "mask=" in problem else "head dims"
            return "unusual, " + kind
        return suite

    @staticmethod
    def cache_mb(problem):
        """Of K and V, 16 bits an element."""
        size = {name: int(figure) for name, figure in re.findall(r"\b(\w+)=(\d+)", problem)}
        return size["B"] * size["Hkv"] * size["Skv"] * 2 * size["D"] * 2 / 1e6

    @cached_property
    def newest(self):
        """By device, kernel, regime and problem: the newest row; one beside a single rival does not
        replace one beside several."""
        found = {}
        for row in sorted(self.rows, key=lambda row: (len(row.rivals) > 1, row.time)):
            found[row.device, row.kernel, row.regime, row.problem] = row
        return found

    def best(self, device, regime):
        """Of each problem the kernel that is furthest ahead, with its newest figures."""
        best = {}
        for row in self.newest.values():
            if (row.device, row.regime) == (device, regime):
                other = best.get(row.problem)
                if other is None or row.over_fastest.speedup > other.over_fastest.speedup:
                    best[row.problem] = row
        return self.in_order(best.values())

    def in_order(self, rows):
        """As the suites list their problems; others after them."""
        place = {problem: number for number, problem in enumerate(self.names)}
        return sorted(rows, key=lambda row: (place.get(row.problem, len(place)), row.problem))

    def versions_of(self, device):
        """A sentence: days and versions of PyTorch that the sessions of a device name."""
        here = [row for row in self.rows if row.device == device]
        days = sorted({row.time[:10] for row in here})
        versions = sorted({version for row in here for version in self.versions[row.session]})
        span = days[0] if len(days) == 1 else f"{days[0]} to {days[-1]}"
        return f"Sessions of {span}; {', '.join(versions)}."

    def of_kernel(self, kernel):
        return [row for key, row in self.newest.items() if key[1] == kernel]

    def devices(self):
        return sorted({row.device for row in self.rows})
