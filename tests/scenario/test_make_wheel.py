"""`make wheel PYTHON=x` looks at the interpreter before it builds anything."""

import os
import shutil
import subprocess
import sys

import pytest
from support.commands import ROOT

CHECK = ROOT / ".ci" / "check_python.sh"
needs_tree = pytest.mark.skipif(
    not CHECK.exists() or shutil.which("make") is None, reason="no checkout, or no make"
)


def program(path, text):
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


def refused(python, tmp_path):
    """From a tree that holds nothing that could be built: the refusal comes first."""
    (tmp_path / "tree" / ".ci").mkdir(parents=True)
    shutil.copy(ROOT / "Makefile", tmp_path / "tree")
    shutil.copy(CHECK, tmp_path / "tree" / ".ci")
    done = subprocess.run(
        ["make", "wheel", f"PYTHON={python}"], cwd=tmp_path / "tree",
        capture_output=True, text=True, env=os.environ | {"MAKEFLAGS": ""},
    )  # fmt: skip
    assert done.returncode != 0
    assert f"PYTHON={python}" in done.stderr
    assert not (tmp_path / "tree" / "build").exists()
    return done.stderr


@needs_tree
@pytest.mark.parametrize(
    ("text", "said"),
    [
        (None, "there is no such program"),
        ("exit 3", "does not run Python code"),
        ("echo hello", "does not answer as Python does"),
        ("echo 3.9", "it is Python 3.9; Python 3.10 or newer"),
        ("echo 2.7", "it is Python 2.7"),
        ('[ "$1" = -c ] && echo 3.12 && exit; echo "No module named venv" >&2; exit 1', "venv"),
    ],
)
def test_an_interpreter_that_will_not_do_is_refused_first(tmp_path, text, said):
    python = tmp_path / "python-x"
    if text is not None:
        program(python, text)
    assert said in refused(python, tmp_path)


@needs_tree
def test_a_path_with_a_blank_and_a_folder_are_refused_in_words(tmp_path):
    (tmp_path / "a folder").mkdir()
    assert "there is no such program" in refused(tmp_path / "a folder", tmp_path)


@needs_tree
@pytest.mark.skipif(sys.version_info < (3, 10), reason="this Python is too old itself")
def test_this_interpreter_will_do():
    done = subprocess.run(["bash", CHECK, sys.executable, "3.10"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
