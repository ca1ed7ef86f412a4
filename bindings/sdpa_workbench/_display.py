# SPDX-License-Identifier: MIT
"""Tables for notebooks. Text from a session is untrusted, so it is escaped."""

import html
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

MOST_ROWS = 40


def cell(value: Any) -> str:
    """One line for a cell; figures as %g with four digits."""
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, Mapping):
        if {"low", "high"} <= set(value):
            return f"[{cell(value['low'])}, {cell(value['high'])}]"
        return " ".join(f"{key}={cell(item)}" for key, item in value.items())
    if isinstance(value, (list, tuple)):
        return ", ".join(map(cell, value))
    return " ".join(str(value).split())


def _columns(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    names: dict[str, None] = {}
    for row in rows:
        names.update(dict.fromkeys(row))
    return list(names)


def _shown(rows: Iterable[Mapping[str, Any]]) -> tuple[list[Mapping[str, Any]], str]:
    rows = list(rows)
    left_out = len(rows) - MOST_ROWS
    return rows[:MOST_ROWS], f"… and {left_out} more" if left_out > 0 else ""


def markdown_text(text: str) -> str:
    """`text` escaped so that Markdown shows it literally."""
    return "".join("\\" + char if char in r"\`*_{}[]<>()#+!|$~" else char for char in text)


def markdown(title: str, facts: Mapping[str, Any], rows: Iterable[Mapping[str, Any]] = ()) -> str:
    lines = [f"**{markdown_text(title)}**", ""]
    lines += [f"- {key}: {markdown_text(cell(value))}" for key, value in facts.items()]
    shown, rest = _shown(rows)
    if shown:
        names = _columns(shown)
        lines += [
            "",
            "| " + " | ".join(map(markdown_text, names)) + " |",
            "|---" * len(names) + "|",
        ]
        for row in shown:
            lines.append(
                "| " + " | ".join(markdown_text(cell(row.get(name))) for name in names) + " |"
            )
    if rest:
        lines += ["", rest]
    return "\n".join(lines) + "\n"


def html_text(title: str, facts: Mapping[str, Any], rows: Iterable[Mapping[str, Any]] = ()) -> str:
    def tag(name: str, text: str) -> str:
        return f"<{name}>{html.escape(text)}</{name}>"

    parts = [f"<p><strong>{html.escape(title)}</strong></p>", "<ul>"]
    parts += [tag("li", f"{key}: {cell(value)}") for key, value in facts.items()]
    parts.append("</ul>")
    shown, rest = _shown(rows)
    if shown:
        names = _columns(shown)
        parts.append("<table><tr>" + "".join(tag("th", name) for name in names) + "</tr>")
        for row in shown:
            cells = "".join(tag("td", cell(row.get(name))) for name in names)
            parts.append(f"<tr>{cells}</tr>")
        parts.append("</table>")
    return "".join(parts) + (tag("p", rest) if rest else "")
