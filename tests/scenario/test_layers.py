"""The checks of .ci find what they are for: each planted violation is reported."""

import shutil
import subprocess
import sys

import pytest
from support.commands import ROOT


def run_check(script, folder):
    return subprocess.run(
        [sys.executable, str(ROOT / ".ci" / script), str(folder)], capture_output=True, text=True
    )


@pytest.fixture
def copy(tmp_path):
    shutil.copytree(ROOT / "workbench", tmp_path / "workbench")
    (tmp_path / "docs").mkdir()
    shutil.copy(ROOT / "docs" / "architecture.md", tmp_path / "docs")
    return tmp_path


def test_the_tree_is_clean(copy):
    done = run_check("check_layers.py", copy)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("module", "line"),
    [
        ("measure", '#include "engine/engine.hpp"'),
        ("problem", '#include "device/device.hpp"'),
        ("engine", "#include <git2.h>"),
        ("cli", "#include <lua.hpp>"),
        ("report", "#include <md4c.h>"),
        ("runner", "#include <cuda.h>"),
        ("engine", 'auto x = std::getenv("HOME");'),
        ("variant", '#include "../../kernels/common/sdpa_abi.h"'),
        ("variant", "namespace wb {"),
        ("variant", "namespace wb::engine {"),
    ],
)
def test_planted_violations_are_found(copy, module, line):
    (copy / "workbench" / module / "planted.cpp").write_text(line + "\n")
    done = run_check("check_layers.py", copy)
    assert done.returncode == 1
    assert "planted.cpp:1" in done.stderr


def test_a_documentation_that_lies_is_found(copy):
    page = copy / "docs" / "architecture.md"
    page.write_text(page.read_text().replace("| 9 | `engine` |", "| 7 | `engine` |"))
    done = run_check("check_layers.py", copy)
    assert done.returncode == 1
    assert "floor table" in done.stderr


def commit(folder, subject):
    words = ["git", "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "--allow-empty"]
    subprocess.run([*words, "-m", subject], cwd=folder, check=True)
    return subprocess.run(
        ["git", "rev-parse", "HEAD"], cwd=folder, check=True, capture_output=True, text=True
    ).stdout.strip()


def test_a_long_subject_is_reported(tmp_path):
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    commit(tmp_path, "x" * 200)
    since = commit(tmp_path, "an old one is let be")
    (tmp_path / ".ci").mkdir()
    (tmp_path / ".ci" / "subjects_since").write_text(since + "\n")
    commit(tmp_path, "x" * 72)
    assert run_check("check_subjects.py", tmp_path).returncode == 0
    long = commit(tmp_path, "x" * 73)
    done = run_check("check_subjects.py", tmp_path)
    assert done.returncode == 1
    assert done.stderr.startswith(long[:7])
    assert "73 characters" in done.stderr
    (tmp_path / ".ci" / "subjects_since").write_text("0" * 40 + "\n")
    done = run_check("check_subjects.py", tmp_path)
    assert done.returncode == 1
    assert "no commit before this one" in done.stderr
