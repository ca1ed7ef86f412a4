"""SIGKILL at fixed moments and, in the long tier, at random ones, then resume: no closed iteration,
evaluation or event is lost."""

import random
import shutil
import signal
import subprocess
import time
from pathlib import Path

from support.commands import Workbench
from support.logs import check_chain, events, git, wait_for_log

PLAYBOOK = Path(__file__).parent / "playbooks" / "steps.lua"
KILLS = 10


def acknowledged(session):
    """What the log already promised: closed iterations and answered verb calls."""
    if not (session / "events.jsonl").exists():
        return {}, {}
    log = events(session)
    closed = {
        e["payload"]["iteration"]: e["payload"] for e in log if e["type"] == "iteration_closed"
    }
    answered = {e["payload"]["n"]: e["payload"] for e in log if e["type"] == "verb_answered"}
    return closed, answered


def children_of(pid):
    return Path(f"/proc/{pid}/task/{pid}/children").read_text().split()


def test_kills_at_fixed_moments_lose_nothing(wb):
    """Twice in the first iteration's confirmation, then in the verdict of the second. Some seven
    seconds: a baseline and four iterations, two of them to their end."""
    wb.turns.take(cpu_online=80)
    session = begun(wb)
    kept = acknowledged(session)[0]
    for verb, nth, closed in [("first_calls", 2, 1), ("verdict", 6, 2)]:
        process, held = going_on(wb, session, verb, nth)
        before = acknowledged(session)
        assert before[0].items() >= kept.items()
        assert sum(one["outcome"] != "abandoned" for one in before[0].values()) == closed
        kill(process, session)
        held.release()
        assert acknowledged(session) == before
        kept = before[0]
    wb.run("resume", "--session", session, check=0)
    assert acknowledged(session)[0].items() >= kept.items()
    check_whole(session, 2)


def kill(process, session):
    offspring = children_of(process.pid)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    # Workers and playbook hosts end with the owner: their wire closed.
    deadline = time.monotonic() + 60
    while any(Path(f"/proc/{pid}/exe").exists() for pid in offspring):
        assert time.monotonic() < deadline, f"children survive: {offspring}"
        time.sleep(0.05)
    check_chain_of_whole_lines(session)


def test_ten_kills_lose_nothing(wb, tmp_path):
    seed = random.SystemRandom().randrange(10**6)
    dice = random.Random(seed)
    kills = 0
    # One session takes them all, unless the machine is so fast that it ends before.
    for n in range(KILLS):
        session = tmp_path / f"s{n}"
        kills += kill_and_resume(wb, session, KILLS - kills, dice, seed)
        check_whole(session, 5)
        if kills == KILLS:
            return
    raise AssertionError(f"{KILLS} sessions ended before they could be killed (seed {seed})")


def kill_and_resume(wb, session, most, dice, seed):
    """Runs the session to its end, kills it up to `most` times on the way; returns how often."""
    process = wb.start("run", PLAYBOOK, "--session", session)
    wait_for_log(process, session)
    kills = 0
    while kills < most:
        try:
            process.wait(timeout=dice.uniform(0.05, 2.5))
            break  # the session ended by itself
        except subprocess.TimeoutExpired:
            pass
        before = acknowledged(session)
        kill(process, session)
        kills += 1
        after = acknowledged(session)
        assert before[0].items() <= after[0].items(), f"seed {seed}"
        process = wb.start("resume", "--session", session)
        time.sleep(0.02)
        assert acknowledged(session)[0].items() >= after[0].items(), f"seed {seed}"
    out, err = process.communicate(timeout=240)
    assert process.returncode == 0, f"seed {seed}, {kills} kills\n{out}\n{err}"
    return kills


def check_whole(session, iterations):
    """A closed session of the playbook: nothing lost, nothing done twice."""
    check_chain(session)
    log = events(session)
    numbers = [e["payload"]["iteration"] for e in log if e["type"] == "iteration_closed"]
    assert len(numbers) == len(set(numbers)), "an iteration closed twice"
    opened = [e["payload"]["iteration"] for e in log if e["type"] == "iteration_opened"]
    assert sorted(numbers) == sorted(opened), "every opened iteration was closed or abandoned"
    outcomes = [e["payload"]["outcome"] for e in log if e["type"] == "iteration_closed"]
    assert outcomes.count("baseline") == 1
    assert sum(o in {"win", "no_gain", "invalid"} for o in outcomes) == iterations, outcomes
    # Each closed iteration is one commit, in order, and the history is sound.
    git(session, "fsck", "--strict")
    committed = git(session, "log", "--reverse", "--format=%(trailers:key=Iteration,valueonly)")
    assert [int(n) for n in committed.split()] == numbers
    final = [e["type"] for e in log][-1]
    assert final == "session_closed"


def check_chain_of_whole_lines(session):
    """After a kill the last line may be torn; all before it must chain."""
    if (session / "events.jsonl").read_bytes().endswith(b"\n"):
        check_chain(session)


def begun(wb):
    """A session of the playbook that was killed in its first iteration: a copy of one for all."""
    template = wb.cache.parent / "begun"
    if not template.exists():
        made = Workbench(wb.program, template.with_name("begin"), wb.cache)
        made.folder.mkdir()
        made.turns.take(cpu_online=80)
        held = made.turns.hold("first_calls")
        process = made.start("run", PLAYBOOK, "--session", "s", "--arguments", "steps=1")
        held.wait(process)
        kill(process, made.folder / "s")
        made.folder.rename(template)
    shutil.copytree(template / "s", wb.folder / "s", symlinks=True)
    return wb.folder / "s"


def going_on(wb, session, verb="turn", nth=1):
    """The process that resumed a session and waits for its nth such request, and what holds it."""
    held = wb.turns.hold(verb, nth)
    process = wb.start("resume", "--session", session)
    held.wait(process)
    return process, held


def test_sigterm_pauses_in_order(wb):
    session = begun(wb)
    process, _ = going_on(wb, session)
    process.send_signal(signal.SIGTERM)
    _, said = process.communicate(timeout=240)
    assert process.returncode == 130, said
    log = events(session)
    assert log[-1]["type"] == "session_paused"
    opened = [e["payload"]["iteration"] for e in log if e["type"] == "iteration_opened"]
    closed = [e["payload"]["iteration"] for e in log if e["type"] == "iteration_closed"]
    assert opened == closed
    status = wb.json("status", "--session", session)
    assert status["status"] == "paused"


def test_resume_or_start_may_be_called_again_and_again(wb):
    session = begun(wb)
    words = ["run", PLAYBOOK, "--session", session, "--arguments", "steps=1", "--resume-or-start"]
    kept = acknowledged(session)[0]
    assert list(kept) == [0]
    wb.run(*words, check=0)
    assert acknowledged(session)[0].items() >= kept.items()
    log = events(session)
    assert log[-1]["type"] == "session_closed"
    again = wb.json(*words)
    assert again["summary"].startswith("already closed")
    assert events(session) == log
    other = wb.run("run", "baseline", "--session", session, "--resume-or-start", check=2)
    assert "the session runs" in other.stderr
    nameless = wb.run("run", PLAYBOOK, "--resume-or-start", check=2)
    assert "--session" in nameless.stderr


def test_two_owners_are_refused(wb):
    session = begun(wb)
    process, _ = going_on(wb, session)
    refused = wb.run("note", "me too", "--session", session, check=75)
    assert str(process.pid) in refused.stderr
    # Readers need no lock.
    wb.run("status", "--session", session, check=0)
    process.kill()
    process.communicate()
