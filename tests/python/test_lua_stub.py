# SPDX-License-Identifier: MIT
"""playbooks/editor says what the verb table says, in annotations that hang together."""

import json
import re
import subprocess
import sys

from support.commands import ROOT

STUB = ROOT / "playbooks" / "editor"
BASIC = {"string", "integer", "number", "boolean", "any", "table"}


def test_the_stub_is_generated(build, tmp_path):
    program = ROOT / "bindings" / "generate_lua_stub.py"
    subprocess.run([sys.executable, program, build / "sdpa-wb", tmp_path], check=True)
    for folder in (STUB, tmp_path):
        names = sorted(path.name for path in folder.iterdir())
        assert names == ["answers.lua", "arguments.lua", "wb.lua"]
    for file in tmp_path.iterdir():
        assert (STUB / file.name).read_text() == file.read_text(), (
            "run bindings/generate_lua_stub.py build/release/sdpa-wb"
        )


def whole_stub():
    return "\n".join(path.read_text() for path in sorted(STUB.iterdir()))


def test_it_has_every_verb_of_a_playbook(build):
    told = subprocess.run([build / "sdpa-wb", "verb-table"], capture_output=True, check=True)
    text = whole_stub()
    functions = re.findall(r"^function wb\.(\w+)\((arguments)?\) end$", text, re.M)
    table = [verb for verb in json.loads(told.stdout) if verb["in_playbook"]]
    assert [name for name, _ in functions] == [verb["name"] for verb in table]
    for verb in table:
        name = "".join(part.capitalize() for part in verb["name"].split("_"))
        for argument in verb["arguments"]:
            mark = "" if argument["required"] else "?"
            held = text.split(f"---@class wb.{name}Arguments\n")[1].split("---@class ")[0]
            assert f"---@field {argument['name']}{mark} " in held, (verb["name"], argument["name"])


def test_every_type_it_names_exists():
    text = whole_stub()
    assert all(path.read_text().startswith("---@meta\n") for path in STUB.iterdir())
    classes = set(re.findall(r"^---@class (\S+)$", text, re.M))
    fields = re.findall(r"^---@field \w+\?? (table<\w+, [\w.]+>|fun\(.*\): \w+|\S+)", text, re.M)
    named = re.findall(r"^---@(?:param \w+\??|return) (\S+)$", text, re.M)
    assert len(fields) > 100
    for kind in [*fields, *named]:
        for word in re.findall(r"[A-Za-z_.]+", re.sub(r'"[^"]*"', "", kind)):
            assert word.strip(":") in BASIC | classes | {"fun", "wb", "args"}, kind
    for line in text.splitlines():
        assert re.match(r"(--|local wb = \{\}$|function wb\.|return wb$|$)", line), line
