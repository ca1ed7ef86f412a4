"""A disk that is full or read-only, a session that is locked: nothing already logged is lost, the
message says what to do, and the session goes on afterwards."""

import fcntl
import shutil
import subprocess

import pytest
from support.logs import events

MIB = 1 << 20
ITERATE = ["iterate", "--variant", "cpu_tiled", "--hypothesis", "tiles reuse keys",
           "--predicted-speedup", "1.5", "--confirm", "never"]  # fmt: skip


@pytest.fixture
def disk(tmp_path):
    """A small file system of its own, mounted in the test's folder."""
    if shutil.which("mount") is None:
        pytest.skip("no mount command")
    folder = tmp_path / "disk"
    folder.mkdir()
    made = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=16m", "tmpfs", folder], capture_output=True, text=True
    )
    if made.returncode != 0:
        pytest.skip(f"cannot mount a small file system: {made.stderr.strip()}")
    yield folder
    subprocess.run(["umount", "-l", folder], check=True)


def fill(folder, leave=0):
    """Writes until the disk is full, then gives `leave` bytes back."""
    ballast = folder / "ballast"
    with ballast.open("wb", buffering=0) as file:
        try:
            while True:
                file.write(bytes(64 * 1024))
        except OSError:
            pass
        file.truncate(max(0, file.tell() - leave))
    return ballast


def one_message(done):
    lines = done.stderr.strip().splitlines()
    assert 1 <= len(lines) <= 3, done.stderr
    assert "terminate called" not in done.stderr
    return done.stderr


@pytest.mark.parametrize("leave", [0, 16 * 1024])
def test_a_full_disk_loses_nothing(wb, disk, leave):
    session = disk / "s"
    wb.open_small(session)
    before = events(session)
    ballast = fill(disk, leave)
    done = wb.run(*ITERATE, "--session", session)
    assert done.returncode == 74, done.stderr
    assert "space" in one_message(done)
    kept = events(session)
    assert kept[: len(before)] == before

    ballast.unlink()
    answer = wb.json(*ITERATE, "--session", session)
    assert answer["outcome"] == "no_gain"
    after = events(session)
    assert after[: len(kept)] == kept
    closed = [e["payload"]["iteration"] for e in after if e["type"] == "iteration_closed"]
    committed = [e["payload"]["iteration"] for e in after if e["type"] == "iteration_committed"]
    assert sorted(closed) == sorted(set(committed)) == sorted(set(closed))


def test_a_full_disk_at_open(wb, disk):
    fill(disk)
    done = wb.run("open", "--start", "cpu_unfused", "--problem", "B=1 Hq=1 Sq=8 D=8 f32",
                  "--rivals", "none", "--session", disk / "s")  # fmt: skip
    assert done.returncode == 74, done.stderr
    assert "space" in one_message(done)


@pytest.mark.parametrize(
    "words",
    [["new", "mine", "--from", "cpu_tiled", "--in", "OUT"],
     ["site", "sessions", "--output-dir", "OUT"]],
)  # fmt: skip
@pytest.mark.parametrize("is_there", [False, True])
def test_no_half_folder_stays_on_a_full_disk(wb, disk, words, is_there):
    wb.open_small("sessions/s")
    out = disk / "a" / "b"
    (out if is_there else disk).mkdir(parents=True, exist_ok=True)
    fill(disk)
    done = wb.run(*[str(out) if word == "OUT" else word for word in words])
    assert done.returncode == 74, done.stderr
    assert "space" in one_message(done)
    assert out.exists() == is_there
    if is_there:
        assert list(out.iterdir()) == []
    else:
        assert not (disk / "a").exists()


def test_a_read_only_disk(wb, disk):
    session = disk / "s"
    wb.open_small(session)
    log = (session / "events.jsonl").read_bytes()
    subprocess.run(["mount", "-o", "remount,ro", disk], check=True)
    for words in (["note", "x"], ITERATE, ["close"]):
        done = wb.run(*words, "--session", session)
        assert done.returncode == 73, (words, done.stderr)
        assert "read-only" in one_message(done).lower()
    # Readers need no permission to write.
    assert wb.json("status", "--session", session)
    assert wb.json("show", "e1", "--session", session)
    assert (session / "events.jsonl").read_bytes() == log


def test_a_locked_session(wb, tmp_path):
    session = tmp_path / wb.open_small()["session"]
    log = (session / "events.jsonl").read_bytes()
    locks = [p for p in session.iterdir() if "lock" in p.name]
    held = (locks[0] if locks else session / "events.jsonl").open("rb")
    fcntl.flock(held, fcntl.LOCK_EX)
    done = wb.run("note", "x", "--session", session)
    assert done.returncode == 75, done.stderr
    assert "holds its lock" in one_message(done)
    assert wb.json("status", "--session", session)
    assert (session / "events.jsonl").read_bytes() == log
    held.close()
    wb.run("note", "x", "--session", session, check=0)
