# SPDX-License-Identifier: MIT
"""Rows of the fault plan about processes: eight owners that start at once, and signals while a turn
runs."""

import os
import random
import signal
import subprocess
import time

import pytest
from fault_plan import TORTURE, check_message
from support.commands import ROOT, SMALL
from support.logs import check_chain, events, wait_for_log

PROCESSES = 8
TUNE = ["tune", "--variant", "cpu_tiled", "--hypothesis", "x", "--predicted-speedup", "1.5",
        "--strategy", "exhaustive"]  # fmt: skip
FRESH_EVERY = 5  # rounds that begin with no session at all
PATIENCE_S = 240  # eight workers that calibrate at once, beside other load


def start_all(wb, words):
    return [wb.start(*words) for _ in range(PROCESSES)]


def refused(processes):
    """Those that have ended, once all but one have."""
    deadline = time.monotonic() + PATIENCE_S
    while sum(process.poll() is None for process in processes) > 1:
        assert time.monotonic() < deadline, "several processes go on"
        time.sleep(0.01)
    return [process for process in processes if process.poll() is not None]


def stop(process):
    process.send_signal(signal.SIGTERM)
    out, err = process.communicate(timeout=PATIENCE_S)
    return subprocess.CompletedProcess(process.args, process.returncode, out, err)


def check_round(wb, session, words):
    wb.turns.hold("turn")  # whoever wins is there until it is stopped
    processes = start_all(wb, words)
    losers = refused(processes)
    winners = [process for process in processes if process not in losers]
    assert len(winners) == 1, [(p.returncode, p.communicate()) for p in losers]
    if (session / "events.jsonl").exists():
        reading = wb.run("status", "--session", session)
        # A session that is being made has no first event for a moment.
        assert reading.returncode in {0, 65}, reading.stderr
    for loser in losers:
        out, err = loser.communicate()
        check_message(subprocess.CompletedProcess(loser.args, loser.returncode, out, err))
        yield loser.returncode, err, winners[0].pid
    assert stop(winners[0]).returncode == 130


def test_eight_starts_at_once(wb, tmp_path, points, fresh):
    points.row = "B1"
    for round_ in range(50 if TORTURE else 2):
        new = round_ % FRESH_EVERY == 0
        session = tmp_path / f"new{round_}" if new else fresh(f"old{round_}")
        before = [] if new else events(session)
        words = (
            ["run", "baseline", "--problem", SMALL, "--rivals", "none", "--start", "cpu_unfused"]
            if new else TUNE
        )  # fmt: skip
        with points.point():
            for code, err, pid in check_round(wb, session, [*words, "--session", session]):
                # On a new folder a loser may also meet a folder that is taken but not locked yet.
                if code == 75:
                    assert str(pid) in err, err
                else:
                    assert new, err
                    assert code == 65, err
                    assert "not empty" in err or "another process" in err or "exists" in err, err
            after = events(session)
            assert after[: len(before)] == before
            assert sum(event["type"] == "session_opened" for event in after) == 1
            check_chain(session)


def test_the_lock_goes_with_its_holder(wb, tmp_path, points, fresh):
    """A holder that is killed leaves nothing that keeps the next one out."""
    points.row = "B2"
    session = fresh()
    held = wb.turns.hold("turn")
    holder = wb.start(*TUNE, "--session", session)
    held.wait(holder)
    with points.point():
        os.kill(holder.pid, signal.SIGKILL)
        holder.communicate()
        wb.run("note", "next", "--session", session, check=0)
        check_chain(session)


# SIGTERM and SIGHUP while a turn runs, in the whole plan at random moments: the session pauses in
# order, and a resume goes on with all that was logged, until the next signal. (That a resumed
# session comes to its end: test_kill.py.)

PLAYBOOK = ROOT / "tests" / "scenario" / "playbooks" / "steps.lua"
STOPS = 8
HELD_TURN = 3  # of the baseline
STOP_PATIENCE_S = 300


@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP"])
def test_a_signal_ends_a_session_resumably(wb, tmp_path, points, name):
    points.row = "signals"
    seed = random.SystemRandom().randrange(10**6)
    dice = random.Random(seed)
    session = tmp_path / "s"
    held = None if TORTURE else wb.turns.hold("turn", HELD_TURN)
    process = wb.start("run", PLAYBOOK, "--session", session)
    for stop in range(STOPS if TORTURE else 1):
        if held:
            held.wait(process)
        else:
            wait_for_log(process, session)
            time.sleep(dice.uniform(0.2, 3.0))
            if process.poll() is not None:
                break
        with points.point():
            process = stop_and_resume(wb, session, process, name, f"seed {seed}, stop {stop}")
    process.kill()
    process.communicate()


def stop_and_resume(wb, session, process, name, when):
    kept = events(session)
    process.send_signal(getattr(signal, name))
    _, err = process.communicate(timeout=STOP_PATIENCE_S)
    log = events(session)
    ended = log[-1]["type"] == "session_closed"
    assert process.returncode == (0 if ended else 130), f"{when}: {err}"
    assert log[: len(kept)] == kept, when
    check_chain(session)
    if not ended:
        assert log[-1]["type"] == "session_paused", when
        opened = [e for e in log if e["type"] == "iteration_opened"]
        closed = [e for e in log if e["type"] == "iteration_closed"]
        assert len(opened) == len(closed), f"{when}: an iteration was left in flight"
    return wb.start("resume", "--session", session)
