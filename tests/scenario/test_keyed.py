"""The checks of `make check`, keyed by their inputs (.ci/keyed.py), on small trees: what changes is
run, what is equal is left out."""

import importlib.util
import json
import os
import subprocess
import sys

import pytest
from support.commands import ROOT

SCRIPT = ROOT / ".ci" / "keyed.py"
FILES = {
    "workbench/core/text.hpp": "int length();\n",
    "workbench/core/text.cpp": '#include "core/text.hpp"\n',
    "workbench/report/page.cpp": '#include "core/text.hpp"\n',
    "workbench/audit/read.cpp": "\n",
    "kernels/one.cpp": "// one\n",
    "workbench/core/CMakeLists.txt": "",
    "workbench/report/CMakeLists.txt": "",
    "workbench/audit/CMakeLists.txt": "",
    "tests/a/test_one.py": "",
    "tests/a/one.py": "",
}
TABLE = {
    "kernels": {"group": "test", "inputs": ["kernels"], "command": "echo kernels >> ../ran"},
    "tidy": {
        "group": "lint", "each": "module", "tools": ["cat ../version"],
        "inputs": ["workbench/{one}"], "with_includes": True,
        "command": "for one in {ones}; do echo $one >> ../ran; done; [ ! -e ../broken ]",
    },
    "tests": {
        "group": "files", "each": "file", "files": ["tests/*/test_*.py"], "inputs": ["{one}"],
        "command": "echo {ones} >> ../ran",
    },
    "linked": {
        "group": "test", "of": "report", "inputs": ["workbench/report", "workbench/{below}"],
        "command": "echo linked >> ../ran",
    },
}  # fmt: skip


def load_script():
    spec = importlib.util.spec_from_file_location("keyed", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Checkout:
    def __init__(self, folder):
        self.folder, self.root = folder, folder / "tree"
        for path, text in {**FILES, ".ci/check.json": json.dumps(TABLE)}.items():
            self.write(path, text)
        (folder / "version").write_text("1")
        subprocess.run(["git", "init", "-q"], cwd=self.root, check=True)

    def write(self, path, text):
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)

    def keyed(self, *words, **environment):
        return subprocess.run(
            [sys.executable, SCRIPT, *words, "--root", self.root],
            capture_output=True, text=True, env={**os.environ, **environment},
        )  # fmt: skip

    def ran(self, *words, **environment):
        """What a call ran, in order; it has to pass."""
        ran = self.folder / "ran"
        ran.unlink(missing_ok=True)
        done = self.keyed(*words, **environment)
        assert done.returncode == 0, done.stderr
        return ran.read_text().split() if ran.exists() else []


@pytest.fixture
def tree(tmp_path):
    return Checkout(tmp_path)


MODULES = ["audit", "core", "report"]
EVERYTHING = [*MODULES, "kernels", "linked", "tests/a/test_one.py"]


def test_what_passed_is_left_out_until_its_inputs_change(tree):
    assert sorted(tree.ran("run", "--note")) == sorted(EVERYTHING)
    assert tree.ran("run", "--note") == []
    left_out = tree.keyed("run", "lint")
    assert "tidy:report: passed with equal inputs" in left_out.stdout
    tree.write("workbench/report/page.cpp", "// changed\n")
    assert tree.ran("run", "lint") == ["report"]
    # Without --note a pass is not noted.
    assert tree.ran("run", "lint") == ["report"]
    assert tree.ran("run", "--note") == ["report", "linked"]
    assert tree.ran("run", "lint") == []


def test_a_header_reaches_the_modules_above_and_a_source_does_not(tree):
    tree.ran("run", "--note")
    tree.write("workbench/core/text.hpp", "long length();\n")
    assert sorted(tree.ran("run", "lint", "--note")) == ["core", "report"]
    tree.write("workbench/core/text.cpp", "// changed\n")
    assert tree.ran("run", "lint", "--note") == ["core"]
    # What is linked needs the sources below it, too.
    assert tree.ran("run", "--note") == ["linked"]


def test_new_files_removed_files_and_other_tools_are_changes(tree):
    tree.ran("run", "--note")
    tree.write("kernels/two.cpp", "")
    assert tree.ran("run", "--note") == ["kernels"]
    (tree.root / "kernels/one.cpp").unlink()
    assert tree.ran("run", "--note") == ["kernels"]
    (tree.folder / "version").write_text("2")
    assert sorted(tree.ran("run", "--note")) == MODULES
    tree.write("tests/a/test_one.py", "# changed")
    tree.write("tests/a/one.py", "# changed")
    assert tree.ran("run", "--note") == ["tests/a/test_one.py"]
    assert sorted(tree.ran("run", "--note", WB_WHOLE="1")) == sorted(EVERYTHING)


def test_a_check_that_fails_is_not_noted(tree):
    (tree.folder / "broken").touch()
    assert tree.keyed("run", "--note").returncode == 1
    (tree.folder / "broken").unlink()
    assert set(MODULES) <= set(tree.ran("run", "--note"))


def test_a_change_since_a_commit_is_all_that_is_due(tree):
    """What `make check` asks, where nothing is noted yet."""
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@b.example"]
    for words in (["add", "."], ["commit", "-qm", "first"]):
        subprocess.run([*git, *words], cwd=tree.root, check=True)
    since = ["--since", "HEAD", "--note"]
    assert tree.ran("run", *since) == []
    tree.write("workbench/report/page.cpp", "// changed\n")
    tree.write("workbench/report/new.cpp", "// new\n")
    assert tree.ran("run", *since) == ["report", "linked"]
    assert tree.ran("run", *since) == []
    (tree.root / "kernels/one.cpp").unlink()
    assert tree.ran("run", *since) == ["kernels"]
    assert tree.keyed("run", "--since", "nowhere").returncode != 0


def test_without_git_every_check_runs(tree):
    tree.ran("run", "--note")
    (tree.root / ".git").rename(tree.folder / "gone")
    assert "core" in tree.ran("run", GIT_CEILING_DIRECTORIES=str(tree.folder))


def test_every_input_of_this_tree_s_checks_is_there():
    """A name that matches nothing would leave a check as it was, whatever changes."""
    keyed = load_script()
    tree = keyed.Tree(ROOT)
    for name, check in keyed.checks(tree).items():
        assert check["paths"], name
        for one in check["inputs"]:
            assert tree.below([one]), f"{name}: {one}"
