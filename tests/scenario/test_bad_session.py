"""Bad input around a session: spaces, budgets, suites, caches, locks, and a resume that meets other
circumstances than it left. Each a clear message, and nothing lost."""

import json
import os
import shutil
import subprocess

import pytest
from support.commands import ROOT, SMALL
from support.logs import events
from test_bad_disk import ITERATE, disk, fill, one_message  # noqa: F401
from test_tune import TUNE

PLAYBOOK = ROOT / "tests" / "scenario" / "playbooks" / "steps.lua"


def own_kernel(folder, name, **changes):
    """cpu_tiled under another name, with another manifest."""
    target = folder / "kernels" / name
    shutil.copytree(ROOT / "kernels" / "cpu_tiled", target)
    manifest = json.loads((target / "kernel.json").read_text()) | {"name": name} | changes
    (target / "kernel.json").write_text(json.dumps(manifest))


def tune_of(name):
    return [name if word == "cpu_tiled" else word for word in TUNE]


def test_restrictions_that_never_hold(wb, tmp_path):
    session = tmp_path / wb.open_small()["session"]
    before = events(session)
    # Of the kernel alone, and of the kernel on these problems (D is 32).
    for name, rule, said in [("never", "TILE_M > 100000", "its own restriction"),
                             ("elsewhere", "D > 100000", "holds for none")]:  # fmt: skip
        own_kernel(tmp_path, name, restrictions=[rule])
        done = wb.run(*tune_of(name), "--session", session)
        assert done.returncode in {2, 65}, done
        assert rule in one_message(done)
        assert said in done.stderr
    assert not [e for e in events(session)[len(before) :] if e["type"] == "iteration_opened"]


def test_a_space_of_ten_million_points(wb, tmp_path):
    wide = {f"P{number}": list(range(1, 11)) for number in range(5)}
    parameters = {"TILE_M": list(range(8, 88, 8)), "TILE_N": list(range(8, 88, 8)), **wide}
    own_kernel(
        tmp_path, "wide", tune_params=parameters,
        defaults={name: values[0] for name, values in parameters.items()}, restrictions=[],
    )  # fmt: skip
    session = tmp_path / wb.open_small()["session"]
    done = wb.run(*tune_of("wide"), "--strategy", "exhaustive", "--session", session)
    assert done.returncode == 2, done
    assert "10000000" in one_message(done).replace(",", "").replace("'", "")
    # With a limit it starts at once. (These points are none that the source compiles with.)
    answer = json.loads(
        wb.run(*tune_of("wide"), "--evaluations", 1, "--session", session, "--json").stdout
    )
    assert answer["tune"]["told"] == 1


@pytest.mark.parametrize(
    ("budget", "said"),
    [("evaluations", "0 of 0 evaluations"), ("wall_s", "of 0 s"), ("usd", "of $0")],
    ids=["evaluations", "wall_s", "usd"],
)
def test_a_budget_of_zero(wb, tmp_path, budget, said):
    """A baseline and nothing more: the first iteration is not even opened."""
    rates = {"device_usd_per_hour": 1, "compile_cpu_usd_per_hour": 1} if budget == "usd" else {}
    session = tmp_path / wb.open_small(**{budget: 0}, **rates)["session"]
    answer = wb.json(*ITERATE, "--session", session, check=5)
    assert answer["outcome"] == "stopped", answer
    assert said in answer["stop_reason"]
    assert sum(e["type"] == "iteration_opened" for e in events(session)) == 1


def test_a_suite_with_one_wrong_problem(wb, tmp_path):
    (tmp_path / "kernels").mkdir()
    suites = json.loads((ROOT / "kernels" / "suites.json").read_text())
    suite = suites["suites"]["n6"]
    suite["problems"][-1] |= {"Hq": 3, "Hkv": 2}
    suites["suites"] = {"mine": suite}
    (tmp_path / "kernels" / "suites.json").write_text(json.dumps(suites))
    done = wb.run("open", "--start", "cpu_unfused", "--suite", "mine", "--rivals", "none",
                  "--session", tmp_path / "s")  # fmt: skip
    assert done.returncode in {2, 65}, done
    message = one_message(done)
    assert "suites.json" in message
    assert "mine" in message or "Hkv" in message, message
    assert not (tmp_path / "s").exists()


def test_a_resume_under_another_toolchain(wb, tmp_path):
    """The compiler is another program now: the session says so, builds anew and goes on."""
    real = shutil.which("g++")
    if real is None:
        pytest.skip("no g++ to play another compiler")
    session = tmp_path / wb.open_small()["session"]
    other = tmp_path / "other-g++"
    other.write_text(
        f'#!/bin/sh\ncase "$*" in\n*--version*) echo "other-g++ 99.0" ;;\n'
        f'*) exec {real} "$@" ;;\nesac\n'
    )
    other.chmod(0o755)
    answer = wb.json("resume", "--session", session, "--compiler", other)
    assert any("99.0" in change for change in answer["environment_changed"]), answer
    resumed = [e["payload"] for e in events(session) if e["type"] == "session_resumed"]
    assert resumed[-1]["environment_changed"] == answer["environment_changed"]
    assert "99.0" in wb.run("report", "--kind", "full", "--session", session, check=0).stdout


def test_a_resume_keeps_the_threads_of_the_session(wb, tmp_path):
    session = tmp_path / wb.open_small(threads="1")["session"]
    assert wb.json("resume", "--session", session)["environment_changed"] == []
    if len(os.sched_getaffinity(0)) > 1:
        told = wb.json("resume", "--session", session, "--threads", "2")["environment_changed"]
        assert told == ["threads: 1 -> 2"]


def test_a_playbook_that_changed(wb, tmp_path):
    playbook = tmp_path / "steps.lua"
    shutil.copy(PLAYBOOK, playbook)
    session = tmp_path / "s"
    wb.turns.take(cpu_online=80)
    held = wb.turns.hold("first_calls")  # while the first iteration is confirmed
    process = wb.start("run", playbook, "--session", session)
    held.wait(process)
    process.kill()
    process.communicate()
    kept = events(session)
    playbook.write_text(playbook.read_text() + "-- another line\n")
    done = wb.run("resume", "--session", session)
    assert done.returncode == 65, (done.stdout, done.stderr)
    message = one_message(done)
    assert "its text changed" in message
    assert "--replan" in message
    assert events(session)[: len(kept)] == kept


def test_a_cache_on_a_full_disk(wb, disk, tmp_path):  # noqa: F811
    """What cannot be kept is the machine's matter; with another cache the session goes on."""
    session = tmp_path / wb.open_small()["session"]
    fill(disk)
    words = ["check", "cpu_online", "--problem", SMALL]
    argv = [str(word) for word in wb.argv(*words)]
    argv[argv.index("--cache") + 1] = str(disk / "cache")
    done = subprocess.run(argv, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode in {74, 76}, (done.stdout, done.stderr)
    assert "space" in done.stdout + done.stderr
    wb.run("note", "another cache", "--session", session, check=0)
    subprocess.run(["mount", "-o", "remount,ro", disk], check=True)
    done = subprocess.run(argv, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode in {73, 76}, (done.stdout, done.stderr)
    assert "read-only" in (done.stdout + done.stderr).lower()


def test_a_folder_without_locks(wb, tmp_path):
    """As on some network disks: doctor warns, and a session is refused with what to do."""
    if shutil.which("strace") is None:
        pytest.skip("strace, which plays a file system without locks, is not installed")
    no_locks = ["strace", "-o", os.devnull, "-e", "trace=flock", "-e", "inject=flock:error=ENOLCK"]

    def run(*words):
        argv = [*no_locks, *map(str, wb.argv(*words))]
        return subprocess.run(argv, cwd=tmp_path, capture_output=True, text=True, timeout=120)

    rows = {row["name"]: row for row in json.loads(run("doctor", "--json").stdout)["checks"]}
    assert rows["locks"]["state"] == "warning"
    assert "local disk" in rows["locks"]["next"]
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(".wb-doctor")]
    session = tmp_path / wb.open_small()["session"]
    done = run("note", "x", "--session", session)
    assert done.returncode == 74, done.stderr
    assert "without locks" in one_message(done)
