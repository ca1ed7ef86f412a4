# SPDX-License-Identifier: MIT
"""One more verb in the table, and it is a method of the package, a function in the editor's stub, a
tool for agents and a tool of MCP: nothing else has to name it. That a file and a line put it into
the table, the command line and playbooks is in tests/unit/cli/added_verb_test.cpp."""

import json
import subprocess
import sys

import pytest
from support.commands import ROOT

GREET = {
    "name": "greet",
    "doc": "say hello",
    "arguments": [
        {"name": "whom", "kind": "string", "doc": "the one to be greeted", "required": False,
         "positional": True},
        {"name": "loud", "kind": "bool", "doc": "with an exclamation mark", "required": False},
    ],
    "result": {"greeting": "string: the words", "loud": "bool: as asked for"},
    "session": "none",
    "long": False,
    "reads_only": True,
    "destructive": False,
    "in_playbook": True,
}  # fmt: skip


@pytest.fixture
def table(build):
    told = subprocess.run([build / "sdpa-wb", "verb-table"], capture_output=True, check=True)
    return [*json.loads(told.stdout), GREET]


@pytest.fixture
def program(table, tmp_path):
    """What says `verb-table` as a program with that verb would."""
    (tmp_path / "table.json").write_text(json.dumps(table))
    path = tmp_path / "sdpa-wb"
    path.write_text(f"#!/bin/sh\ncat '{tmp_path / 'table.json'}'\n")
    path.chmod(0o755)
    return path


def generated(script, program, folder):
    folder.mkdir()
    words = [sys.executable, ROOT / "bindings" / script, program, folder]
    subprocess.run(words, check=True)
    return {path.name: path.read_text() for path in folder.iterdir()}


def test_it_is_a_method_of_the_package(program, tmp_path):
    made = generated("generate_verbs.py", program, tmp_path / "package")
    method = made["_verbs_alone.py"].split("    def greet(")[1]
    assert method.startswith("self, whom: str | None = None, *, loud: bool | None = None)")
    assert '"""Say hello.' in method
    assert "whom: the one to be greeted" in method
    assert "greeting: string: the words" in method


def test_it_is_a_function_for_editors_of_playbooks(program, tmp_path):
    made = generated("generate_lua_stub.py", program, tmp_path / "editor")
    assert "---Say hello.\n" in made["wb.lua"]
    assert "function wb.greet(arguments) end" in made["wb.lua"]
    assert "---@field whom? string the one to be greeted" in made["arguments.lua"]
    assert "---@field greeting string the words" in made["answers.lua"]


def test_it_is_a_tool_for_agents_and_of_mcp(package, table, monkeypatch):
    schemas = package._tool_schemas
    monkeypatch.setattr(schemas._core, "verb_table", lambda: table)
    schemas.verbs.cache_clear()
    try:
        assert "greet" in schemas.names_of("full")
        for style, inputs in (("anthropic", "input_schema"), ("mcp", "inputSchema")):
            (tool,) = (t for t in schemas.list_tools(style, "full") if t["name"] == "greet")
            assert tool["description"] == "Say hello."
            assert set(tool[inputs]["properties"]) == {"whom", "loud"}
        assert tool["annotations"]["readOnlyHint"]
        names = [t["function"]["name"] for t in schemas.list_tools("openai", "full")]
        assert names[-1] == "greet"
    finally:
        schemas.verbs.cache_clear()
