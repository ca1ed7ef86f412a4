# SPDX-License-Identifier: MIT
"""What the build makes of the verb table: methods of the package, typed answers, what editors of
playbooks read; and one more verb in the table, found by all of them."""

import ast
import importlib
import inspect
import json
import pickle
import re
import subprocess
import sys
from pathlib import Path

import pytest
from support.commands import ROOT

GENERATE = ROOT / "bindings" / "generate_verbs.py"
TYPES = {"string": "str", "int": "int", "real": "float", "bool": "bool", "list": "list[Any]",
         "map": "dict[str, Any]", "any": "Any"}  # fmt: skip


@pytest.fixture(scope="module")
def table(build):
    told = subprocess.run([build / "sdpa-wb", "verb-table"], capture_output=True, check=True)
    return json.loads(told.stdout)


@pytest.fixture(scope="module")
def generated(build, tmp_path_factory):
    """What the generator writes: {name: text}. `-S`: it runs where no package is installed."""
    folder = tmp_path_factory.mktemp("generated")
    words = [sys.executable, "-S", GENERATE, build / "sdpa-wb", folder]
    subprocess.run(words, check=True)
    return {path.name: path.read_text() for path in folder.iterdir()}


def test_the_package_has_the_methods_of_its_program(package, generated):
    """The build, and pip's, made them anew with the program, and no older one is left."""
    folder = Path(package.__file__).parent
    assert {path.name: path.read_text() for path in folder.glob("_verbs_*.py")} == generated


def test_the_generator_replaces_links_and_what_is_no_longer_made(build, tmp_path, generated):
    """A build folder of before has links to files that were tracked."""
    (tmp_path / "_verbs_alone.py").symlink_to(tmp_path / "source.py")
    (tmp_path / "_verbs_gone.py").touch()
    subprocess.run([sys.executable, GENERATE, build / "sdpa-wb", tmp_path], check=True)
    assert {path.name for path in tmp_path.iterdir()} == set(generated)
    assert not (tmp_path / "_verbs_alone.py").is_symlink()


def test_without_a_program_the_generator_says_what_to_build(tmp_path):
    words = [sys.executable, GENERATE, tmp_path / "sdpa-wb", tmp_path / "made"]
    done = subprocess.run(words, capture_output=True, text=True)
    assert done.returncode != 0
    assert done.stderr.startswith(f"no verb table from {tmp_path / 'sdpa-wb'}: ")
    assert "cmake --build build/release --target sdpa-wb" in done.stderr
    assert not (tmp_path / "made").exists()


def camel(name):
    return "".join(part.capitalize() for part in name.split("_"))


def test_the_fields_of_an_answer_have_types(generated, table):
    """As the spec of the verb names them: `real or null: …` is `float | None`."""
    tree = ast.parse(generated["_verbs_answers.py"])
    classes = {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}
    own = [verb for verb in table if f"{camel(verb['name'])}Answer" in classes]
    assert len(own) == len(classes) > 40
    for verb in own:
        typed = {}
        for node in ast.walk(classes[f"{camel(verb['name'])}Answer"]):
            if isinstance(node, ast.FunctionDef):
                assert node.name == "__getitem__"
                key = ast.unparse(node.args.posonlyargs[1].annotation)
                typed[key] = ast.unparse(node.returns)
        assert typed.pop("str", "Any") == "Any"  # what the overloads stand for
        expected = {}
        for field, meaning in verb["result"].items():
            kind, _, null = meaning.partition(":")[0].partition(" or ")
            null = " | None" if null else ""
            expected[f"Literal['{field}']"] = TYPES[kind] + null
        assert typed == expected, verb["name"]


def test_a_method_answers_its_class(package, bench):
    answer = bench().suites()
    kind = inspect.signature(package.Workbench.suites).return_annotation
    assert type(answer) is kind
    assert isinstance(answer, package.Answer)
    assert kind.__name__ == "SuitesAnswer"
    assert answer["suites"]
    again = pickle.loads(pickle.dumps(answer))
    assert (again, again.text) == (answer, answer.text)


# What editors of playbooks read says what the verb table says, and hangs together.

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


# A verb costs two new files (its source and its test) and one line of verbs/verb_list.inc. What
# Python, agents and editors have of it is made of the table: one more verb there, and it is a
# method of the package, a function in the editor's stub, a tool for agents and a tool of MCP.
# Nothing that is generated is tracked, so nothing has to be generated anew by hand. That file and
# line put it into the table, the command line and playbooks is in
# tests/unit/cli/added_verb_test.cpp.

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
def longer_table(build):
    told = subprocess.run([build / "sdpa-wb", "verb-table"], capture_output=True, check=True)
    return [*json.loads(told.stdout), GREET]


@pytest.fixture
def program(longer_table, tmp_path):
    """What says `verb-table` as a program with that verb would."""
    (tmp_path / "table.json").write_text(json.dumps(longer_table))
    path = tmp_path / "sdpa-wb"
    path.write_text(f"#!/bin/sh\ncat '{tmp_path / 'table.json'}'\n")
    path.chmod(0o755)
    return path


def generate(script, program, folder):
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
    assert found == [
        *(f"bindings/{name}" for name in sources),
        "tests/python/test_generated_verbs.py",
    ]


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
    made = generate("generate_verbs.py", program, tmp_path / "package")
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
    made = generate("generate_lua_stub.py", program, tmp_path / "editor")
    assert "---Say hello.\n" in made["wb.lua"]
    assert "function wb.greet(arguments) end" in made["wb.lua"]
    assert "---@field whom? string the one to be greeted" in made["arguments.lua"]
    assert "---@field greeting string the words" in made["answers.lua"]


def test_it_is_a_tool_for_agents_and_of_mcp(package, longer_table, monkeypatch):
    schemas = importlib.import_module(f"{package.__name__}._tool_schemas")
    monkeypatch.setattr(schemas._core, "verb_table", lambda: longer_table)
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
