#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes what an editor completes playbooks from: `generate_lua_stub.py SDPA_WB FOLDER`.

FOLDER gets the verbs of the verb table that a playbook may call, with arguments, answers and the
table that a playbook returns, as annotations of the Lua language server (LuaCATS). The build runs
this whenever it links sdpa-wb, into playbooks/editor of its folder; no file of them is tracked.
"""

import json
import sys
import textwrap

import verb_table

TYPES = {
    "string": "string", "text": "string", "id": "string", "int": "integer", "real": "number",
    "bool": "boolean", "id_list": "string[]", "configuration": "table<string, integer>",
    "file_map": "table<string, string>", "edit_list": "table<string, string>[]",
    "proposal_list": "table<string, any>[]",
}  # fmt: skip

HEADER = """\
---@meta
-- SPDX-License-Identifier: MIT
-- For editors only: what `wb` offers and what a playbook returns (docs/guide/add_a_playbook.md).
-- Generated from the verb table by bindings/generate_lua_stub.py.

"""

PLAYBOOK = """\
---What a call that fails raises; it prints as its message.
---@class wb.Error
---@field code string usage, not_found, …
---@field message string
---@field where string

---What a playbook file returns.
---@class wb.Playbook
---@field name string
---@field about string becomes the session's title
---@field arguments? table<string, wb.PlaybookArgument> what --arguments NAME=VALUE may set
---@field open? wb.OpenArguments
---@field run fun(wb: wb.Verbs, args: table<string, string>): any

---@class wb.PlaybookArgument
---@field default? string
---@field doc? string"""


def camel(name):
    return "".join(part.capitalize() for part in name.split("_"))


def type_of(argument):
    if argument["kind"] == "enum":
        return "|".join(json.dumps(choice) for choice in argument["choices"])
    return TYPES[argument["kind"]]


def about(argument):
    unit = f" ({argument['unit']})" if "unit" in argument else ""
    span = f", {argument['min']:g} to {argument['max']:g}" if "max" in argument else ""
    return f"{argument['doc']}{unit}{span}"


def field(name, kind, text):
    """The words stand behind their field or, where they do not fit, above it."""
    line = f"---@field {name} {kind} {text}"
    if len(line) <= 100:
        return [line]
    words = textwrap.wrap(text, 96, break_long_words=False, break_on_hyphens=False)
    return [*(f"---{line}" for line in words), f"---@field {name} {kind}"]


def arguments_class(verb, all_optional=False):
    lines = [f"---@class wb.{camel(verb['name'])}Arguments"]
    for argument in verb["arguments"]:
        mark = "" if argument["required"] and not all_optional else "?"
        lines += field(argument["name"] + mark, type_of(argument), about(argument))
    return "\n".join(lines)


def answer_class(verb):
    lines = [f"---@class wb.{camel(verb['name'])}Answer"]
    for name, meaning in verb["result"].items():
        _, kind, may_be_null = verb_table.field_type(verb, name, meaning)
        mark = "?" if may_be_null else ""  # null is nil in Lua
        lines += field(name + mark, kind, meaning.partition(": ")[2])
    return "\n".join(lines)


def function(verb):
    opening = verb["doc"][0].upper() + verb["doc"][1:] + "."
    lines = [f"---{line}" for line in textwrap.wrap(opening, 96)]
    name = camel(verb["name"])
    needs = any(argument["required"] for argument in verb["arguments"])
    if verb["arguments"]:
        lines.append(f"---@param arguments{'' if needs else '?'} wb.{name}Arguments")
    lines.append(f"---@return wb.{name}Answer")
    lines.append(f"function wb.{verb['name']}({'arguments' if verb['arguments'] else ''}) end")
    return "\n".join(lines)


def main(program, folder):
    table = verb_table.read(program)
    (opening,) = (verb for verb in table if verb["name"] == "open")
    offered = [verb for verb in table if verb["in_playbook"]]
    functions = (
        "---The first argument of `run`: one function a verb.\n---@class wb.Verbs\nlocal wb = {}"
    )
    files = {
        "wb.lua": [PLAYBOOK, functions, *map(function, offered), "return wb"],
        "arguments.lua": [
            "---Arguments of the verb open; the command line's come before them.\n"
            + arguments_class(opening, all_optional=True),
            *(arguments_class(verb) for verb in offered if verb["arguments"]),
        ],
        "answers.lua": [answer_class(verb) for verb in offered],
    }
    texts = {name: "\n\n".join([HEADER.rstrip(), *parts]) + "\n" for name, parts in files.items()}
    verb_table.write(folder, texts, "*.lua")
    return 0


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit("usage: generate_lua_stub.py SDPA_WB FOLDER")
    sys.exit(main(*sys.argv[1:]))
