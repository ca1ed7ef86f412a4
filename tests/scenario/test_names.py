# SPDX-License-Identifier: MIT
"""Names of folders and packages, and options that name what is not there. How folders are called is
in tests/unit/session/names_test.cpp."""

import json
import subprocess
import sys
import tarfile

import pytest
from support.commands import SMALL
from support.kept import kept
from support.logs import events, git

OPEN = ["open", "--start", "cpu_unfused", "--problem", SMALL, "--rivals", "none",
        "--effort", "quick"]  # fmt: skip
LONG = "n" * 255


def opened_as(session):
    return events(session)[0]["payload"]["session"]


def test_a_folder_named_with_its_slash(wb, tmp_path):
    (tmp_path / "tabbed").mkdir()
    wb.run(*OPEN, "--session", "tabbed/", check=0)
    assert opened_as(tmp_path / "tabbed") == "tabbed"
    assert git(tmp_path / "tabbed", "log", "--format=%s", "main").splitlines()[-1] == "Open tabbed"
    for words in (["status", "--session"], ["report", "--session"], ["pack"]):
        wb.run(*words, "tabbed/", check=0)
        wb.run(*words, "./tabbed/.", check=0)
    assert (tmp_path / "tabbed.tar.gz").exists()
    assert not list(tmp_path.glob(".*"))


def test_a_folder_named_from_within_or_through_a_link(wb, tmp_path):
    (tmp_path / "here" / "below").mkdir(parents=True)
    (tmp_path / "link").symlink_to("here")
    (tmp_path / "here" / "below").rmdir()
    wb.folder = tmp_path / "here"
    wb.run(*OPEN, "--session", ".", check=0)
    wb.folder = tmp_path
    assert opened_as(tmp_path / "here") == "here"
    wb.run("pack", "link/", check=0)
    with tarfile.open(tmp_path / "here.tar.gz") as archive:
        assert {name.split("/")[0] for name in archive.getnames()} == {"here"}


def test_a_job_in_a_folder_named_with_its_slash(wb, tmp_path):
    """Its words are kept outside of the folder until the session is there."""
    (tmp_path / "made").mkdir()
    for name in ("made/", "new/deep/"):
        answer = wb.json(*OPEN, "--session", name, "--detach")
        assert answer["output"].startswith(str(tmp_path / name.rstrip("/")) + "/jobs/") or answer[
            "output"
        ].startswith(name)
        wb.run("get", "job", "--wait-s", "200", "--session", name, check=0)
        assert opened_as(tmp_path / name) == name.rstrip("/").split("/")[-1]
    assert not list(tmp_path.glob(".*"))


@pytest.mark.parametrize("named", ["a/./b//", "a/../c/.//", "two\nlines"])
def test_a_folder_that_is_not_there_yet_however_it_is_named(wb, tmp_path, named):
    (tmp_path / "a").mkdir()
    wb.run(*OPEN, "--session", named, check=0)
    where = (tmp_path / named).resolve()
    assert opened_as(where) == where.name
    assert (where / ".git" / "HEAD").exists()
    answer = wb.json("pack", named, "--output", "packed\nas.tar.gz")
    wb.run("status", "--session", tmp_path / answer["file"], check=0)
    wb.json("site", ".", "--output-dir", "pages")


def test_a_session_is_made_nowhere_else_than_asked_for(wb, tmp_path):
    (tmp_path / "link").symlink_to("nowhere")
    before = sorted(tmp_path.rglob("*"))
    for named, words in (("", "names nothing"), ("link", "a link that leads nowhere")):
        assert words in wb.run(*OPEN, "--session", named, check=2).stderr
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize("name", ["zwei wörter 空", LONG])
def test_odd_names(wb, tmp_path, name):
    subject = ["git", "init", "-q", "-b", "trunk", tmp_path / "project"]
    subprocess.run(subject, check=True)
    wb.run(*OPEN, f"--session=./{name}", "--repo", "project", "--branch", "b", check=0)
    assert opened_as(tmp_path / name) == name
    tree = git(tmp_path / "project", "ls-tree", "-z", "--name-only", "b:sessions")
    assert tree.rstrip("\0") == name
    answer = wb.json("pack", f"./{name}")
    with tarfile.open(tmp_path / answer["file"]) as archive:
        assert {entry.split("/")[0] for entry in archive.getnames()} == {name}
    # The archive by itself, and what the redacted one unpacks to, have names that files can have.
    wb.run("status", "--session", tmp_path / answer["file"], check=0)
    answer = wb.json("pack", f"./{name}", "--redact")
    with tarfile.open(tmp_path / answer["file"]) as archive:
        assert all(len(entry.split("/")[0].encode()) <= 255 for entry in archive.getnames())
    pages = wb.json("site", ".")
    assert len(pages["pages"]) >= 1
    assert pages["faults"] == []


NAMES = {
    "json": "standard library", "this": "C or C++", "torch": "PyTorch", "aten": "PyTorch",
    "class": "C or C++", "lambda": "keyword of Python", "sitecustomize": "standard library",
    "pytest": "built or used", "pip": "used",
    "int": "C or C++", "csrc": "itself", "sdpa_workbench": "used", "1st": "lower-case letter",
}  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_a_package_hides_no_other(wb, name):
    session = ["--session", kept("cpu-decode-f32"), "--torch", "--output", "p"]
    refused = wb.run("export", "cpu_tiled", *session, "--name", name, check=2)
    assert NAMES[name] in refused.stderr
    assert "--name" in refused.stderr
    assert not (wb.folder / "p").exists()


def test_a_package_replaces_none_that_is_installed(wb, tmp_path, monkeypatch):
    """By what Python itself would import, and by what pip would replace; but for our own."""
    site = tmp_path / "site"
    (site / "flash_things").mkdir(parents=True)
    (site / "flash_things" / "__init__.py").touch()
    (site / "Odd_Name-1.0.dist-info").mkdir()
    (site / "Odd_Name-1.0.dist-info" / "METADATA").write_text("Name: Odd-Name\nVersion: 1.0\n")
    (site / "ours").mkdir()
    (site / "ours" / "__init__.py").touch()
    (site / "ours" / "PROVENANCE.json").write_text("{}")
    (wb.folder / "only_here").mkdir()
    monkeypatch.setenv("PYTHONPATH", str(site))
    words = ["export", "cpu_tiled", "--session", kept("cpu-decode-f32"), "--torch",
             "--python", sys.executable, "--name"]  # fmt: skip
    for name, told in (("flash_things", str(site)), ("odd_name", "Odd-Name")):
        refused = wb.run(*words, name, check=2)
        assert told in refused.stderr, refused.stderr
    for name in ("ours", "only_here", "free_name"):
        done = wb.run(*words, name)
        assert "name the package" not in done.stderr, done.stderr


def test_options_that_name_nothing(wb, tmp_path):
    """The user's fault (2), not the machine's; each is named, and nothing is made."""
    (tmp_path / "file").write_text("")
    for words in (["--worker", "nowhere/worker"], ["--python", "no-python-of-that-name"],
                  ["--compiler", "nowhere/g++"], ["--compiler", "./file"],
                  ["--nvcc", "nowhere/nvcc"],
                  ["--host-compiler", "nowhere/g++"], ["--cpu-set", "4095"], ["--cpu-set", "1-"],
                  ["--threads", "-1"], ["--cache", "file"], ["--cache", "file/below"],
                  ["--transport", "nowhere/ssh", "node", "--"]):  # fmt: skip
        argv = [wb.program, *OPEN, "--session", "s", *words]
        done = subprocess.run(argv, cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode == 2, (words, done.stderr)
        assert words[0] in done.stderr, done.stderr
        assert words[1] in done.stderr, done.stderr
    assert {path.name for path in tmp_path.iterdir()} == {"file"}


@pytest.mark.parametrize("value", ["nowhere", "file"])
def test_a_temporary_folder_that_is_none(wb, tmp_path, monkeypatch, value):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("TMPDIR", str(tmp_path / value))
    done = wb.run("pack", kept("cpu-decode-f32"), "--redact")
    assert done.returncode != 0
    assert "TMPDIR" in done.stderr
    assert str(tmp_path / value) in done.stderr


@pytest.mark.parametrize("value", [".", ""])
def test_a_temporary_folder_without_a_place_of_its_own(wb, tmp_path, monkeypatch, value):
    """A relative one is meant from here, also by children that work elsewhere; an empty one is
    none."""
    monkeypatch.setenv("TMPDIR", value)
    wb.run("check", "cpu_online", "--problem", "B=1 Hq=1 Sq=8 D=8 f32", check=0)


def test_relative_places_of_the_desktop_standard_are_ignored(wb, tmp_path, monkeypatch):
    for name in ("XDG_CACHE_HOME", "XDG_DATA_HOME"):
        monkeypatch.setenv(name, "here")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    run_without_cache(wb, "build", "cpu_tiled")
    assert not (tmp_path / "here").exists()
    assert (tmp_path / "home" / ".cache" / "sdpa-workbench").is_dir()


def test_a_cache_whose_name_has_a_line_end(wb, tmp_path, monkeypatch):
    """Compilers say which files they read line by line."""
    done = run_without_cache(wb, "build", "cpu_tiled", "--cache", "a\nb")
    assert done.returncode == 2, done.stderr
    assert "line end" in done.stderr
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "a\nb"))
    done = run_without_cache(wb, "build", "cpu_tiled")
    assert done.returncode == 76, done
    assert "line end" in done.stderr
    assert "XDG_CACHE_HOME" in done.stderr


def run_without_cache(wb, *words):
    argv = wb.argv(*words)
    at = len(argv) - argv[::-1].index("--cache") - 1
    del argv[at : at + 2]
    return subprocess.run(argv, cwd=wb.folder, capture_output=True, text=True, timeout=240)


def test_a_cache_that_cannot_be(wb, tmp_path, monkeypatch):
    """Without --cache it follows from variables, and those are named."""
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    argv = [word for word in wb.argv("build", "cpu_tiled", "--json")]
    at = argv.index("--cache")
    del argv[at : at + 2]
    done = subprocess.run(argv, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode != 0
    text = json.loads(done.stdout)["error"]["message"]
    assert str(tmp_path / "file") in text
    assert "--cache" in text
    assert "XDG_CACHE_HOME" in text
