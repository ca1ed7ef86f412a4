# SPDX-License-Identifier: MIT
"""Whole sessions from Python, and what interrupts them: nothing is lost, the log decides."""

import json
import logging
import os
import re
import signal
import threading
import time

import pytest
from support.commands import SMALL
from support.logs import events

QUICK = {"start": "cpu_unfused", "problem": SMALL, "rivals": ["none"], "effort": "quick"}
ITERATE = {
    "variant": "cpu_tiled", "hypothesis": "tiles reuse keys", "predicted_speedup": 1.5,
    "confirm": "never",
}  # fmt: skip
LONG_TUNE = {
    "variant": "cpu_tiled", "hypothesis": "tiles fit", "predicted_speedup": 1.1, "evaluations": 20
}  # fmt: skip


def test_a_session_from_open_to_its_report(package, bench, wb, caplog):
    caplog.set_level(logging.DEBUG, "sdpa_workbench")
    seen = []
    workbench = bench(progress=seen.append)
    with package.Session.open(wb.folder / "p", workbench=workbench, **QUICK) as session:
        assert session.held
        iteration = session.iterate(**ITERATE, request_id="first")
        assert isinstance(iteration, package.Iteration)
        assert (iteration.iteration, iteration.decision) == (1, iteration.to_dict()["decision"])
        assert (iteration.mechanism, iteration.size) == tuple(
            iteration.to_dict()[name] for name in ("mechanism", "size")
        )
        assert iteration.mechanism in {"confirmed", "not_confirmed", "undecided"}
        assert session.iterate(**ITERATE, request_id="first") == iteration  # it costs nothing
        tuned = session.tune(
            variant="cpu_tiled",
            hypothesis="smaller tiles fit",
            predicted_speedup=1.1,
            evaluations=2,
        )
        assert tuned.iteration == 2
        assert len(tuned.evaluations) == 2
        event = session.note("from Python: é")["event"]
        assert events(session.folder)[event - 1]["payload"]["text"] == "from Python: é"
        session.record_decision("what next", choice="stop", reason="fast enough", options=["tune"])
        assert session.status()["iterations"] == 2
        assert [row["kind"] for row in session.ledger.rows()] == sorted(session.ledger.items)
        assert session.history("tiles")["total"] >= 1
        assert session.history("fast enough")["matches"][0]["kind"] == "decision"
        assert session.brief().text
        assert isinstance(session.advise(), dict)
        findings = session.analyze()
        assert all(isinstance(finding, package.Finding) for finding in findings)
        assert len(findings) == len(findings.rows())
        assert session._repr_markdown_().startswith("```")
        assert session._repr_html_().startswith("<pre>")
        session.close(recommendation="none")
    told = wb.run("report", "--session", "p", check=0).stdout
    reader = package.Session(wb.folder / "p", workbench=bench())
    assert reader.report().text == told
    assert re.search(r"Decided \[e\d+\]: what next: stop \(fast enough\)", told)
    assert not reader.held
    with pytest.raises(package.errors.InvalidError, match="is closed"):
        reader.note("too late")
    assert seen
    assert {"build", "verdict"} <= {progress.stage for progress in seen}
    assert any("iteration 1" in record.message for record in caplog.records)


def test_what_needs_no_session(package, bench, wb):
    wb.turns.take(cpu_tiled=50)
    workbench = bench()
    assert workbench.suite("n6").count == len(workbench.suite("n6").problems)
    tiled = next(kernel for kernel in workbench.catalogue() if kernel.name == "cpu_tiled")
    assert tiled.defaults == {"TILE_M": 32, "TILE_N": 64}
    verdict = workbench.check("cpu_unfused", problem=SMALL)
    assert verdict.passed
    measured = workbench.measure("cpu_unfused", problem=SMALL, effort="quick")
    assert measured.problems[0]["median_us"] == pytest.approx(100, rel=0.01)
    assert measured.to_dict()["variant"] == measured.variant
    comparison = workbench.compare("cpu_tiled", "cpu_unfused", problem=SMALL, effort="quick")
    assert comparison.outcome == "faster"
    assert comparison.speedup == pytest.approx(2, rel=0.01)
    assert "cpu" in comparison._repr_markdown_()


def test_the_first_minute(package, bench, tmp_path):
    """check, compare and tune of the module itself; what is passed stays open."""
    workbench = bench()
    verdict = package.check("cpu_tiled", problem=SMALL, draws=4, workbench=workbench)
    assert verdict.passed
    compared = package.compare(
        "cpu_tiled", "cpu_unfused", problem=SMALL, effort="quick", workbench=workbench
    )
    assert compared.outcome == "same"
    found = package.tune(
        "cpu_tiled", problem=SMALL, evaluations=2, seed=1, effort="quick", workbench=workbench
    )
    assert len(found.evaluations) == 2
    session = package.Session(found.session, workbench=workbench)
    log = events(session.folder)
    assert log[0]["payload"]["start_variant"].startswith("cpu_tiled")
    assert log[-1]["type"] == "session_closed"
    assert "2 evaluations" in session.report(kind="full").text
    with pytest.raises(package.errors.NotFoundError):
        package.check("no_such_kernel", problem=SMALL, workbench=workbench)
    with pytest.raises(package.errors.UsageError, match="strategy"):
        package.tune("cpu_tiled", problem=SMALL, strategy="guess", effort="quick",
                     session=tmp_path / "stopped", workbench=workbench)  # fmt: skip
    assert events(tmp_path / "stopped")[-1]["type"] == "session_paused"
    package.check("cpu_tiled", problem=SMALL, draws=1, workbench=workbench)  # it holds none
    with pytest.raises(package.errors.ParseError, match="Sq, D missing"):
        package.tune("cpu_tiled", problem="B=0", workbench=bench())


def test_an_exception_leaves_a_session_that_goes_on(package, small, bench):
    def work():
        with small as session:
            session.note("one")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        work()
    kinds = [event["type"] for event in events(small.folder)]
    assert kinds[-1] == "session_paused"
    with package.Session.resume(small.folder, workbench=bench()) as again:
        again.note("two")
        assert again.history("two")["total"] == 1


def test_a_session_has_one_owner(package, small, bench, wb):
    small.note("mine")
    other = package.Session(small.folder, workbench=bench())
    with pytest.raises(package.errors.LockedError):
        other.note("mine, too")
    assert other.status()["status"] == "open"  # readers need no lock
    wb.run("note", "mine, too", "--session", "s", check=75)
    small.pause()
    other.note("now")
    with pytest.raises(package.errors.UsageError, match="holds the session"):
        other.workbench.call("note", {"text": "x"}, session=small.folder / ".." / "elsewhere")


TUNE = """
import threading
s = wb.Session("s", workbench=bench)
s.tune(variant="cpu_tiled", hypothesis="tiles fit", predicted_speedup=1.1, evaluations=20)
"""


def test_ctrl_c_in_a_tune_leaves_a_session_that_resumes(package, small, script, wb):
    held = wb.turns.hold("turn")
    process = script(TUNE)
    held.wait(process)
    process.send_signal(signal.SIGINT)
    held.release()  # else the worker has three seconds to end
    _, err = process.communicate(timeout=240)
    assert process.returncode == -signal.SIGINT, err
    assert err.rstrip().endswith("KeyboardInterrupt"), err
    log = events(small.folder)
    assert log[-1]["type"] == "session_paused"
    closed = [event for event in log if event["type"] == "iteration_closed"]
    assert closed[-1]["payload"]["outcome"] == "abandoned"
    wb.run("resume", "--session", "s", check=0)
    small.note("on we go")


def test_stop_from_another_thread(package, small):
    small.progress = lambda progress: progress.iteration and small.stop()
    with pytest.raises(package.errors.Canceled):
        small.tune(**LONG_TUNE)
    assert not small.held
    small.progress = None
    small.note("on we go")
    assert small.held


def test_an_exception_of_the_callback_stops_the_verb(package, small):
    def refuse(progress):
        if progress.iteration:
            raise RuntimeError("enough")

    small.progress = refuse
    with pytest.raises(RuntimeError, match="enough"):
        small.tune(**LONG_TUNE)
    assert events(small.folder)[-1]["type"] == "session_paused"


def test_other_threads_run_during_a_verb(bench, wb):
    """This thread sees the turn that the other's verb waits for, and lets it go on."""
    workbench, held, measured = bench(), wb.turns.hold("turn"), []

    def measure():
        measured.append(workbench.measure("cpu_unfused", problem=SMALL, effort="quick"))

    thread = threading.Thread(target=measure)
    thread.start()
    held.wait()
    assert measured == []
    held.release()
    thread.join()
    assert len(measured) == 1


def test_two_engines_in_two_threads(package, wb, bench):
    wb.open_small()
    folders = [wb.folder / "s", wb.folder / "t"]
    os.system(f"cp -a {folders[0]} {folders[1]}")
    faults = []

    def work(folder):
        try:
            with package.Session(folder, workbench=bench()) as session:
                for number in range(20):
                    session.note(f"note {number}")
                    session.status()
        except Exception as fault:
            faults.append(fault)

    threads = [threading.Thread(target=work, args=(folder,)) for folder in folders]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert faults == []
    for folder in folders:
        notes = [event["payload"]["text"] for event in events(folder) if event["type"] == "note"]
        assert notes == [f"note {number}" for number in range(20)]


def test_one_engine_serves_many_threads_in_turn(small):
    threads = [threading.Thread(target=small.note, args=(f"{n}",)) for n in range(30)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    notes = [event["payload"]["text"] for event in events(small.folder) if event["type"] == "note"]
    assert sorted(notes, key=int) == [f"{n}" for n in range(30)]


FORK = """
import os, warnings
warnings.simplefilter("ignore", DeprecationWarning)  # Python 3.12's, of forks beside threads
s = wb.Session("s", workbench=bench)
s.note("parent")
pid = os.fork()
if pid == 0:
    try:
        s.note("child")
    except wb.errors.UsageError as error:
        print(error.message, flush=True)
    mine = wb.Workbench(path=[ROOT], cache=CACHE)
    print(len(mine.kernels()["kernels"]) > 0, flush=True)
    sys.exit(0)
assert os.waitpid(pid, 0)[1] == 0
s.note("parent again")
"""


def test_a_fork_has_no_engine(small, script):
    process = script(FORK)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (0, ""), out
    first, second = out.splitlines()
    assert "forked from" in first
    assert second == "True"
    notes = [event["payload"]["text"] for event in events(small.folder) if event["type"] == "note"]
    assert notes == ["parent", "parent again"]


AT_EXIT = """
import threading
s = wb.Session("s", workbench=bench)
s.note("held to the end")
started = threading.Event()
s.progress = lambda p: p.iteration and started.set()
def work():
    try:
        s.tune(variant="cpu_tiled", hypothesis="h", predicted_speedup=1.1, evaluations=20)
    except wb.errors.WorkbenchError as error:
        print(error.code, flush=True)
        started.set()
threading.Thread(target=work, daemon=True).start()
started.wait()
"""


def test_an_engine_at_work_is_ended_at_exit(small, script, wb):
    wb.turns.hold("turn")
    process = script(AT_EXIT)
    out, err = process.communicate(timeout=240)
    assert (process.returncode, err) == (0, ""), out
    assert events(small.folder)[-1]["type"] == "session_paused"


PLAYBOOK = """
import os
with wb.Session.resume_or_open(
    "s", playbook=__file__, arguments={"tries": 2}, workbench=bench, start="cpu_unfused",
    problem="B=1 Hq=2 Sq=64 D=32 f32", rivals=["none"], effort="quick",
) as s:
    replayed = s.replaying
    for number in range(3):
        done = s.iterate(variant="cpu_tiled", hypothesis=f"step {number}", predicted_speedup=1.5,
                         confirm="never")
        print(done.iteration, "replayed" if replayed else "live", flush=True)
        if number == 1 and not replayed and not os.path.exists("again"):
            open("again", "w").close()
            os.kill(os.getpid(), 9)
        replayed = s.replaying
    s.close()
"""


def test_a_script_is_a_playbook_that_goes_on_where_it_was_killed(small, script, wb):
    os.rename(small.folder, small.folder.with_name("unused"))
    out, _ = script(PLAYBOOK).communicate(timeout=240)
    assert out.splitlines() == ["1 live", "2 live"]
    told = wb.run("resume", "--session", "s")
    assert told.returncode != 0
    assert "python3" in told.stderr, told.stderr
    out, err = script(PLAYBOOK).communicate(timeout=240)
    assert out.splitlines() == ["1 replayed", "2 replayed", "3 live"], err
    log = events(small.folder)
    assert log[-1]["type"] == "session_closed"
    assert sum(event["type"] == "iteration_closed" for event in log) == 4  # with the baseline


def test_a_changed_script_is_refused(small, script):
    os.rename(small.folder, small.folder.with_name("unused"))
    stop = "    s.close()\n"
    script(PLAYBOOK).communicate(timeout=240)
    again = script(PLAYBOOK.replace(stop, "    s.note('x')\n" + stop))
    _, err = again.communicate(timeout=240)
    assert "InvalidError" in err
    assert "its text changed" in err


@pytest.mark.skipif(os.environ.get("WB_QUIET") != "1", reason="times want WB_QUIET=1")
def test_reading_calls_take_no_time(small):
    small.note("hold it")
    took = []
    for _ in range(100):
        begun = time.perf_counter()
        small.status()
        took.append(time.perf_counter() - begun)
    assert sorted(took)[94] < 0.020, json.dumps(took)
