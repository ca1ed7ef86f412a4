# SPDX-License-Identifier: MIT
"""A verb costs two new files (its source and its test) and one line of verbs/verb_list.inc.

What Python, agents and editors have of it is made of the table: one more verb there, and it is a
method of the package, a function in the editor's stub, a tool for agents and a tool of MCP. Nothing
that is generated is tracked, so nothing has to be generated anew by hand. That file and line put it
into the table, the command line and playbooks is in tests/unit/cli/added_verb_test.cpp."""

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


def test_no_tracked_file_is_generated_from_the_table():
    if not (ROOT / ".git").exists():
        pytest.skip("no checkout")
    words = ["git", "grep", "-l", "Generated from the verb table"]
    found = subprocess.run(words, cwd=ROOT, capture_output=True, text=True).stdout.splitlines()
    sources = ["answer_types.py", "generate_lua_stub.py", "generate_verbs.py"]
    assert found == [*(f"bindings/{name}" for name in sources), "tests/python/test_added_verb.py"]


def test_the_build_generates_whenever_it_links_the_program():
    """So a new line of the list is enough: the build reads the list, and the program is newer."""
    rules = (ROOT / "workbench" / "cli" / "CMakeLists.txt").read_text()
    after_linking = rules.split("TARGET sdpa-wb POST_BUILD")[1]
    for script in ("generate_verbs.py", "generate_lua_stub.py"):
        assert script in after_linking
    for path in (ROOT / "bindings").glob("*.py"):  # and where what writes them has changed
        if path.name != "generate_core_stub.py":
            assert f'"${{generators}}/{path.name}"' in rules.split("LINK_DEPENDS")[1]


def test_it_is_a_method_of_the_package(program, tmp_path):
    made = generated("generate_verbs.py", program, tmp_path / "package")
    method = made["_verbs_alone.py"].split("    def greet(")[1]
    assert method.startswith("self, whom: str | None = None, *, loud: bool | None = None)")
    assert '"""Say hello.' in method
    assert "whom: the one to be greeted" in method
    assert "greeting: string: the words" in method
    assert "-> GreetAnswer:" in method
    answer = made["_verbs_answers.py"].split("class GreetAnswer(Answer):")[1]
    assert '(self, key: Literal["greeting"], /) -> str: ...' in answer
    assert '(self, key: Literal["loud"], /) -> bool: ...' in answer


def test_a_field_without_a_type_is_refused_with_what_to_write(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "bindings"))
    import verb_table

    with pytest.raises(SystemExit, match=r"greet says that loud is `flag`, .* one of string, int"):
        verb_table.field_type(GREET, "loud", "flag: as asked for")


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
