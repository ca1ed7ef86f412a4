# SPDX-License-Identifier: MIT
"""`--repo` and `--branch`: a session's history in the user's own repository."""

import re
import subprocess

from support.commands import SMALL
from support.logs import events, git

OPEN = ["open", "--start", "cpu_unfused", "--problem", SMALL, "--rivals", "none",
        "--effort", "quick"]  # fmt: skip
# Refused before anything is built: an iteration that closes and is committed in a moment.
TRY = ["iterate", "--variant", "cpu_tiled", "--configuration", "TILE_M=128", "--configuration",
       "TILE_N=256", "--hypothesis", "larger tiles", "--predicted-speedup", "1.5"]  # fmt: skip


def make_project(folder):
    folder.mkdir()
    subprocess.run(["git", "init", "-q", "-b", "trunk", folder], check=True)
    (folder / "mine.txt").write_text("mine\n")
    git(folder, "add", "mine.txt")
    user = ["-c", "user.name=U", "-c", "user.email=u@example.org", "-c", "commit.gpgsign=false"]
    git(folder, *user, "commit", "-q", "-m", "first")
    return folder


def test_a_session_in_the_user_s_repository(wb, tmp_path):
    project = make_project(tmp_path / "project")
    target = ["--repo", "project", "--branch", "attention"]
    opened = wb.json(*OPEN, "--session", "project/notes/s-own", *target)
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
    assert below + "reports/session.md" in names
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
    report = (session / "reports" / "session.md").read_text()
    assert "branch attention" in report


def test_two_sessions_on_one_branch(wb, tmp_path):
    project = make_project(tmp_path / "project")
    for name in ("one", "two"):
        wb.run(*OPEN, "--session", name, "--repo", "project", "--branch", "both", check=0)
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
    make_project(tmp_path / "project")
    for words, code, fragment in (
        (["--repo", "project"], 2, "belong together"),
        (["--branch", "attention"], 2, "belong together"),
        (["--repo", "project", "--branch", "trunk"], 75, "checked out"),
        (["--repo", "project", "--branch", "a..b"], 2, "no branch of that name"),
        (["--repo", "nowhere", "--branch", "attention"], 2, "no git repository"),
    ):
        refused = wb.run(*OPEN, "--session", "s", *words)
        assert refused.returncode == code, (words, refused.stderr)
        assert fragment in refused.stderr, (words, refused.stderr)
        assert not (tmp_path / "s").exists()
