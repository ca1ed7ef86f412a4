# SPDX-License-Identifier: MIT
"""Rows A4 and A5: calls that fail. strace makes the Nth system call of the real command fail, once
or from then on, until no fault fires; and sessions run on file systems of 64 KiB to 2 MiB: the log
ends in a whole line, the message says what to do, and the session goes on once there is space."""

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


# Row A4 once more, by another hand: strace makes the Nth system call of the real command fail,
# once or from then on, until no fault fires.

FAULTS = [
    ("openat", "EMFILE"), ("openat", "EIO"), ("write", "ENOSPC"), ("write", "EIO"),
    ("write", "EINTR"), ("fsync", "EIO"), ("fdatasync", "EIO"), ("fdatasync", "ENOSPC"),
    ("rename", "ENOSPC"), ("link", "EIO"), ("mkdir", "ENOSPC"), ("unlink", "EIO"),
    ("mmap", "ENOMEM"), ("flock", "EINTR"), ("ftruncate", "EIO"),
]  # fmt: skip
STARTING = [("vfork", "EAGAIN"), ("clone3", "EAGAIN"), ("pipe2", "EMFILE"), ("openat", "EMFILE"),
            ("memfd_create", "EMFILE"), ("mmap", "ENOMEM"), ("poll", "EINTR"),
            ("getrandom", "EINTR")]  # fmt: skip
# ok, usage (not found), limit, damaged, internal (out of memory), read-only, io, locked, machine
EXITS = {0, 2, 5, 65, 70, 73, 74, 75, 76}
REPEATED = 3  # a call that is interrupted for ever would be repeated for ever
NTH_MAX = 2000


def strace_missing(folder):
    """Why strace cannot make calls fail here, or nothing."""
    if shutil.which("strace") is None:
        return "strace is not installed"
    tried = subprocess.run(
        ["strace", "-o", folder / "probe", "-e", "inject=getppid:error=EIO", "true"],
        capture_output=True, text=True,
    )  # fmt: skip
    return "" if tried.returncode == 0 else f"strace cannot trace here: {tried.stderr.strip()}"


class Injector:
    def __init__(self, wb, folder):
        self.wb, self.trace = wb, folder / "trace"
        self.of_the_loader = {}

    def first(self, call):
        """The first call that is ours: before it the loader takes the libraries in, and what it
        makes of a fault (its own message, or a crash) is not ours to mend."""
        if call not in self.of_the_loader:
            argv = ["strace", "-o", str(self.trace), "-e", f"trace={call}",
                    str(self.wb.program), "--help"]  # fmt: skip
            subprocess.run(argv, capture_output=True, check=True)
            self.of_the_loader[call] = self.trace.read_text().count(f"{call}(")
        return self.of_the_loader[call] + 1 if call in ("mmap", "openat") else 1

    def run(self, call, error, nth, stuck, *words):
        """The command's end, and whether a fault fired."""
        when = f"{nth}+" if stuck else str(nth)
        if stuck and error == "EINTR":
            when = f"{nth}..{nth + REPEATED - 1}"
        argv = ["strace", "-o", str(self.trace), "-e", f"trace={call}", "-e",
                f"inject={call}:error={error}:when={when}", *self.wb.argv(*words)]  # fmt: skip
        done = subprocess.run(
            argv, cwd=self.wb.folder, capture_output=True, text=True, timeout=120, errors="replace"
        )
        return done, "(INJECTED)" in self.trace.read_text(errors="replace")


def end_is_typed(done, mute=False):
    """`mute`: every write fails, so that there is nobody to tell."""
    if mute:
        assert done.returncode in EXITS, (done.returncode, done.stderr)
        return
    check_message(done)
    assert done.returncode in EXITS, (done.returncode, done.stderr)
    if done.returncode == 70:
        assert "bad_alloc" in done.stderr or "memory" in done.stderr, done.stderr


@pytest.mark.parametrize("verb", ["note", "close"])
def test_every_failing_call_of_a_command(wb, tmp_path, points, fresh, verb):
    points.row = "A4 strace"
    if reason := strace_missing(tmp_path):
        points.skip(reason)
    injector = Injector(wb, tmp_path)
    words = [verb, "x"] if verb == "note" else [verb]
    stride = (1 if verb == "note" else 3) if TORTURE else 61
    for call, error in FAULTS:
        for stuck in (False, True):
            for nth in range(injector.first(call), NTH_MAX, stride):
                session = fresh()
                before = events(session)
                done, fired = injector.run(call, error, nth, stuck, *words, "--session", session)
                if not fired:
                    assert done.returncode == 0, (call, error, nth, done.stderr)
                    break
                with points.point():
                    end_is_typed(done, mute=stuck and call == "write")
                    assert events(session)[: len(before)] == before
                    check_starts_again(wb, session)


def check_starts_again(wb, session):
    """Without faults the next command works, unless the session was closed before the fault."""
    closed = any(event["type"] == "session_closed" for event in events(session))
    done = wb.run("note", "after the fault", "--session", session)
    assert done.returncode == (65 if closed else 0), done.stderr
    check_chain(session)


def test_every_failing_call_of_a_start(wb, tmp_path, points):
    """`check` starts a compiler's question, a worker, a judge and a subject."""
    points.row = "A4 strace"
    if reason := strace_missing(tmp_path):
        points.skip(reason)
    injector = Injector(wb, tmp_path)
    words = ["check", "cpu_tiled", "--problem", SMALL]
    wb.run(*words, check=0)
    for call, error in STARTING:
        for stuck in (False, True):
            for nth in range(injector.first(call), NTH_MAX, 3 if TORTURE else 60):
                done, fired = injector.run(call, error, nth, stuck, *words)
                if not fired:
                    assert done.returncode == 0, (call, error, nth, done.stderr)
                    break
                with points.point():
                    end_is_typed(done)
    wb.run(*words, check=0)
