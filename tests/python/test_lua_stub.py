# SPDX-License-Identifier: MIT
"""What editors of playbooks read says what the verb table says, and hangs together."""

import json
import re
import subprocess
import sys

import pytest
from support.commands import ROOT

BASIC = {"string", "integer", "number", "boolean", "any", "table"}


@pytest.fixture(scope="module")
def stub(build, tmp_path_factory):
    """What the generator writes: {name: text}."""
    folder = tmp_path_factory.mktemp("editor")
    program = ROOT / "bindings" / "generate_lua_stub.py"
    subprocess.run([sys.executable, "-S", program, build / "sdpa-wb", folder], check=True)
    return {path.name: path.read_text() for path in folder.iterdir()}


def test_the_build_or_the_installation_has_it(build, stub):
    assert set(stub) == {"answers.lua", "arguments.lua", "wb.lua"}
    for place in (build, build.parent / "share" / "sdpa-workbench"):
        folder = place / "playbooks" / "editor"
        if folder.exists():
            assert {path.name: path.read_text() for path in folder.iterdir()} == stub
            return
    pytest.fail(f"neither {build} nor its share/ has playbooks/editor")


def test_it_has_every_verb_of_a_playbook(build, stub):
    told = subprocess.run([build / "sdpa-wb", "verb-table"], capture_output=True, check=True)
    text = "\n".join(stub[name] for name in sorted(stub))
    functions = re.findall(r"^function wb\.(\w+)\((arguments)?\) end$", text, re.M)
    table = [verb for verb in json.loads(told.stdout) if verb["in_playbook"]]
    assert [name for name, _ in functions] == [verb["name"] for verb in table]
    for verb in table:
        name = "".join(part.capitalize() for part in verb["name"].split("_"))
        for argument in verb["arguments"]:
            mark = "" if argument["required"] else "?"
            held = text.split(f"---@class wb.{name}Arguments\n")[1].split("---@class ")[0]
            assert f"---@field {argument['name']}{mark} " in held, (verb["name"], argument["name"])


def test_every_type_it_names_exists(stub):
    text = "\n".join(stub[name] for name in sorted(stub))
    assert all(part.startswith("---@meta\n") for part in stub.values())
    classes = set(re.findall(r"^---@class (\S+)$", text, re.M))
    fields = re.findall(r"^---@field \w+\?? (table<\w+, [\w.]+>|fun\(.*\): \w+|\S+)", text, re.M)
    named = re.findall(r"^---@(?:param \w+\??|return) (\S+)$", text, re.M)
    assert len(fields) > 100
    for kind in [*fields, *named]:
        for word in re.findall(r"[A-Za-z_.]+", re.sub(r'"[^"]*"', "", kind)):
            assert word.strip(":") in BASIC | classes | {"fun", "wb", "args"}, kind
    for line in text.splitlines():
        assert re.match(r"(--|local wb = \{\}$|function wb\.|return wb$|$)", line), line
