"""Output that the user names is written where he says: what is no regular file is written through
and never replaced, what is full or closed is told, and a reader that leaves is no fault."""

import io
import os
import resource
import shutil
import signal
import stat
import subprocess
import sys
import tarfile
import threading
import time

import pytest
from support.commands import SMALL, importing

EXIT_IO = 74
REPORT = ["report", "--session", "s"]


@pytest.fixture
def opened(wb):
    wb.open_small()
    (wb.folder / "r.md").write_text("# A\n\n| a | b |\n|---|---|\n| 1 | 2 |\n")
    return wb


WRITERS = {
    "report": REPORT,
    "html": [*REPORT, "--html"],
    "pack": ["pack", "s"],
    "import": ["import", "report", "r.md"],
}
each_writer = pytest.mark.parametrize("words", WRITERS.values(), ids=WRITERS)


def written(wb, words, output, **how):
    return subprocess.run(
        wb.argv(*words, "--output", output), cwd=wb.folder, capture_output=True, timeout=60, **how
    )  # fmt: skip


def expected(wb, words):
    """What the verb makes, by a file of its own."""
    assert written(wb, words, "expected").returncode == 0
    content = (wb.folder / "expected").read_bytes()
    (wb.folder / "expected").unlink()
    assert len(content) > 10
    return content


@each_writer
@pytest.mark.parametrize("name", ["-", "/dev/stdout", "/proc/self/fd/1", "dev/stdout"])
def test_standard_output_gets_all_of_it_and_nothing_else(opened, words, name):
    (opened.folder / "dev").mkdir()
    (opened.folder / "dev" / "stdout").symlink_to("/proc/self/fd/1")
    done = written(opened, words, name)
    assert done.returncode == 0, done.stderr
    assert done.stdout == expected(opened, words)
    assert done.stderr.count(b"\n") >= 1  # what was done
    assert (opened.folder / "dev" / "stdout").is_symlink()
    assert not (opened.folder / "-").exists()


def test_an_archive_through_a_pipe_can_be_read(opened):
    done = written(opened, ["pack", "s"], "-")
    with tarfile.open(fileobj=io.BytesIO(done.stdout)) as tar:
        assert "s/events.jsonl" in tar.getnames()


def test_a_file_as_standard_output_is_not_begun_again(opened):
    """Neither what stood before nor what comes after is lost."""
    page = expected(opened, REPORT)
    with (opened.folder / "all").open("wb") as out:
        out.write(b"before\n")
        out.flush()
        words = opened.argv(*REPORT, "--output", "/dev/stdout")
        subprocess.run(words, cwd=opened.folder, stdout=out, timeout=60, check=True)
        out.seek(0, os.SEEK_END)
        out.write(b"after\n")
    assert (opened.folder / "all").read_bytes() == b"before\n" + page + b"after\n"


@each_writer
def test_a_device_is_written_through(opened, words):
    """A node of its own, so that a fault does not take the machine's."""
    node = opened.folder / "null"
    try:
        os.mknod(node, 0o666 | stat.S_IFCHR, os.makedev(1, 3))
        node.write_bytes(b"")
    except PermissionError:
        pytest.skip("device nodes cannot be made here: only root can, on a file system with them")
    assert written(opened, words, node).returncode == 0
    assert node.is_char_device()


@each_writer
def test_a_pipe_gets_all_of_it(opened, words):
    pipe = opened.folder / "pipe"
    os.mkfifo(pipe)
    got = []
    reader = threading.Thread(target=lambda: got.append(pipe.read_bytes()))
    reader.start()
    done = written(opened, words, pipe)
    reader.join(60)
    assert done.returncode == 0, done.stderr
    assert got == [expected(opened, words)]
    assert pipe.is_fifo()


@each_writer
def test_a_link_stays_and_what_it_leads_to_is_written(opened, words):
    (opened.folder / "there").mkdir()
    link = opened.folder / "link"
    link.symlink_to("there/target")
    assert written(opened, words, link).returncode == 0
    assert link.is_symlink()
    assert (opened.folder / "there" / "target").read_bytes() == expected(opened, words)


def test_a_file_that_a_link_leads_to_is_replaced_as_a_whole(opened):
    (opened.folder / "target").write_text("old")
    os.link(opened.folder / "target", opened.folder / "kept")
    (opened.folder / "link").symlink_to("target")
    assert written(opened, REPORT, "link").returncode == 0
    assert (opened.folder / "kept").read_text() == "old"
    assert (opened.folder / "target").read_bytes() == expected(opened, REPORT)


@pytest.mark.skipif(shutil.which("bash") is None, reason="no bash, which has >(…)")
def test_process_substitution(opened):
    line = '"$@" --output >(cat > got; mv got whole)'
    subprocess.run(
        ["bash", "-c", line, "bash", *opened.argv(*REPORT)], cwd=opened.folder,
        stdout=subprocess.DEVNULL, timeout=60, check=True,
    )  # fmt: skip
    deadline = time.monotonic() + 60
    while not (opened.folder / "whole").exists():
        assert time.monotonic() < deadline
        time.sleep(0.01)
    assert (opened.folder / "whole").read_bytes() == expected(opened, REPORT)


def test_a_descriptor_that_the_caller_gave(opened):
    with (opened.folder / "given").open("wb") as given:
        given.write(b"before\n")
        given.flush()
        name = f"/dev/fd/{given.fileno()}"
        done = written(opened, REPORT, name, pass_fds=[given.fileno()])
    assert done.returncode == 0, done.stderr
    assert (opened.folder / "given").read_bytes() == b"before\n" + expected(opened, REPORT)


@pytest.mark.parametrize("name", ["folder", "new/", "/dev/fd/77"])
def test_what_can_be_no_output_is_refused(opened, name):
    (opened.folder / "folder").mkdir()
    done = written(opened, REPORT, name)
    assert done.returncode == 2, done
    assert done.stderr.count(b"\n") == 1
    assert b"cannot write to" in done.stderr


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o664, 0o2755])
def test_a_file_that_is_replaced_keeps_its_permissions(opened, mode):
    file = opened.folder / "mine.md"
    file.write_text("old")
    if not os.geteuid():
        os.chown(file, 54321, 54321)
    file.chmod(mode)
    before = file.stat()
    assert written(opened, REPORT, file).returncode == 0
    after = file.stat()
    assert after.st_ino != before.st_ino
    assert (after.st_mode, after.st_uid, after.st_gid) == (
        before.st_mode, before.st_uid, before.st_gid
    )  # fmt: skip


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
def test_files_of_others_are_written_where_they_lie_or_not_at_all(opened):
    """In a folder that all may write: there the folder alone would let anybody's be replaced."""
    place = opened.folder / "place"
    place.mkdir()
    place.chmod(0o777)
    theirs, closed = place / "theirs.md", place / "closed.md"
    for file, mode in ((theirs, 0o666), (closed, 0o444)):
        file.write_text("old")
        file.chmod(mode)
    before = theirs.stat()
    as_other = {"user": 54321, "group": 54321, "extra_groups": []}
    opened.steady = False  # the Python behind steady turns may lie in a home closed to others
    for folder in (opened.folder, *opened.folder.parents):
        folder.chmod(folder.stat().st_mode | 0o005)
        if folder.name.startswith("pytest-of"):
            break
    assert written(opened, REPORT, theirs, **as_other).returncode == 0
    assert theirs.read_text() != "old"
    assert (theirs.stat().st_ino, theirs.stat().st_uid) == (before.st_ino, before.st_uid)
    done = written(opened, REPORT, closed, **as_other)
    assert done.returncode == 73, done
    assert b"Permission denied" in done.stderr
    assert closed.read_text() == "old"
    assert sorted(os.listdir(place)) == ["closed.md", "theirs.md"]


@pytest.mark.parametrize(
    "name",
    ["events.jsonl.gz", "blobs/x", "kernels/new/a.cpp", "iterations/x", ".git/x"],
)
def test_nothing_is_added_to_what_a_session_rests_on(opened, name):
    file = opened.folder / "s" / name
    file.parent.mkdir(parents=True, exist_ok=True)
    done = written(opened, REPORT, file)
    assert done.returncode == 2, done
    assert b"part of the session" in done.stderr
    assert not file.exists()


def test_pages_of_a_site_are_written_through(opened):
    site = opened.folder / "site"
    site.mkdir()
    (opened.folder / "elsewhere.html").write_text("old")
    (site / "index.html").symlink_to("../elsewhere.html")
    (site / "s.html").symlink_to("/dev/full")
    words = opened.argv("site", ".", "--output-dir", "site")
    done = subprocess.run(words, cwd=opened.folder, capture_output=True, timeout=60)
    assert done.returncode == EXIT_IO, done
    assert b"No space left on device" in done.stderr
    assert (site / "s.html").is_symlink()
    (site / "s.html").unlink()
    done = subprocess.run(words, cwd=opened.folder, capture_output=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert (site / "index.html").is_symlink()
    assert "<html" in (opened.folder / "elsewhere.html").read_text()


@pytest.mark.parametrize("was_there", [False, True])
def test_half_a_package_is_taken_away_again(opened, was_there):
    opened.json("check", "cpu_unfused", "--session", "s", "--problem", SMALL)
    words = opened.argv("export", "cpu_unfused", "--session", "s", "--c", "--output", "package")
    if was_there:
        (opened.folder / "package").mkdir()

    def few_bytes():
        resource.setrlimit(resource.RLIMIT_FSIZE, (3000, 3000))

    done = subprocess.run(
        words, cwd=opened.folder, capture_output=True, timeout=60, preexec_fn=few_bytes
    )
    assert done.returncode == EXIT_IO, done
    assert b"ulimit -f" in done.stderr
    assert (opened.folder / "package").exists() == was_there
    assert not was_there or not os.listdir(opened.folder / "package")
    done = subprocess.run(words, cwd=opened.folder, capture_output=True, timeout=60)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("name", ["events.jsonl", "session.json", "log"])
def test_no_page_takes_the_place_of_what_a_session_rests_on(opened, name):
    (opened.folder / "s" / "log").symlink_to("events.jsonl")
    file = opened.folder / "s" / name
    before = file.read_bytes()
    done = written(opened, REPORT, file)
    assert done.returncode == 2, done
    assert b"part of the session" in done.stderr
    assert file.read_bytes() == before
    assert written(opened, REPORT, opened.folder / "s" / "reports" / "mine.md").returncode == 0


def test_a_file_that_is_mounted_by_itself_is_overwritten(opened):
    """As containers are given single files."""
    (opened.folder / "outside").write_text("old, and longer than nothing")
    (opened.folder / "inside").touch()
    shell = 'mount --bind outside inside || exit 99; exec "$@" --output inside'
    done = subprocess.run(
        ["unshare", "-m", "sh", "-c", shell, "sh", *opened.argv(*REPORT)], cwd=opened.folder,
        capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    if done.returncode == 99 or "unshare failed" in done.stderr:
        pytest.skip("no mounts of our own: only root has them")
    assert done.returncode == 0, done
    assert (opened.folder / "outside").read_bytes() == expected(opened, REPORT)


def test_the_wait_for_a_reader_can_be_stopped(opened):
    os.mkfifo(opened.folder / "pipe")
    process = opened.start(*REPORT, "--output", "pipe")
    # From its second thread on, signals stop it in order.
    while len(os.listdir(f"/proc/{process.pid}/task")) < 2:
        assert process.poll() is None
        time.sleep(0.005)
    process.send_signal(signal.SIGTERM)
    assert process.wait(timeout=60) == 130
    assert (opened.folder / "pipe").is_fifo()


ANSWERS = {
    "help": ["--help"],
    "help of a verb": ["report", "--help"],
    "version": ["--version"],
    "reference": ["command-reference"],
    "table": ["verb-table"],
    "reading": ["status", "--session", "s"],
    "writing": ["note", "x", "--session", "s"],
    "alone": ["kernels"],
    "output": [*REPORT, "--output", "-"],
}
each_answer = pytest.mark.parametrize("words", ANSWERS.values(), ids=ANSWERS)


def answer(wb, words, stdout):
    """Without what the tests add, where an option has no place."""
    argv = wb.argv(*words) if "--session" in words else [str(wb.program), *words]
    return subprocess.run(
        argv, cwd=wb.folder, stdout=stdout, stderr=subprocess.PIPE, text=True, timeout=60
    )


@each_answer
@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full")
def test_a_full_output_is_told(opened, words):
    with open("/dev/full", "wb") as full:
        done = answer(opened, words, full)
    assert done.returncode == EXIT_IO, done
    assert done.stderr.count("\n") == 1
    assert "standard output: No space left on device" in done.stderr


@each_answer
def test_a_reader_that_leaves_is_no_fault(opened, words):
    ends = os.pipe()
    os.close(ends[0])
    done = answer(opened, words, ends[1])
    os.close(ends[1])
    assert done.returncode == 0, done
    # What a report says of itself goes to standard error, where it goes to standard output.
    assert done.stderr == "" or "bytes" in done.stderr


def test_a_full_output_of_the_worker(opened):
    worker = opened.program.with_name("sdpa-wb-worker")
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            [worker, "--version"], stdout=full, stderr=subprocess.PIPE, timeout=60
        )
    assert done.returncode == EXIT_IO
    assert b"standard output" in done.stderr


def test_a_full_output_of_the_mcp_server(package):
    pytest.importorskip("mcp")
    words = [sys.executable, "-m", "sdpa_workbench.mcp_server", "--help"]
    env = os.environ | importing(package)
    with open("/dev/full", "wb") as full:
        done = subprocess.run(words, stdout=full, stderr=subprocess.PIPE, env=env, timeout=60)
    assert done.returncode == EXIT_IO
    assert done.stderr.count(b"\n") == 1
    assert b"standard output: No space left on device" in done.stderr


def test_a_named_output_that_is_full(opened):
    (opened.folder / "full").symlink_to("/dev/full")
    done = written(opened, REPORT, "full")
    assert done.returncode == EXIT_IO
    assert b"No space left on device" in done.stderr
    assert (opened.folder / "full").is_symlink()


def test_an_error_in_json_that_nobody_can_read_is_told(opened):
    with open("/dev/full", "wb") as full:
        done = answer(opened, ["status", "--session", "none", "--json"], full)
    assert done.returncode == EXIT_IO
    assert done.stderr.count("\n") == 2


def test_a_slow_reader_of_a_pipe_that_does_not_block_gets_all(opened):
    """As programs leave them behind that share a pipe or a terminal with us."""
    whole = answer(opened, ["verb-table"], subprocess.PIPE).stdout
    assert len(whole) > 70_000  # more than a pipe holds
    ends = os.pipe()
    os.set_blocking(ends[1], False)
    process = subprocess.Popen([opened.program, "verb-table"], stdout=ends[1])
    os.close(ends[1])
    time.sleep(0.05)
    with os.fdopen(ends[0]) as pipe:
        got = pipe.read()
    assert process.wait(timeout=60) == 0
    assert got == whole
