"""SIGTERM and SIGHUP while a turn runs, in the whole plan at random moments: the session pauses in
order, and a resume goes on with all that was logged, until the next signal. (That a resumed session
comes to its end: test_kill.py.)"""

import random
import signal
import time

import pytest
from fault_plan import TORTURE
from support.commands import ROOT
from support.logs import check_chain, events, wait_for_log

PLAYBOOK = ROOT / "tests" / "scenario" / "playbooks" / "steps.lua"
STOPS = 8
HELD_TURN = 3  # of the baseline
PATIENCE_S = 300


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
    _, err = process.communicate(timeout=PATIENCE_S)
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
