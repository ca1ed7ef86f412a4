# SPDX-License-Identifier: MIT
"""git around a session: homes that cannot be read, branches in the way, variables of a hook, and a
session's history in the user's own repository (--repo, --branch). What repositories can be like is
in tests/unit/session/git_surroundings_test.cpp."""

import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest
from support.commands import SMALL
from support.logs import events, git

OPEN = ["open", "--start", "cpu_unfused", "--problem", SMALL, "--rivals", "none",
        "--effort", "quick"]  # fmt: skip
BROKEN = "[user\nname = x\n"


def make_project(folder, *branches):
    subprocess.run(["git", "init", "-q", "-b", "trunk", folder], check=True)
    user = ["-c", "user.name=U", "-c", "user.email=u@example.org", "-c", "commit.gpgsign=false"]
    git(folder, *user, "commit", "-q", "--allow-empty", "-m", "first")
    for branch in branches:
        git(folder, "branch", branch)
    return folder


def home(tmp_path, monkeypatch, form):
    """A home of that form, and this process's."""
    folder = tmp_path / "home"
    folder.mkdir()
    if form == "broken":
        (folder / ".gitconfig").write_text(BROKEN)
    elif form == "a folder":
        (folder / ".gitconfig").mkdir()
    elif form == "broken in .config":
        (folder / ".config" / "git").mkdir(parents=True)
        (folder / ".config" / "git" / "config").write_text(BROKEN)
    elif form == "includes a broken one":
        (folder / ".gitconfig").write_text("[include]\n\tpath = other\n")
        (folder / "other").write_text(BROKEN)
    elif form.endswith(" for some"):
        (folder / ".gitconfig").write_text('[includeIf "gitdir:/"]\n\tpath = other\n')
        is_loop = form.startswith("includes itself")
        (folder / "other").write_text("[include]\n\tpath = other\n" if is_loop else BROKEN)
    elif form == "a link to itself":
        (folder / ".gitconfig").symlink_to(".gitconfig")
    monkeypatch.setenv("HOME", "/dev/null" if form == "no folder" else str(folder))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    return folder


@pytest.mark.parametrize(
    "form", ["broken", "a folder", "broken in .config", "includes a broken one",
             "a link to itself", "no folder"],
)  # fmt: skip
def test_a_session_needs_nothing_of_a_home(wb, tmp_path, monkeypatch, form):
    wb.open_small()
    home(tmp_path, monkeypatch, form)
    wb.run("note", "seen", "--session", "s", check=0)
    shutil.rmtree(tmp_path / "s" / ".git")
    wb.run("note", "its history is made again", "--session", "s", check=0)
    assert (tmp_path / "s" / ".git" / "HEAD").exists()


@pytest.mark.parametrize("form", ["broken", "broken for some", "includes itself for some"])
def test_a_broken_home_keeps_no_session_from_opening(wb, tmp_path, monkeypatch, form):
    make_project(tmp_path / "project")
    home(tmp_path, monkeypatch, form)
    wb.run(*OPEN, "--session", "mine", check=0)
    wb.run(*OPEN, "--session", "theirs", "--repo", "project", "--branch", "attention", check=0)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert git(tmp_path / "mine", "log", "--format=%s", "main").splitlines()[-1] == "Open mine"
    assert git(tmp_path / "project", "rev-list", "--count", "trunk..attention") == "2"


def needs_another_user():
    if os.geteuid() != 0 or shutil.which("setpriv") is None:
        pytest.skip("needs root and setpriv, to be another user")
    return ["setpriv", "--reuid", "54321", "--regid", "54321", "--clear-groups"]


def test_a_home_of_another_user(wb, tmp_path, monkeypatch):
    """As after `su` without `-`: the variable names a folder that nobody else may look into."""
    other = needs_another_user()
    wb.open_small()
    home(tmp_path, monkeypatch, "its owner's alone").chmod(0o700)
    with tempfile.TemporaryDirectory() as name:  # pytest's folders are its user's alone
        place = Path(name)
        place.chmod(0o755)
        shutil.copytree(tmp_path / "s", place / "s")
        (place / "s").chmod(0o755)
        for path in [place / "s", *(place / "s").rglob("*")]:
            os.chown(path, 54321, 54321)
        if place.parent.stat().st_mode & 0o5 != 0o5:
            pytest.skip(f"another user does not get into {place.parent}")
        words = [*other, wb.program, "note", "seen", "--session", "s"]
        done = subprocess.run(words, cwd=place, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        assert any(event["type"] == "note" for event in events(place / "s"))


def test_a_repository_of_another_user(wb, tmp_path, monkeypatch):
    """It is refused with the command that trusts it; that command, and git's `*`, are believed."""
    needs_another_user()
    project = make_project(tmp_path / "project")
    os.chown(project, 54321, 54321)
    os.chown(project / ".git", 54321, 54321)
    folder = home(tmp_path, monkeypatch, "empty")
    target = ["--repo", "project", "--branch", "attention"]
    refused = wb.run(*OPEN, "--session", "s", *target, check=65)
    assert f"git config --global --add safe.directory '{project}'" in refused.stderr
    assert not (tmp_path / "s").exists()
    (folder / ".gitconfig").write_text(BROKEN)
    refused = wb.run(*OPEN, "--session", "s", *target, check=65)
    assert ".gitconfig" in refused.stderr
    (folder / ".gitconfig").write_text("[safe]\n\tdirectory = *\n")
    wb.run(*OPEN, "--session", "s", *target, check=0)
    (folder / ".gitconfig").write_text(f"[safe]\n\tdirectory = {project}\n")
    wb.run("note", "seen", "--session", "s", check=0)


def test_a_branch_in_the_way(wb, tmp_path):
    project = make_project(tmp_path / "project", "billing/part", "flat")
    before = git(project, "for-each-ref")
    for branch, other in (("billing", "billing/part"), ("flat/child", "flat")):
        words = ["--repo", "project", "--branch", branch]
        for more in (["--session", "s"], [], ["--session", "s", "--detach"]):
            refused = wb.run(*OPEN, *more, *words)
            assert refused.returncode == 2, refused.stderr
            assert f"branch {other}" in refused.stderr
            assert "--branch" in refused.stderr
            assert "fsck" not in refused.stderr
    assert git(project, "for-each-ref") == before
    assert {path.name for path in tmp_path.iterdir()} <= {"project", "template"}


def test_a_folder_of_a_repository(wb, tmp_path):
    """Named by a folder in it, its work tree is told; named through a link, it is found."""
    project = make_project(tmp_path / "project")
    (project / "deep").mkdir()
    words = [*OPEN, "--session", "s", "--branch", "attention", "--repo"]
    refused = wb.run(*words, "project/deep", check=2)
    assert f"--repo '{project}'" in refused.stderr
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "way").symlink_to(project)
    wb.run(*words, "elsewhere/way/", check=0)
    assert git(project, "ls-tree", "--name-only", "attention:sessions") == "s"


def test_an_unknown_object_format(wb, tmp_path):
    done = subprocess.run(["git", "init", "-q", "--object-format=sha256", tmp_path / "project"])
    if done.returncode != 0:
        pytest.skip("this git makes no repository with sha256")
    refused = wb.run(*OPEN, "--session", "s", "--repo", "project", "--branch", "b", check=65)
    assert "sha256" in refused.stderr
    assert "fsck" not in refused.stderr
    assert not (tmp_path / "s").exists()


def test_the_variables_of_a_hook_lead_nowhere(wb, tmp_path, monkeypatch):
    """git sets them for what it runs; a session is neither made in nor read from there."""
    wb.open_small()
    project = make_project(tmp_path / "project")
    before = sorted(str(path) for path in project.rglob("*"))
    for name, value in (("GIT_DIR", ".git"), ("GIT_WORK_TREE", "."), ("GIT_INDEX_FILE", "x"),
                        ("GIT_OBJECT_DIRECTORY", "objects"), ("GIT_PREFIX", "deep/"),
                        ("GIT_NAMESPACE", "n"), ("GIT_CEILING_DIRECTORIES", "/")):  # fmt: skip
        monkeypatch.setenv(name, str(project / value))
    shutil.rmtree(tmp_path / "s" / ".git")
    wb.run("note", "seen", "--session", "s", check=0)
    assert sorted(str(path) for path in project.rglob("*")) == before
    commits = [event for event in events(tmp_path / "s") if event["type"] == "iteration_committed"]
    assert (tmp_path / "s" / ".git" / "refs" / "heads" / "main").read_text().strip() == commits[-1][
        "payload"
    ]["oid"]


# `--repo` and `--branch`: a session's history in the user's own repository.

OPEN_AND_END = ["open", "--start", "cpu_unfused", "--problem", SMALL, "--rivals", "none",
        "--effort", "quick"]  # fmt: skip
# Refused before anything is built: an iteration that closes and is committed in a moment.
TRY = ["iterate", "--variant", "cpu_tiled", "--configuration", "TILE_M=128", "--configuration",
       "TILE_N=256", "--hypothesis", "larger tiles", "--predicted-speedup", "1.5"]  # fmt: skip


def make_own_project(folder):
    folder.mkdir()
    subprocess.run(["git", "init", "-q", "-b", "trunk", folder], check=True)
    (folder / "mine.txt").write_text("mine\n")
    git(folder, "add", "mine.txt")
    user = ["-c", "user.name=U", "-c", "user.email=u@example.org", "-c", "commit.gpgsign=false"]
    git(folder, *user, "commit", "-q", "-m", "first")
    return folder


def test_a_session_in_the_user_s_repository(wb, tmp_path):
    project = make_own_project(tmp_path / "project")
    target = ["--repo", "project", "--branch", "attention"]
    opened = wb.json(*OPEN_AND_END, "--session", "project/notes/s-own", *target)
    session = tmp_path / opened["session"]
    assert not (session / ".git").exists()
    answer = wb.json("iterate", "--variant", "cpu_online", "--hypothesis", "one pass",
                     "--predicted-speedup", "1.1", "--session", session)  # fmt: skip
    # Moved together, the session still finds its repository.
    project = project.rename(tmp_path / "moved")
    session = project / "notes" / "s-own"
    closed = wb.json("close", "--session", session)
    assert git(project, "rev-parse", "attention") == closed["commit"]
    below = "sessions/s-own/"
    names = git(project, "ls-tree", "-r", "--name-only", "attention").split()
    assert {"mine.txt", below + "session.json", below + "events.jsonl"} <= set(names)
    assert {below + "reports/session.md", below + "reports/session_full.md"} <= set(names)
    assert all(name == "mine.txt" or name.startswith(below) for name in names)
    committed = [e for e in events(session) if e["type"] == "iteration_committed"]
    assert [e["payload"]["iteration"] for e in committed] == [0, answer["iteration"]]
    assert git(project, "rev-list", "--count", "trunk..attention") == "4"
    git(project, "fsck", "--strict")
    # No path of this machine is committed but the table that the transport was given by name, and
    # the user's own branch is as it was.
    path = re.escape(str(tmp_path)) + r"(?!\.times\.json|\S* \.\.\. \()"  # a long one is cut
    for name in names:
        assert not re.search(path, git(project, "show", f"attention:{name}")), name
    assert git(project, "status", "--porcelain", "--", "mine.txt") == ""
    assert git(project, "rev-list", "--count", "trunk") == "1"
    report = (session / "reports" / "session_full.md").read_text()
    assert "branch attention" in report


def test_two_sessions_on_one_branch(wb, tmp_path):
    project = make_own_project(tmp_path / "project")
    for name in ("one", "two"):
        wb.run(*OPEN_AND_END, "--session", name, "--repo", "project", "--branch", "both", check=0)
    # Side by side both want to move the branch, mostly in the same moment.
    for _ in range(2):
        running = [wb.start(*TRY, "--session", name) for name in ("one", "two")]
        for process in running:
            process.communicate(timeout=240)
    git(project, "fsck", "--strict")
    expected = 0
    for name in ("one", "two"):
        log = events(tmp_path / name)
        closed = [e["payload"]["iteration"] for e in log if e["type"] == "iteration_closed"]
        oids = [e["payload"]["oid"] for e in log if e["type"] == "iteration_committed"]
        assert closed == [0, 1, 2]
        assert len(oids) == 3
        for oid in oids:
            git(project, "merge-base", "--is-ancestor", oid, "both")
        expected += 1 + len(oids)
    assert git(project, "rev-list", "--count", "trunk..both") == str(expected)


def test_what_is_refused(wb, tmp_path):
    make_own_project(tmp_path / "project")
    for words, code, fragment in (
        (["--repo", "project"], 2, "belong together"),
        (["--branch", "attention"], 2, "belong together"),
        (["--repo", "project", "--branch", "trunk"], 75, "checked out"),
        (["--repo", "project", "--branch", "a..b"], 2, "no branch of that name"),
        (["--repo", "nowhere", "--branch", "attention"], 2, "no git repository"),
    ):
        refused = wb.run(*OPEN_AND_END, "--session", "s", *words)
        assert refused.returncode == code, (words, refused.stderr)
        assert fragment in refused.stderr, (words, refused.stderr)
        assert not (tmp_path / "s").exists()
