"""What a session's log alone cannot know: lines lost at its end, a folder removed in a run, and
copies of one session that both went on."""

import json
import shutil
import subprocess

import pytest
from support.logs import events
from test_bad_disk import one_message
from test_git_surroundings import OPEN_AND_END, TRY, make_own_project
from test_kill import begun, going_on


def lines_of(session):
    return (session / "events.jsonl").read_bytes().splitlines(keepends=True)


def cut_before(session, kind, which=-1):
    """Ends the log before an event, at the end of a line: its chain is whole."""
    lines = lines_of(session)
    found = [i for i, line in enumerate(lines) if json.loads(line)["type"] == kind]
    (session / "events.jsonl").write_bytes(b"".join(lines[: found[which]]))
    return found[which]


def tried(wb, session, count):
    for _ in range(count):
        wb.run(*TRY, "--session", session)
    assert sum(e["type"] == "iteration_committed" for e in events(session)) == 1 + count


def test_lines_lost_at_the_end_are_told_by_the_last_commit(wb, tmp_path):
    session = tmp_path / wb.open_small()["session"]
    assert wb.json("status", "--session", session)["warning"] is None
    tried(wb, session, 2)
    whole = (session / "events.jsonl").read_bytes()
    kept = cut_before(session, "iteration_opened", 1)
    before = (session / "events.jsonl").read_bytes()
    warning = wb.json("status", "--session", session)["warning"]
    assert f"ends at e{kept}," in warning
    assert f"from e{kept + 1}" in warning
    assert "iteration 1 (" in warning
    assert "iteration 2 (" in warning
    assert wb.run("status", "--session", session, check=0).stdout.startswith("WARNING: its log")
    # A writer would bury them: it is refused, and nothing is touched.
    for words in [["note", "x"], TRY, ["resume"], ["close"]]:
        done = wb.run(*words, "--session", session)
        assert done.returncode == 65, done
        message = one_message(done)
        assert f"ends at e{kept}" in message
        assert "copy" in message
    assert (session / "events.jsonl").read_bytes() == before
    packed = wb.json("pack", session, "--output", tmp_path / "a.tar.gz")
    assert packed["warning"] == warning
    # Put back, all is as before.
    (session / "events.jsonl").write_bytes(whole)
    assert wb.json("status", "--session", session)["warning"] is None
    wb.run("note", "x", "--session", session, check=0)


def test_one_can_go_on_without_what_was_lost(wb, tmp_path):
    session = tmp_path / wb.open_small()["session"]
    tried(wb, session, 1)
    cut_before(session, "iteration_opened", 1)
    assert str(session / ".git") in wb.run("note", "x", "--session", session).stderr
    shutil.move(session / ".git", tmp_path / "lost.git")
    tried(wb, session, 1)
    assert wb.json("status", "--session", session)["warning"] is None


def test_what_no_commit_was_made_from_is_no_loss(wb, tmp_path):
    """A tail behind the last commit is guarded by nothing; a commit that is due is made again."""
    session = tmp_path / wb.open_small()["session"]
    tried(wb, session, 1)
    cut_before(session, "iteration_committed")
    assert wb.json("status", "--session", session)["warning"] is None
    wb.run("note", "x", "--session", session, check=0)
    assert sum(e["type"] == "iteration_committed" for e in events(session)) == 2


def test_a_closed_session_is_put_back_from_its_last_commit(wb, tmp_path):
    session = tmp_path / wb.open_small()["session"]
    wb.json("close", "--session", session)
    whole = (session / "events.jsonl").read_bytes()
    cut_before(session, "session_closed")
    warning = wb.json("status", "--session", session)["warning"]
    assert "the closing" in warning
    assert "take the one that commit" in warning
    shown = subprocess.run(
        ["git", "-C", session, "show", "main:events.jsonl"], capture_output=True, check=True
    )
    assert shown.stdout == whole


def test_lines_lost_of_a_session_on_a_branch_of_the_user_s(wb, tmp_path):
    make_own_project(tmp_path / "project")
    target = ["--repo", "project", "--branch", "attention"]
    first, other = tmp_path / "first", tmp_path / "other"
    for session in (first, other):
        wb.run(*OPEN_AND_END, "--session", session, *target, check=0)
    tried(wb, first, 1)
    tried(wb, other, 1)  # the tip is another session's
    for session in (first, other):
        assert wb.json("status", "--session", session)["warning"] is None
    cut_before(first, "iteration_opened", 1)
    warning = wb.json("status", "--session", first)["warning"]
    assert "iteration 1 (" in warning
    assert "another copy of this session" in warning
    assert "set the branch back" in warning
    assert wb.run("note", "x", "--session", first).returncode == 65
    assert wb.json("status", "--session", other)["warning"] is None
    wb.run("note", "x", "--session", other, check=0)


@pytest.mark.parametrize("how", ["removed", "moved", "replaced"])
def test_a_folder_that_goes_during_a_run_gets_its_own_message(wb, tmp_path, how):
    session = begun(wb)
    process, held = going_on(wb, session)
    if how == "removed":
        while session.exists():  # who still writes into it may make it fail
            shutil.rmtree(session, ignore_errors=True)
    elif how == "moved":
        session.rename(tmp_path / "elsewhere")
    else:
        shutil.copytree(session, tmp_path / "copy", symlinks=True)
        session.rename(tmp_path / "elsewhere")
        (tmp_path / "copy").rename(session)
    held.release()
    _, said = process.communicate(timeout=240)
    assert process.returncode == 74, said
    # Between the two renames there is no folder for a moment.
    assert "removed or moved" in said or (how == "replaced" and "replaced" in said), said
    assert "while the session ran" in said
    assert "correct it" not in said
    assert "steps.lua" not in said
    if how == "removed":
        assert not session.exists()  # it is not made again


def test_copies_that_both_went_on_are_told_apart_where_they_meet(wb, tmp_path):
    runs = tmp_path / "runs"
    runs.mkdir()
    first = runs / "first"
    shutil.move(tmp_path / wb.open_small()["session"], first)
    shared = len(events(first))
    second, earlier = runs / "second", runs / "earlier"
    for copy in (second, earlier):
        shutil.copytree(first, copy, symlinks=True)
    tried(wb, first, 1)
    tried(wb, second, 2)
    apart = "copies of one session that both went on"
    site = wb.json("site", runs, "--output-dir", tmp_path / "out")
    said = [(one["session"], one["copy_of"], one["apart"]) for one in site["copies"]]
    assert said == [("first", "earlier", False), ("second", "first", True)]
    assert [one["common_events"] for one in site["copies"]] == [shared, shared]
    assert apart in site["text"]
    pair = wb.json("pack", first, "--output", tmp_path / "a.tar.gz")
    assert any(one["apart"] and one["copy_of"] == "second" for one in pair["copies"]), pair[
        "copies"
    ]
    assert apart in pair["text"]
    assert f"the same to e{shared}" in pair["text"]
    page = (tmp_path / "out/index.html").read_text()
    assert "Copies of one session" in page
    assert apart in page
    known = wb.json("experience", runs)
    assert apart in known["text"]
    assert known["sessions"] == 3
    assert known["copies"] == site["copies"]
    # Not copies: two sessions that only look alike.
    shutil.rmtree(second)
    shutil.rmtree(earlier)
    alone = wb.json("site", runs, "--output-dir", tmp_path / "alone")
    assert alone["copies"] == []
    assert wb.json("pack", first, "--output", tmp_path / "b.tar.gz")["copies"] == []
