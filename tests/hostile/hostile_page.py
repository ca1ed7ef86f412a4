# SPDX-License-Identifier: MIT
"""Prints table.json into docs/results/hostile.md and hostile_gpu.md, between their two markers; run
it after a change of the table. A test compares them."""

import json
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
RESULTS = ROOT / "docs" / "results"
BEGIN, END = "<!-- table: begin -->", "<!-- table: end -->"
TITLES = {
    "fault": "Faults of a candidate",
    "compiler": "Sources that attack the compiler",
    "cheat": "Cheats",
    "agent": "What agents were seen to do",
    "more": "More",
}
GPU_TITLES = {
    "gpu_fault": "Faults of a candidate on a GPU",
    "gpu_cheat": "Cheats on a GPU",
    "gpu_more": "More on a GPU",
}
OUTCOME = {
    "pass": "harmless: passes",
    "none": "nothing is left",
    "not_counted": "the turn does not count",
}


def outcome_of(row, case):
    if case is None:
        return "not on a CPU: " + row["not_on_cpu"]
    words = OUTCOME.get(case["word"], f"`{case['word']}`")
    if "or_word" in case:
        words += f" or `{case['or_word']}`"
    if case.get("message"):
        words += f", “{case['message']}”"
    if "known_gap" in row:
        words += ". **Known gap** (below)"
    if "expected_missed" in case:
        today = OUTCOME.get(case["today"], f"`{case['today']}`")
        words += f". **Not found today** ({today}; below)"
    return words


def reasons_of(told):
    """A list for below a table: why a gap is there. `told`: pairs of a name and its reason."""
    listed = [f"- `{name}`: {reason}." for name, reason in told]
    return ["", *listed] if listed else []


def needs_of(case):
    needs = case.get("needs", []) if case else []
    if case and case.get("selection") == "long":
        needs = [*needs, "long set"]
    return ", ".join(needs)


def render_gpu(table):
    lines = []
    for group, title in GPU_TITLES.items():
        cases = [case for case in table["gpu_cases"] if case["group"] == group]
        missed = sum("expected_missed" in case for case in cases)
        lines += [
            f"### {title}",
            "",
            f"{len(cases)} rows, {missed} not found today.",
            "",
            "| fault | candidate | shows at | outcome | needs |",
            "|---|---|---|---|---|",
        ]
        for case in cases:
            stage = f"{case['stage']}, {case['plan']}" if "plan" in case else case["stage"]
            lines.append(
                f"| {case['fault']} | `gpu/{case['name']}` | {stage} | {outcome_of({}, case)} | "
                f"{needs_of(case)} |"
            )
        lines += reasons_of(
            (f"gpu/{case['name']}", case["expected_missed"])
            for case in cases
            if "expected_missed" in case
        )
        lines.append("")
    return "\n".join(lines)


def render_edges(table):
    lines = [
        "### Wrong in what the manifest claims",
        "",
        "Right on ordinary shapes; the drawn runs of a verdict find them "
        "([measurement.md](../contracts/measurement.md#drawn-runs)). Found: of so many runs of "
        "`check` at its default number on the problem of `tests/hostile/edges.py`, which measures "
        "it (2026-11-28, Intel Xeon of 16 CPUs, g++ 13.3; `edges/head_of_33`: five times 20, the "
        "first with 17).",
        "",
        "| wrong in | candidate | found |",
        "|---|---|---|",
    ]
    for case in table["edge_cases"]:
        found = case.get("found", "not measured")
        lines.append(f"| {case['fault']} | `edges/{case['name']}` | {found} |")
    return "\n".join([*lines, ""])


def render(table):
    cases = {case["name"]: case for case in table["cases"]}
    lines = []
    for group, title in TITLES.items():
        rows = [row for row in table["rows"] if row["group"] == group]
        gaps = sum("known_gap" in row for row in rows)
        elsewhere = sum("not_on_cpu" in row for row in rows)
        lines += [
            f"### {title}",
            "",
            f"{len(rows)} rows, {gaps} with a known gap, {elsewhere} not on a CPU.",
            "",
            "| fault | candidate | shows at | outcome | needs |",
            "|---|---|---|---|---|",
        ]
        for row in rows:
            case = cases.get(row.get("case"))
            name = f"`{case['name']}`" if case else ""
            stage = case["stage"] if case else ""
            words = outcome_of(row, case)
            lines.append(f"| {row['fault']} | {name} | {stage} | {words} | {needs_of(case)} |")
        lines += reasons_of((row["case"], row["known_gap"]) for row in rows if "known_gap" in row)
        lines.append("")
    return "\n".join(lines) + "\n" + render_edges(table)


def pages(results=RESULTS):
    """File and text of each page, as the table has it now. What stands outside the two markers of a
    page stays."""
    table = json.loads((Path(__file__).parent / "table.json").read_text())
    made = {}
    for name, rows in (("hostile.md", render(table)), ("hostile_gpu.md", render_gpu(table))):
        before, _, rest = (results / name).read_text().partition(BEGIN)
        _, _, after = rest.partition(END)
        made[results / name] = f"{before}{BEGIN}\n\n{rows}\n{END}{after}"
    return made


def main():
    for page, text in pages().items():
        page.write_text(text)


if __name__ == "__main__":
    main()
