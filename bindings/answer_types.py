# SPDX-License-Identifier: MIT
"""The classes of what verbs answer: which one a verb has, and the module that generate_verbs.py
writes with those that are made of the table."""

import json

import verb_table

# Verbs whose answer has a class of its own (results.py).
RECORDS = {
    "iterate": "Iteration", "tune": "Iteration", "race": "Iteration", "compare": "Comparison",
    "measure": "Measurement", "check": "Verdict", "analyze": "Findings",
}  # fmt: skip

HEADER = '''\
# SPDX-License-Identifier: MIT
"""What verbs answer, with the type of each field for editors and type checkers.

Generated from the verb table by bindings/generate_verbs.py.
"""

from typing import TYPE_CHECKING, Any, Literal, overload

from .results import Answer
'''


def class_of(verb):
    """The class of what a verb answers, as the module of its method names it."""
    if verb["name"] in RECORDS:
        return f"results.{RECORDS[verb['name']]}"
    return f"{camel(verb['name'])}Answer"


def camel(name):
    return "".join(part.capitalize() for part in name.split("_"))


def class_text(verb):
    """A dict that has these keys, each with its type. It is no TypedDict, which would have no
    `.text` and be no Answer. An overload for any `str` would keep editors from completing keys."""
    lines = [f"class {class_of(verb)}(Answer):", f'    """What `{verb["name"]}` answers."""']
    if not verb["result"]:
        return "\n".join(lines) + "\n"
    lines += ["", "    if TYPE_CHECKING:", ""]
    several = len(verb["result"]) > 1
    for field, meaning in verb["result"].items():
        kind, _, may_be_null = verb_table.field_type(verb, field, meaning)
        kind += " | None" if may_be_null and kind != "Any" else ""
        lines += ["        @overload"] if several else []
        lines.append(taken(f"Literal[{json.dumps(field)}]", kind))
    lines += [taken("str", "Any")] if several else []
    first = lines.index("    if TYPE_CHECKING:") + 2
    lines[first] += "  # type: ignore[override]"  # narrower than a dict
    return "\n".join(lines) + "\n"


def taken(key, kind):
    return f"        def __getitem__(self, key: {key}, /) -> {kind}: ..."


def module(table):
    own = [verb for verb in table if verb["name"] not in RECORDS]
    return "\n\n".join([HEADER, *map(class_text, own)])
