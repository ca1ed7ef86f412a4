"""Row A5: sessions on file systems of 64 KiB to 2 MiB. The log ends in a whole line, the message
says what to do, and the session goes on once there is space."""

import shutil
import subprocess

import pytest
from fault_plan import ITERATE, TORTURE, check_message, mount_small
from support.commands import SMALL
from support.logs import check_chain, events

KIB = 1024
SIZES = [64 * KIB + step * 64 * KIB for step in range(32)]
OPEN = ["open", "--start", "cpu_unfused", "--problem", SMALL, "--rivals", "none", "--effort",
        "quick"]  # fmt: skip
NOTE = "x" * 15_000
NOTES_MAX = 200


def words_on(session, fits):
    """What is tried until the disk is full: where a session fits, an iteration and notes on a copy
    of one; else the opening."""
    if not fits:
        yield OPEN
        return
    yield ITERATE
    for _ in range(NOTES_MAX):
        yield ["note", NOTE]


def fill_up(wb, session, fits):
    """True when the disk was full."""
    for words in words_on(session, fits):
        done = wb.run(*words, "--session", session)
        check_message(done)
        if done.returncode == 74:
            assert "space" in done.stderr, done.stderr
            return True
        assert done.returncode == 0, done.stderr
    return False


def check_goes_on(wb, session):
    """After space was freed. A session that never was is refused, as its message says."""
    log = session / "events.jsonl"
    before = events(session) if log.exists() else []
    if log.exists() and log.stat().st_size:
        assert log.read_bytes().endswith(b"\n"), "a torn line"
        check_chain(session)
    done = wb.run("note", "there is space", "--session", session)
    check_message(done)
    if not before:
        assert done.returncode in {2, 65}, done.stderr
        return
    assert done.returncode == 0, done.stderr
    after = events(session)
    assert after[: len(before)] == before
    check_chain(session)
    closed = [e["payload"]["iteration"] for e in after if e["type"] == "iteration_closed"]
    committed = [e["payload"]["iteration"] for e in after if e["type"] == "iteration_committed"]
    assert sorted(set(closed)) == sorted(closed) == sorted(set(committed))


def copy_there(small_session, target):
    try:
        shutil.copytree(small_session, target, symlinks=True)
    except (OSError, shutil.Error):
        shutil.rmtree(target, ignore_errors=True)
        return False
    return True


def test_disks_of_every_size(wb, tmp_path, points, small_session):
    points.row = "A5"
    disk = tmp_path / "disk"
    full = 0
    for size in SIZES if TORTURE else [SIZES[1], SIZES[11]]:
        if reason := mount_small(disk, size):
            points.skip(reason)
        try:
            with points.point():
                session = disk / "s"
                fits = copy_there(small_session, session)
                full += fill_up(wb, session, fits)
                enlarged = subprocess.run(
                    ["mount", "-o", "remount,size=64m", disk], capture_output=True, text=True
                )
                if enlarged.returncode != 0:
                    pytest.fail(f"cannot enlarge the disk: {enlarged.stderr}")
                check_goes_on(wb, session)
        finally:
            subprocess.run(["umount", "-l", disk], check=True)
    assert full > 0, "no disk was ever full"
