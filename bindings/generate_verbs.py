#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes the package's verb methods from the verb table: `generate_verbs.py SDPA_WB FOLDER`.

FOLDER gets `_verbs_*.py`: one class a file, and `_verbs_answers.py` with the types of what they
answer. The build runs this whenever it links sdpa-wb, into the folder in which it assembles the
package (workbench/cli/CMakeLists.txt); no file of them is tracked.
"""

import json
import re
import sys
import textwrap

import answer_types
import verb_table

WIDTH = 100
TYPES = {
    "string": "str", "text": "str", "id": "str", "int": "int", "real": "float", "bool": "bool",
    "id_list": "Sequence[str]", "configuration": "Mapping[str, int]",
    "file_map": "Mapping[str, str]", "edit_list": "Sequence[Mapping[str, str]]",
    "proposal_list": "Sequence[Mapping[str, Any]]",
}  # fmt: skip
KEYWORDS = {"from", "in"}
# They look at a session where there is one, whatever the table's word for it.
ALSO_ANYWHERE = {"analyze", "show", "new", "audit"}
# Whoever calls them does not hold the session, or not yet.
BY_FOLDER = {"open", "run", "resume", "get_job", "cancel_job"}

# They search: what they ask for may be evaluated elsewhere.
EVALUATING = {
    "executor: Executor | None = None":
        "executor: who evaluates, of concurrent.futures (default: this process; "
        "docs/guide/python.md)",
    "in_flight: int | None = None":
        "in_flight: evaluations that it gets at a time (default: the pool's number of workers "
        "where it has one, else 4), 1 to 1000",
}  # fmt: skip
SEARCHING = {"tune", "race"}

HEADER = '''\
# SPDX-License-Identifier: MIT
"""{about}

Generated from the verb table by bindings/generate_verbs.py.
"""

{imports}


class {name}:
    """{about}"""

    def _verb(self, verb: str, given: dict[str, Any]) -> Any:
        raise NotImplementedError

'''


def part_of(verb):
    if verb["name"] in BY_FOLDER:
        return "folder"
    if verb["session"] == "optional" or verb["name"] in ALSO_ANYWHERE:
        return "anywhere"
    return {"none": "alone", "reads": "reading"}.get(verb["session"], "session")


PARTS = {
    "folder": ("FolderVerbs", "Verbs that begin a session, go on with one or look at its job."),
    "session": ("SessionVerbs", "Verbs that write into one session."),
    "reading": ("ReadingVerbs", "Verbs that read one session."),
    "anywhere": ("AnywhereVerbs", "Verbs with or without a session."),
    "alone": ("AloneVerbs", "Verbs that need no session."),
}
OF_A_SESSION = ("session", "reading")


def python_name(name):
    return name + "_" if name in KEYWORDS else name


def type_of(argument):
    if argument["kind"] == "enum":
        return f"Literal[{', '.join(json.dumps(choice) for choice in argument['choices'])}]"
    return TYPES[argument["kind"]]


def parameter(argument):
    if argument["required"]:
        return f"{python_name(argument['name'])}: {type_of(argument)}"
    return f"{python_name(argument['name'])}: {type_of(argument)} | None = None"


def wrapped(text, indent):
    text = text.replace("\\", "\\\\").replace('"""', "'''")
    return textwrap.wrap(text, 98, initial_indent=indent, subsequent_indent=indent + "    ",
                         break_long_words=False, break_on_hyphens=False)  # fmt: skip


def docstring(verb):
    opening = verb["doc"][0].upper() + verb["doc"][1:] + "."
    lines = textwrap.wrap(opening, 86)
    lines = [f'        """{lines[0]}', *(f"        {line}" for line in lines[1:])]
    if verb["arguments"]:
        lines += ["", "        Arguments:"]
    for argument in verb["arguments"]:
        unit = f" ({argument['unit']})" if "unit" in argument else ""
        span = f", {argument['min']:g} to {argument['max']:g}" if "max" in argument else ""
        lines += wrapped(
            f"{python_name(argument['name'])}: {argument['doc']}{unit}{span}", " " * 12
        )
    if verb["name"] in SEARCHING:
        for text in EVALUATING.values():
            lines += wrapped(text, " " * 12)
    if verb["result"]:
        lines += ["", "        Answer:"]
    for name, meaning in verb["result"].items():
        lines += wrapped(f"{name}: {meaning}", " " * 12)
    return "\n".join([*lines, '        """'])


def method(verb, part):
    arguments = verb["arguments"]
    positional = [a for a in arguments if a.get("positional")]
    named = [a for a in arguments if not a.get("positional")]
    words = ["self", *map(parameter, sorted(positional, key=lambda a: not a["required"]))]
    if part == "folder":
        folder = "session: str | PathLike[str]"
        words.append(folder + " | None = None" if verb["session"] == "creates" else folder)
        words.sort(key=lambda word: "= None" in word)  # Python wants those without a default first
    words += ["*"] if named or part in OF_A_SESSION else []
    words += map(parameter, sorted(named, key=lambda a: not a["required"]))
    if verb["name"] in SEARCHING:
        words += EVALUATING
    if part in OF_A_SESSION and not verb["reads_only"]:
        words.append("request_id: str | None = None")
    if words[-1] == "*":
        words.pop()
    answer = answer_types.class_of(verb)
    made = f"{answer}.of" if verb["name"] in answer_types.RECORDS else answer
    return (
        f"{definition(verb['name'], words, answer)}\n{docstring(verb)}\n"
        f'        return {made}(self._verb("{verb["name"]}", locals()))\n'
    )


def definition(name, words, answer):
    """The line of `def`, or one a parameter where it is too long."""
    line = f"    def {name}({', '.join(words)}) -> {answer}:"
    if len(line) <= WIDTH:
        return line
    return "\n".join([f"    def {name}(", *(f"        {w}," for w in words), f"    ) -> {answer}:"])


def imports_of(text):
    """The import lines for those names that the text uses."""
    used = set(re.findall(r"\w+", text))
    found = []
    for module, names in (
        ("collections.abc", ("Mapping", "Sequence")),
        ("concurrent.futures", ("Executor",)),
        ("os", ("PathLike",)),
        ("typing", ("Any", "Literal")),
    ):
        wanted = [name for name in names if name in used]
        if wanted:
            found.append(f"from {module} import {', '.join(wanted)}")
    found.append("")
    if "results" in used:
        found.append("from . import results")
    answers = sorted(set(re.findall(r"-> (\w+Answer):", text)))
    if answers:
        found += ["from ._verbs_answers import (", *(f"    {name}," for name in answers), ")"]
    return "\n".join(found)


def module(part, table):
    name, about = PARTS[part]
    methods = "\n".join(method(verb, part) for verb in table if part_of(verb) == part)
    imports = imports_of(f"-> Any\n{methods}")
    return HEADER.format(name=name, about=about, imports=imports) + methods


OPENING = '''\
# SPDX-License-Identifier: MIT
"""Session.open and its arguments, for editors and help().

Generated from the verb table by bindings/generate_verbs.py.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike
from typing import TYPE_CHECKING, Any, Literal, Self, TypedDict

if TYPE_CHECKING:
    from .workbench import Workbench


class OpenArguments(TypedDict, total=False):
    """The arguments of the verb `open`, as Session.open takes them."""

{fields}


class SessionOpening:
    """How a session begins."""

    @classmethod
    def _open(
        cls,
        folder: str | PathLike[str] | None,
        workbench: Workbench | None,
        arguments: Mapping[str, Any],
    ) -> Self:
        raise NotImplementedError

    @classmethod
    def open(
        cls,
        folder: str | PathLike[str] | None = None,
        *,
        workbench: Workbench | None = None,
        {parameters},
    ) -> Self:
{docstring}
        given = {{name: value for name, value in locals().items() if value is not None}}
        for own in ("cls", "folder", "workbench"):
            given.pop(own, None)
        return cls._open(folder, workbench, given)
'''


def opening(verb):
    """The module with Session.open: the verb `open` as a class method that gives the session."""
    arguments = verb["arguments"]
    text = {**verb, "result": {}}
    lines = docstring(text).splitlines()
    own = [
        "folder: the new session's (default: the next name in the workbench's `sessions`)",
        "workbench: has the options, and belongs to this session from then on",
    ]
    place = lines.index("        Arguments:") + 1
    lines[place:place] = [line for one in own for line in wrapped(one, " " * 12)]
    return OPENING.format(
        fields="\n".join(f"    {python_name(a['name'])}: {type_of(a)}" for a in arguments),
        parameters=",\n        ".join(map(parameter, arguments)),
        docstring="\n".join(lines),
    )


def main(program, folder):
    table = verb_table.read(program)
    files = {f"_verbs_{part}.py": module(part, table) for part in PARTS}
    (begins,) = (verb for verb in table if verb["name"] == "open")
    files["_verbs_opening.py"] = opening(begins)
    files["_verbs_answers.py"] = answer_types.module(table)
    verb_table.write(folder, files, "_verbs_*.py")
    return 0


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit("usage: generate_verbs.py SDPA_WB FOLDER")
    sys.exit(main(*sys.argv[1:]))
