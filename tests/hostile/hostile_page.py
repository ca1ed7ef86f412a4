# SPDX-License-Identifier: MIT
"""Prints table.json into docs/hostile.md, between its two markers; run it after a change of the
table. A test compares the two."""

import json
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "hostile.md"
BEGIN, END = "<!-- table: begin -->", "<!-- table: end -->"
TITLES = {
    "fault": "Faults of a candidate",
    "compiler": "Sources that attack the compiler",
    "cheat": "Cheats",
    "agent": "What agents were seen to do",
    "more": "More",
}
OUTCOME = {"pass": "harmless: passes", "none": "nothing is left"}


def outcome_of(row, case):
    if case is None:
        return "not on a CPU: " + row["not_on_cpu"]
    words = OUTCOME.get(case["word"], f"`{case['word']}`")
    if "or_word" in case:
        words += f" or `{case['or_word']}`"
    if case.get("message"):
        words += f", “{case['message']}”"
    if "known_gap" in row:
        words += ". **Known gap:** " + row["known_gap"]
    return words


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
            needs = ", ".join(case.get("needs", [])) if case else ""
            if case and case.get("selection") == "long":
                needs = ", ".join(filter(None, [needs, "long set"]))
            lines.append(
                f"| {row['fault']} | {name} | {stage} | {outcome_of(row, case)} | {needs} |"
            )
        lines.append("")
    return "\n".join(lines)


def main():
    table = json.loads((Path(__file__).parent / "table.json").read_text())
    before, _, rest = PAGE.read_text().partition(BEGIN)
    _, _, after = rest.partition(END)
    PAGE.write_text(f"{before}{BEGIN}\n\n{render(table)}\n{END}{after}")


if __name__ == "__main__":
    main()
