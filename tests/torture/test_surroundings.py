"""Row B2: what happens around a session. Stale and foreign locks, folders that are deleted,
moved, linked or another user's, a clock set back: a clear message or nothing at all, and no byte
outside."""

import os
import shutil
import subprocess

import pytest
from fault_plan import ITERATE, check_message, whole_only
from support.logs import check_chain, events, git
from test_processes import TUNE

OTHER_USER = 54321
PATIENCE_S = 120
CLOCK = r"""
#include <dlfcn.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
typedef int (*gettime)(clockid_t, struct timespec*);
extern "C" int clock_gettime(clockid_t clock, struct timespec* time) {
  static gettime real = (gettime)dlsym(RTLD_NEXT, "clock_gettime");
  const int code = real(clock, time);
  const char* sign = getenv("WB_CLOCK_BACK");
  if (clock == CLOCK_REALTIME && sign && access(sign, F_OK) == 0) time->tv_sec -= 3600;
  return code;
}
"""


def files_below(folder):
    return sorted(path.relative_to(folder) for path in folder.rglob("*"))


def finish(process):
    out, err = process.communicate(timeout=PATIENCE_S)
    done = subprocess.CompletedProcess(process.args, process.returncode, out, err)
    check_message(done)
    return done


def test_a_lock_of_the_branch(wb, points, fresh):
    points.row = "B2"
    for content, code in [("", 0), ("1" * 40 + "\n", 75)]:
        session = fresh()
        lock = session / ".git" / "refs" / "heads" / "main.lock"
        lock.write_text(content)
        with points.point():
            # Empty: a killed git left it. Else a git command may be at work: tried again later.
            done = wb.run("close", "--session", session, check=code)
            assert lock.exists() == (code != 0)
            if code:
                assert "git command" in done.stderr
                lock.unlink()
                # What was to be committed is committed by the next owner.
                wb.run("note", "x", "--session", session)
            git(session, "fsck", "--strict")
            check_chain(session)


@pytest.mark.parametrize("moved", [False, True], ids=["deleted", "moved"])
def test_a_folder_that_goes_away(wb, tmp_path, points, fresh, moved):
    points.row = "B2"
    session = fresh()
    before = len(events(session))
    held = wb.turns.hold("turn", 2)
    process = wb.start(*TUNE, "--evaluations", 12, "--session", session)
    held.wait(process)
    outside = tmp_path / "elsewhere"
    with points.point():
        if moved:
            session.rename(outside)
        else:
            shutil.rmtree(session.rename(tmp_path / "dust"), ignore_errors=True)
        held.release()
        done = finish(process)
        assert done.returncode in {2, 65, 73, 74}, done
        assert "session" in done.stderr or str(session) in done.stderr, done.stderr
        assert not session.exists(), files_below(session)
        if moved:
            # The log went along, and the session goes on where it is now.
            wb.run("note", "found", "--session", outside, check=0)
            assert len(events(outside)) > before
            check_chain(outside)


def test_a_link_to_the_session(wb, tmp_path, points, fresh):
    """The folder that was named may be a link: everything goes where it leads."""
    points.row = "B2"
    session = fresh("real")
    link = tmp_path / "link"
    link.symlink_to(session)
    with points.point():
        before = files_below(tmp_path)
        wb.run("note", "by the link", "--session", link, check=0)
        assert files_below(tmp_path) == before
        assert events(session)[-1]["payload"]["result"]
        check_chain(session)


def test_a_link_inside_the_session(wb, tmp_path, points, fresh):
    points.row = "B2"
    for name in ("reports", "events.jsonl"):
        session = fresh()
        outside = tmp_path / "outside"
        shutil.rmtree(outside, ignore_errors=True)
        outside.mkdir()
        moved = outside / name
        shutil.move(session / name, moved)
        (session / name).symlink_to(moved)
        before = {path: path.stat().st_mtime_ns for path in outside.rglob("*")}
        with points.point():
            done = wb.run("close", "--session", session, check=65)
            assert "link" in done.stderr or "regular file" in done.stderr, done.stderr
            assert {path: path.stat().st_mtime_ns for path in outside.rglob("*")} == before


def test_a_folder_without_write_permission(wb, tmp_path, points, fresh):
    """Another user may read a session and is told in one sentence that they may not write it."""
    points.row = "B2"
    if os.geteuid() != 0 or shutil.which("setpriv") is None:
        points.skip("only root with setpriv can play another user")
    session = fresh()
    log = (session / "events.jsonl").read_bytes()
    for parent in [tmp_path, *tmp_path.parents]:
        if not parent.stat().st_mode & 0o001:
            parent.chmod(0o755)
        if parent.name.startswith("pytest-of"):
            break
    as_other = ["setpriv", "--reuid", str(OTHER_USER), "--regid", str(OTHER_USER),
                "--clear-groups"]  # fmt: skip

    wb.steady = False  # the Python behind steady turns may lie in a home that is closed to others

    def run(*words):
        argv = [*as_other, *wb.argv(*words, "--session", session)]
        return subprocess.run(
            argv, cwd="/", capture_output=True, text=True, env={**os.environ, "HOME": "/nowhere"}
        )

    with points.point():
        done = run("note", "x")
        check_message(done)
        assert done.returncode == 73, done.stderr
        assert "permission" in done.stderr.lower(), done.stderr
        assert run("status").returncode == 0
        assert (session / "events.jsonl").read_bytes() == log


def test_another_users_session(wb, points, fresh):
    points.row = "B2"
    if os.geteuid() != 0:
        points.skip("only root can give files away")
    session = fresh()
    for path in [session, *session.rglob("*")]:
        os.lchown(path, OTHER_USER, OTHER_USER)
    with points.point():
        done = wb.run("note", "x", "--session", session, check=65)
        check_message(done)
        assert "another user" in done.stderr
        check_chain(session)
        assert {path.stat().st_uid for path in session.rglob("*")} == {OTHER_USER}


def test_a_file_in_the_folders_place(wb, tmp_path, points):
    points.row = "B2"
    (tmp_path / "s").write_text("not a session\n")
    with points.point():
        for words in (["note", "x"], ["status"], ["resume"]):
            done = wb.run(*words, "--session", tmp_path / "s", check=2)
            check_message(done)
        assert (tmp_path / "s").read_text() == "not a session\n"


@whole_only
def test_a_clock_set_back(wb, tmp_path, points, fresh, monkeypatch):
    """One hour back, between two commands and in the middle of one: times in the log go back,
    nothing else does."""
    points.row = "B2"
    compiler = shutil.which("g++") or shutil.which("c++")
    if compiler is None:
        points.skip("no compiler for the clock that goes back")
    (tmp_path / "clock.cpp").write_text(CLOCK)
    library = tmp_path / "clock.so"
    subprocess.run(
        [compiler, "-shared", "-fPIC", "-o", library, tmp_path / "clock.cpp"], check=True
    )
    sign = tmp_path / "back"
    monkeypatch.setenv("LD_PRELOAD", str(library))
    monkeypatch.setenv("WB_CLOCK_BACK", str(sign))
    for during in (False, True):
        session = fresh()
        before = events(session)
        sign.unlink(missing_ok=True)
        with points.point():
            if not during:
                sign.touch()
            held = wb.turns.hold("turn", 2)
            process = wb.start(*(TUNE if during else ITERATE), *(["--evaluations", 6] * during),
                               "--session", session)  # fmt: skip
            held.wait(process)
            sign.touch()
            held.release()
            done = finish(process)
            assert done.returncode == 0, done.stderr
            after = events(session)
            assert after[: len(before)] == before
            assert min(event["t"] for event in after) < before[0]["t"], "the clock did not go back"
            check_chain(session)
            git(session, "fsck", "--strict")
            monkeypatch.delenv("LD_PRELOAD")
            wb.run("note", "forward again", "--session", session, check=0)
            assert wb.json("status", "--session", session)["status"] == "open"
            monkeypatch.setenv("LD_PRELOAD", str(library))
