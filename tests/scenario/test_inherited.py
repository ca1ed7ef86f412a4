"""What a process inherits from whoever starts it: closed standard streams, what was done about
signals, umask, limits, a working folder that is gone, no name of its own."""

import json
import os
import resource
import signal
import subprocess
import tempfile
from functools import partial
from pathlib import Path

import pytest
from support.commands import ROOT, SMALL
from support.logs import check_chain, events

ITERATE = ["iterate", "--variant", "cpu_online", "--hypothesis", "one pass", "--predicted-speedup",
           "1.2"]  # fmt: skip
EXIT_IO, EXIT_ENVIRONMENT = 74, 76


def closing(wb, streams, *words):
    """The command, started with those of the descriptors 0 to 2 closed."""
    shut = " ".join({"0": "<&-", "1": ">&-", "2": "2>&-"}[one] for one in streams)
    return subprocess.run(
        ["sh", "-c", f'exec "$@" {shut}', "sh", *wb.argv(*words)],
        cwd=wb.folder, capture_output=True, text=True, timeout=240,
    )  # fmt: skip


def started(wb, prepare, *words):
    """The command, in a process that did `prepare` first."""
    return subprocess.Popen(
        wb.argv(*words), cwd=wb.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        preexec_fn=prepare,
    )  # fmt: skip


def kinds(session):
    """What has happened in it, in order."""
    return [event["type"] for event in events(session)]


@pytest.mark.parametrize("streams", ["0", "1", "2", "01", "012"])
def test_with_closed_streams_nothing_goes_into_the_log(wb, tmp_path, streams):
    wb.open_small()
    done = closing(wb, streams, "note", "a note", "--session", "s")
    assert done.returncode == (EXIT_IO if "1" in streams else 0), done
    if streams == "1":
        assert "standard output: it is closed" in done.stderr
    check_chain(tmp_path / "s")
    assert "note" in kinds(tmp_path / "s")
    wb.run("status", "--session", "s", check=0)


def test_a_whole_session_with_closed_streams(wb, tmp_path):
    """Worker, judge, subjects and compilers get no better ones."""
    opening = ["open", "--start", "cpu_unfused", "--problem", SMALL, "--rivals", "none", "--effort",
               "quick"]  # fmt: skip
    for words in [opening, ITERATE, ["close"]]:
        assert closing(wb, "012", *words, "--session", "s").returncode == EXIT_IO
    check_chain(tmp_path / "s")
    assert "session_closed" in kinds(tmp_path / "s")


def test_help_without_streams_is_an_error_and_no_more(wb):
    for words in [["--help"], ["--version"], ["kernels"]]:
        assert closing(wb, "012", *words).returncode == EXIT_IO


STOPS = [signal.SIGHUP, signal.SIGINT, signal.SIGTERM]


def ignore(*numbers):
    for number in numbers:
        signal.signal(number, signal.SIG_IGN)


def test_signals_that_were_ignored_stay_so(wb, tmp_path):
    """As under nohup, or in the background of a script."""
    wb.open_small()
    held = wb.turns.hold("turn", 2)
    process = started(wb, partial(ignore, *STOPS), *ITERATE, "--session", "s")
    held.wait(process)
    for number in STOPS:
        process.send_signal(number)
    held.release()
    out, err = process.communicate(timeout=240)
    assert process.returncode == 0, f"{out}\n{err}"
    assert kinds(tmp_path / "s").count("iteration_committed") == 2


def ignore_hangup_block_all():
    ignore(signal.SIGHUP)
    signal.pthread_sigmask(signal.SIG_SETMASK, signal.valid_signals())


def test_blocked_signals_are_no_wish_of_the_user(wb, tmp_path):
    wb.open_small()
    held = wb.turns.hold("turn", 2)
    process = started(wb, ignore_hangup_block_all, *ITERATE, "--session", "s")
    held.wait(process)
    process.send_signal(signal.SIGHUP)
    process.send_signal(signal.SIGTERM)
    out, err = process.communicate(timeout=240)
    assert process.returncode == 130, f"{out}\n{err}"
    assert kinds(tmp_path / "s")[-1] == "session_paused"


def test_a_starter_that_ignores_its_children_breaks_none_of_ours(wb):
    process = started(wb, partial(ignore, signal.SIGCHLD), "check", "cpu_tiled", "--problem", SMALL)
    out, err = process.communicate(timeout=240)
    assert process.returncode == 0, f"{out}\n{err}"


def test_what_is_written_can_be_read_again(wb, tmp_path):
    wb.open_small()
    process = started(wb, partial(os.umask, 0o777), *ITERATE, "--session", "s")
    assert process.wait(timeout=240) == 0
    page = tmp_path / "s" / "iterations" / "0001.md"
    assert page.stat().st_mode & 0o777 == 0o600
    wb.run("report", "--session", "s", check=0)


def limit(kind, most):
    resource.setrlimit(kind, (most, most))


def test_a_limit_of_a_files_size_is_an_error_and_ends_nothing(wb, tmp_path):
    wb.open_small()
    log = tmp_path / "s" / "events.jsonl"
    before = log.read_bytes()
    most = len(before) + 100
    process = started(wb, partial(limit, resource.RLIMIT_FSIZE, most),
                      "note", "x" * 1000, "--session", "s")  # fmt: skip
    out, err = process.communicate(timeout=60)
    assert process.returncode == EXIT_IO, f"{out}\n{err}"
    assert "file size limit" in err
    assert log.read_bytes() == before
    wb.run("note", "fits", "--session", "s", check=0)


def test_a_soft_limit_of_open_files_is_raised(wb):
    def prepare():
        hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        resource.setrlimit(resource.RLIMIT_NOFILE, (12, hard))

    wb.open_small()
    process = started(wb, prepare, *ITERATE, "--session", "s")
    out, err = process.communicate(timeout=240)
    assert process.returncode == 0, f"{out}\n{err}"


NOBODY = 61_234  # whom no other process here is


@pytest.fixture
def of_nobody(wb):
    """A folder of a user who has no process yet: root's are not counted."""
    if os.getuid() != 0:
        pytest.skip("only root can become another user")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for place in (folder, *folder.parents):
            if not place.stat().st_mode & 0o001 and place != folder:
                pytest.skip(f"other users cannot reach {place}")
        for place in (wb.program, *wb.program.parents):
            if not place.stat().st_mode & 0o001:
                pytest.skip(f"other users cannot reach {place}")
        os.chown(folder, NOBODY, NOBODY)
        yield folder


def test_a_limit_of_processes_is_told_by_doctor(wb, of_nobody):
    done = subprocess.run(
        [wb.program, "doctor", "--json", "--path", ROOT, "--cache", of_nobody / "cache"],
        cwd=of_nobody, env={"PATH": "/usr/bin:/bin"}, preexec_fn=partial(as_nobody, 100),
        capture_output=True, text=True, timeout=240,
    )  # fmt: skip
    rows = {row["name"]: row for row in json.loads(done.stdout)["checks"]}
    assert "at most 100 processes and threads of this user" in rows["process"]["detail"]
    assert "ulimit -u" in rows["process"]["next"]


def as_nobody(most):
    os.setgroups([])
    os.setresgid(NOBODY, NOBODY, NOBODY)
    os.setresuid(NOBODY, NOBODY, NOBODY)
    limit(resource.RLIMIT_NPROC, most)


@pytest.mark.parametrize("most", [1, 3, 5, 6, 8])
def test_a_limit_of_processes_is_no_variants_fault(wb, of_nobody, most):
    """Whatever fails first of compilers, worker, subject and the variant's own threads. A compiler
    is not started where its own processes would be refused: it would try for 15 s at each step."""
    done = subprocess.run(
        [wb.program, "check", "cpu_simd_flash", "--problem", SMALL, "--path", ROOT,
         "--cache", of_nobody / "cache"],
        cwd=of_nobody, env={"PATH": "/usr/bin:/bin"}, preexec_fn=partial(as_nobody, most),
        capture_output=True, text=True, timeout=240,
    )  # fmt: skip
    assert done.returncode == EXIT_ENVIRONMENT, done
    assert "ulimit -u" in done.stdout + done.stderr


def test_limits_and_priorities_are_told_by_doctor(wb):
    def prepare():
        os.nice(2)
        limit(resource.RLIMIT_CPU, 3600)

    process = started(wb, prepare, "doctor", "--json")
    out, err = process.communicate(timeout=240)
    rows = {row["name"]: row for row in json.loads(out)["checks"]}
    assert rows["process"]["state"] == "warning", err
    assert "niceness" in rows["process"]["detail"]
    assert "3600 seconds of CPU time" in rows["process"]["detail"]
    assert "ulimit -t" in rows["process"]["next"]


def test_a_working_folder_that_is_gone_is_named(wb, tmp_path):
    wb.open_small()
    gone = tmp_path / "gone"

    def run_there(*words):
        gone.mkdir()
        return subprocess.run(
            ["sh", "-c", 'rmdir "$PWD" && exec "$@"', "sh", *wb.argv(*words)],
            cwd=gone, capture_output=True, text=True, timeout=60,
        )  # fmt: skip

    for words in [["note", "x", "--session", tmp_path / "s"], ["kernels"], ["mcp"]]:
        done = run_there(*words)
        assert done.returncode == 2, done
        assert done.stderr.count("\n") == 1
        assert "the current folder: it was removed" in done.stderr
    assert run_there("--version").returncode == 0


@pytest.mark.parametrize("program", ["sdpa-wb", "sdpa-wb-worker"])
def test_a_program_without_a_name(build, program):
    done = subprocess.run(
        [""], executable=build / program, stdin=subprocess.DEVNULL, capture_output=True, text=True,
        timeout=60,
    )  # fmt: skip
    assert done.returncode == (2 if program == "sdpa-wb" else 0), done


def test_a_job_keeps_nothing_open_of_its_starter(wb, tmp_path):
    """Else who waits for the end of a pipe, or for a lock, waits for the end of the job."""
    wb.open_small()
    held = wb.turns.hold("turn", 2)
    ends = os.pipe()
    done = subprocess.run(
        wb.argv(*ITERATE, "--session", "s", "--detach", "--json"), cwd=wb.folder,
        pass_fds=[ends[1]], capture_output=True, text=True, timeout=240, check=True,
        preexec_fn=partial(ignore, signal.SIGTERM),
    )  # fmt: skip
    os.close(ends[1])
    assert os.read(ends[0], 1) == b""
    os.close(ends[0])
    # It is stopped by `cancel job`, although its starter ignored the signal.
    assert json.loads(done.stdout)["state"] == "running"
    assert wb.json("cancel", "job", "--session", "s")["ended"] is True
    assert not (held.folder / "go").exists()


CLOSED = """
import os
for fd in (0, 1, 2):
    os.close(fd)
session = wb.Session(sys.argv[1] if len(sys.argv) > 1 else "s", workbench=bench)
session.note("one")
for fd in (1, 2):
    try:
        os.write(fd, b"foreign")
    except OSError:
        pass
session.note("two")
os._exit(7)
"""


def test_python_that_has_closed_its_streams(wb, script, tmp_path):
    wb.open_small()
    process = script(CLOSED)
    assert process.wait(timeout=240) == 7
    check_chain(tmp_path / "s")
    texts = [e["payload"]["text"] for e in events(tmp_path / "s") if e["type"] == "note"]
    assert texts == ["one", "two"]


CAUSES = """
import os, signal
old = os.umask(0o700)
try:
    wb.Session("s", workbench=bench).note("x")
except wb.errors.EnvironmentFault as fault:
    print("umask:", fault)
os.umask(old)
os.mkdir("gone")
home = os.getcwd()
os.chdir("gone")
os.rmdir("../gone")
try:
    wb.Session(home + "/s", workbench=bench).note("x")
except wb.errors.WorkbenchError as fault:
    print("folder:", fault)
os.chdir(home)
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
try:
    # A variant that was compiled before needs no compiler: the worker is what cannot start then.
    [asked] = bench.check("cpu_tiled", problem="B=1 Hq=2 Sq=64 D=32 f32").problems
    print("children:", asked["outcome"], asked["message"])
except wb.errors.EnvironmentFault as fault:
    print("children: environment", fault)
signal.signal(signal.SIGCHLD, signal.SIG_DFL)
print(bench.check("cpu_tiled", problem="B=1 Hq=2 Sq=64 D=32 f32").passed)
"""


def test_in_python_the_error_names_the_cause(wb, script):
    """What is the program's stays as it is, and when the cause is gone all works."""
    wb.open_small()
    out, err = script(CAUSES).communicate(timeout=240)
    told = out.splitlines()
    assert len(told) == 4, f"{out}\n{err}"
    assert told[0].startswith("umask:")
    assert "umask 0700" in told[0]
    assert told[1].startswith("folder:")
    assert "it was removed" in told[1]
    assert told[2].startswith("children: environment")
    assert "SIGCHLD" in told[2]
    assert "install" not in told[2]
    assert told[3] == "True"


def test_the_worker_puts_in_order_what_its_transport_left(wb, tmp_path):
    """A shell between, which has closed standard error and ignores SIGCHLD."""
    script = tmp_path / "transport"
    begin = "#!/bin/sh\ntrap '' CHLD HUP\numask 0777\n"
    script.write_text(f'{begin}exec {wb.turns.worker} "$@" 2>&-\n')
    script.chmod(0o755)
    done = subprocess.run(
        [wb.program, "check", "cpu_tiled", "--problem", SMALL, "--worker", script, "--path",
         ROOT, "--cache", wb.cache, "--quiet"],
        cwd=wb.folder, capture_output=True, text=True, timeout=240,
    )  # fmt: skip
    assert done.returncode == 0, done
