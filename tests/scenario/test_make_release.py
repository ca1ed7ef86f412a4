# SPDX-License-Identifier: MIT
"""`make release` and `make wheel PYTHON=x` refuse before they build anything; a whole release is in
the long tier."""

import importlib.util
import os
import platform
import re
import shutil
import subprocess
import sys
import tarfile

import pytest
from support.commands import ROOT

SCRIPT = ROOT / ".ci" / "release.py"
pytestmark = pytest.mark.skipif(
    not SCRIPT.exists() or shutil.which("make") is None, reason="no checkout, or no make"
)
GIT = ["git", "-c", "user.name=A", "-c", "user.email=a@b.c", "-c", "commit.gpgsign=false"]
HEADED = "# Changelog\n\n## Unreleased\n\n## 4.5.6 (2026-11-28)\n\n- All.\n"


@pytest.fixture
def release():
    spec = importlib.util.spec_from_file_location("ci_release", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def tree(tmp_path):
    """A committed tree that holds nothing that could be built."""
    folder = tmp_path / "tree"
    (folder / ".ci").mkdir(parents=True)
    for name in ("Makefile", ".ci/release.py", ".ci/check_python.sh"):
        shutil.copy(ROOT / name, folder / name)
    (folder / "CMakeLists.txt").write_text("project(sdpa_workbench VERSION 4.5.6 LANGUAGES CXX)\n")
    (folder / "CHANGELOG.md").write_text(HEADED)
    (folder / ".gitignore").write_text("/build/\n/dist/\n__pycache__/\n")
    subprocess.run([*GIT, "init", "-q", folder], check=True)
    commit(folder)
    return folder


def commit(folder):
    subprocess.run([*GIT, "add", "-A"], cwd=folder, check=True)
    subprocess.run([*GIT, "commit", "-qm", "All", "--allow-empty"], cwd=folder, check=True)


def made(tree, *words):
    return subprocess.run(
        ["make", "release", f"PYTHON={sys.executable}", *words], cwd=tree, capture_output=True,
        text=True, env=os.environ | {"MAKEFLAGS": ""},
    )  # fmt: skip


def refused(tree):
    (tree / "dist").mkdir(exist_ok=True)
    earlier = tree / "dist" / "sdpa_workbench-4.5.5.tar.gz"
    earlier.touch()
    done = made(tree)
    assert done.returncode != 0
    assert earlier.exists()
    assert not (tree / "build").exists()
    (line,) = (line for line in done.stderr.splitlines() if line.startswith("release.py: "))
    return line


@pytest.mark.parametrize(
    "headings",
    [
        "## Unreleased\n", "## 4.5.5 (2026-11-28)\n", "## 4.5.6\n", "### 4.5.6 (2026-11-28)\n",
        "## 4.5.6 (28 November)\n", "## 4x5x6 (2026-11-28)\n", "`## 4.5.6 (2026-11-28)`\n",
    ],
)  # fmt: skip
def test_a_version_without_its_heading_is_no_release(tree, headings):
    (tree / "CHANGELOG.md").write_text(f"# Changelog\n\n{headings}\n- All.\n")
    commit(tree)
    line = refused(tree)
    assert "no heading `## 4.5.6 (YYYY-MM-DD)`" in line
    assert "between `## Unreleased` and what is released" in line


def test_a_heading_with_a_day_that_is_none(tree):
    (tree / "CHANGELOG.md").write_text(HEADED.replace("11-28", "11-31"))
    commit(tree)
    assert "2026-11-31 is no day" in refused(tree)


def test_a_tree_without_a_version(tree):
    (tree / "CMakeLists.txt").write_text("project(sdpa_workbench)\n")
    commit(tree)
    assert "write the version there" in refused(tree)


def test_what_is_in_no_commit_is_not_released(tree):
    (tree / "CMakeLists.txt").open("a").write("# changed\n")
    assert "CMakeLists.txt is in no commit: commit, stash or remove" in refused(tree)
    (tree / "new.txt").touch()
    assert "CMakeLists.txt and 1 more is in no commit" in refused(tree)
    shutil.rmtree(tree / ".git")
    assert "no checkout of git: make a release in a clone" in refused(tree)


def test_a_committed_tree_with_its_heading_is_ready(tree, release, capsys):
    assert release.ready(tree) == "4.5.6"
    release.ROOT = tree
    assert release.main(["ready"]) == 0
    assert "4.5.6" in capsys.readouterr().out


def test_the_version_stands_in_one_place(release):
    """What pip reads of CMakeLists.txt is what `make release` reads of it."""
    pattern = re.search(r"^regex = '(.*)'$", (ROOT / "pyproject.toml").read_text(), re.M)[1]
    text = (ROOT / "CMakeLists.txt").read_text()
    assert re.search(pattern, text)["value"] == release.version_of(ROOT)


def packed(tmp_path, files, top="sdpa_workbench-4.5.6"):
    path = tmp_path / "sdpa_workbench-4.5.6.tar.gz"
    folder = tmp_path / "packed" / top
    shutil.rmtree(folder.parent, ignore_errors=True)
    folder.mkdir(parents=True)
    for name, text in files.items():
        (folder / name).write_text(text)
    with tarfile.open(path, "w:gz") as archive:
        archive.add(folder, top)
    return path


@pytest.mark.parametrize(
    ("files", "top", "why"),
    [
        ({"a": "", "PKG-INFO": "Version: 4.5.6\n"}, "sdpa_workbench-4.5.6", None),
        ({"PKG-INFO": "Version: 4.5.6\n"}, "sdpa_workbench-4.5.6", "lacks 1 files, such as a"),
        ({"a": "", "b": "", "PKG-INFO": ""}, "sdpa_workbench-4.5.6", "has 1 files, such as b"),
        ({"a": "", "PKG-INFO": "Version: 1\n"}, "sdpa_workbench-4.5.6", "is 1, not 4.5.6"),
        ({"a": ""}, "another", "does not unpack into the one folder"),
    ],
)
def test_an_sdist_holds_the_tree_and_its_version(release, tmp_path, files, top, why):
    sdist, scratch = packed(tmp_path, files, top), tmp_path / "scratch"
    scratch.mkdir()
    if why is None:
        release.check_sdist(sdist, "4.5.6", {"a"}, scratch)
        return
    with pytest.raises(release.Refusal, match=why):
        release.check_sdist(sdist, "4.5.6", {"a"}, scratch)


def test_a_torn_sdist_is_told(release, tmp_path):
    sdist = packed(tmp_path, {"a": "x" * 4096})
    sdist.write_bytes(sdist.read_bytes()[:60])
    with pytest.raises(release.Refusal, match=r"tar .* failed"):
        release.check_sdist(sdist, "4.5.6", {"a"}, tmp_path)


def test_the_sums_are_of_one_wheel_and_one_sdist_of_the_version(release, tmp_path):
    wheel = tmp_path / "sdpa_workbench-4.5.6-py3-none-any.whl"
    wheel.write_bytes(b"wheel")
    (tmp_path / "sdpa_workbench-4.5.5.tar.gz").touch()
    with pytest.raises(
        release.Refusal, match=r"one file sdpa_workbench-4.5.6.tar.gz, and has: none"
    ):
        release.write_sums(tmp_path, "4.5.6")
    (tmp_path / "sdpa_workbench-4.5.6.tar.gz").write_bytes(b"sdist")
    names = release.write_sums(tmp_path, "4.5.6")
    assert names == [wheel.name, "sdpa_workbench-4.5.6.tar.gz", "SHA256SUMS"]
    checks = ["sha256sum", "--check", "--strict", "SHA256SUMS"]
    assert subprocess.run(checks, cwd=tmp_path, capture_output=True).returncode == 0
    wheel.write_bytes(b"another")
    assert subprocess.run(checks, cwd=tmp_path, capture_output=True).returncode != 0
    wheel.with_name("sdpa_workbench-4.5.6-py2-none-any.whl").touch()
    with pytest.raises(release.Refusal, match=r"py2-none-any\.whl, "):
        release.write_sums(tmp_path, "4.5.6")


def test_a_release_of_this_tree(release, tmp_path):
    """All of it, in a clone whose changelog has the heading: the wheel is built, checked and tried,
    and the sdist is built anew by pip."""
    floor = re.search(r"WB_GLIBC_FLOOR (\S+)", (ROOT / "cmake" / "WbInstall.cmake").read_text())[1]
    if platform.libc_ver()[1] != floor:
        pytest.skip(f"wheels are built where glibc is {floor}")
    tree = tmp_path / "tree"
    subprocess.run(["git", "clone", "-q", ROOT, tree], check=True)
    version = release.version_of(tree)
    changes = tree / "CHANGELOG.md"
    heading = f"## Unreleased\n\n## {version} (2026-01-31)\n"
    changes.write_text(changes.read_text().replace("## Unreleased\n", heading, 1))
    commit(tree)
    done = made(tree)
    assert done.returncode == 0, f"{done.stdout[-4000:]}\n{done.stderr[-4000:]}"
    names = sorted(path.name for path in (tree / "dist").iterdir())
    sums, sdist, wheel = names[0], *sorted(names[1:], key=lambda name: name.endswith(".whl"))
    assert (sums, sdist) == ("SHA256SUMS", f"sdpa_workbench-{version}.tar.gz")
    assert wheel.startswith(f"sdpa_workbench-{version}-py3-none-manylinux_")
    checks = ["sha256sum", "--check", "--strict", "SHA256SUMS"]
    assert subprocess.run(checks, cwd=tree / "dist", capture_output=True).returncode == 0
    status = subprocess.run(["git", "status", "-s"], cwd=tree, capture_output=True, text=True)
    assert status.stdout == ""


# `make wheel PYTHON=x` looks at the interpreter before it builds anything.

CHECK = ROOT / ".ci" / "check_python.sh"
needs_tree = pytest.mark.skipif(
    not CHECK.exists() or shutil.which("make") is None, reason="no checkout, or no make"
)


def program(path, text):
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


def refused_python(python, tmp_path):
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
    assert said in refused_python(python, tmp_path)


@needs_tree
def test_a_path_with_a_blank_and_a_folder_are_refused_in_words(tmp_path):
    (tmp_path / "a folder").mkdir()
    assert "there is no such program" in refused_python(tmp_path / "a folder", tmp_path)


@needs_tree
@pytest.mark.skipif(sys.version_info < (3, 10), reason="this Python is too old itself")
def test_this_interpreter_will_do():
    done = subprocess.run(["bash", CHECK, sys.executable, "3.10"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
