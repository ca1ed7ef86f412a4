# SPDX-License-Identifier: MIT
"""The modules of the package that the build makes of the verb table: methods and typed answers."""

import ast
import inspect
import json
import pickle
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
