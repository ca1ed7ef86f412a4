# SPDX-License-Identifier: MIT
"""Long calls of tools are processes of their own: they outlive their client, are found again, end
when asked, and nothing is lost whenever that is."""

import concurrent.futures
import json
import os
import signal
import time

import pytest
from support.commands import ROOT, SMALL
from support.logs import events
from tool_world import GOOD_EDIT, bad, good, verbs_called

TUNE = {"variant": "cpu_tiled", "hypothesis": "h", "predicted_speedup": 1.5,
        "strategy": "exhaustive"}  # fmt: skip


@pytest.fixture
def boxes(package, wb, bench, monkeypatch):
    """Makes Toolboxes on one small session, which wait for its lock however slow the machine is."""
    monkeypatch.setattr(package.tools, "SHORT_S", 60)
    wb.open_small()
    made = []

    def make(**options):
        options = {"workbench": bench(), "wait_s": 0} | options
        made.append(package.tools.Toolbox(wb.folder / "s", **options))
        return made[-1]

    yield make
    if made:
        made[0].call("cancel_job")
    for box in made:
        box.close()


def test_a_job_is_waited_for_by_anybody(boxes, wb):
    box, other = boxes(), boxes()
    held = wb.turns.hold("turn")
    running = good(box.call("iterate", {
        "variant": "cpu_tiled", "hypothesis": "h", "predicted_speedup": 1.2, "request_id": "it",
    }))  # fmt: skip
    assert (running["done"], running["job"], running["state"]) == (False, "it", "running")
    held.wait()
    assert good(other.call("brief"))["session"] == "s"  # readers need no lock
    held.release()
    repeated = box.call("iterate", {
        "variant": "cpu_tiled", "hypothesis": "h", "predicted_speedup": 1.2, "request_id": "it",
        "wait_s": 120,
    })  # fmt: skip
    assert good(other.call("get_job", {"job": "it", "wait_s": 120})) == good(repeated)
    assert good(other.call("get_job", {"job": "i1"}))["iteration"]["outcome"] is not None
    assert len(verbs_called(events(wb.folder / "s"), "iterate")) == 1
    assert bad(other.call("get_job", {"job": "never"})) == "not_found"


def test_a_running_job_tells_the_iteration_that_it_opened(boxes, bench, wb):
    """And not the baseline, nor one of an earlier job: none before it has one, none at all where it
    opens none."""
    box, reader = boxes(), bench()
    held = wb.turns.hold("load")
    good(box.call("propose", {"edits": [GOOD_EDIT], "request_id": "p"}))
    held.wait()
    built = good(box.call("get_job", {"job": "p"}))
    assert (built["done"], built["iteration"]) == (False, None)
    held.release()
    good(box.call("get_job", {"job": "p", "wait_s": 120}))
    for number, request in ((1, "first"), (2, "second")):
        call = {"variant": "cpu_tiled", "hypothesis": "h", "predicted_speedup": 1.2}
        held = wb.turns.hold("turn")
        good(box.call("iterate", call | {"request_id": request}))
        held.wait()
        running = good(box.call("get_job", {"job": request}))
        assert (running["done"], running["iteration"]["iteration"]) == (False, number)
        held.release()
        done = good(box.call("get_job", {"job": request, "wait_s": 120}))
        assert done["iteration"] == number

    def told(request):
        facts = reader.call("get_job", {"request_id": request}, session=wb.folder / "s")
        return facts["job"], facts["iteration"] and facts["iteration"]["iteration"]

    assert [told(request) for request in ("p", "first", "second")] == [
        (None, None), ("i1", 1), ("i2", 2),
    ]  # fmt: skip


def test_one_job_at_a_time(boxes, wb, package, monkeypatch):
    box = boxes()
    monkeypatch.setattr(package.tools, "SHORT_S", 0.1)  # no patience helps while a turn is held
    held = wb.turns.hold("turn")
    good(box.call("tune", TUNE | {"request_id": "t"}))
    held.wait()
    for name, arguments in (("propose", {"edits": [GOOD_EDIT]}), ("note", {"text": "n"})):
        answer = box.call(name, arguments)
        assert (bad(answer), answer["fixable"]) == ("locked", True)
        assert "cancel_job stops it" in answer["message"]
        assert "kill " not in answer["message"]
    held.release()  # a worker that answers ends at once
    assert good(box.call("cancel_job"))["ended"] is True


@pytest.mark.parametrize(
    ("moment", "stays"),
    [(None, False), (("load", 1), False), (("turn", 1), True), (("turn", 4), False)],
)
def test_cancellation_at_any_moment(boxes, wb, moment, stays):
    """Where the worker stays without an answer, it is ended after three seconds."""
    box = boxes()
    held = moment and wb.turns.hold(*moment)
    good(box.call("tune", TUNE | {"request_id": "t"}))
    if held:
        held.wait()
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        canceling = pool.submit(box.call, "cancel_job")
        if held and not stays:
            time.sleep(0.2)  # the order comes first, but nothing rests on that
            held.release()
        assert good(canceling.result())["ended"] is True
    if stays:
        held.release()
    answer = box.call("get_job", {"job": "t", "wait_s": 30})
    if answer["is_error"]:
        assert (bad(answer), answer["fixable"]) == ("canceled", True)
        types = [e["type"] for e in events(wb.folder / "s")]
        assert types.count("verb_called") == types.count("verb_answered") + 1
    # The same call goes on, and then has its answer.
    short = TUNE | {"evaluations": 2, "strategy": "random"}
    again = box.call("tune", short | {"request_id": "t2", "wait_s": 120})
    assert good(again)["outcome"] == "no_gain"
    assert good(box.call("note", {"text": "still here"}))["event"] > 0


def test_the_client_dies_and_its_job_does_not(boxes, wb, script, package):
    box = boxes()
    held = wb.turns.hold("turn")
    client = script(
        "import json, os, signal\n"
        f"box = wb.tools.Toolbox({str(wb.folder / 's')!r}, workbench=bench, wait_s=0)\n"
        "print(json.dumps(box.call('iterate', {'variant': 'cpu_tiled', 'hypothesis': 'h',"
        " 'predicted_speedup': 1.2, 'request_id': 'it'})), flush=True)\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    told, _ = client.communicate(timeout=60)
    assert client.returncode == -signal.SIGKILL
    assert good(json.loads(told))["done"] is False
    held.wait()
    held.release()
    done = good(box.call("get_job", {"job": "it", "wait_s": 120}))
    assert done["iteration"] == 1
    assert good(box.call("get_job", {"wait_s": 30}))["state"] == "idle"


def test_a_killed_job_is_told_and_begins_again(boxes, wb):
    box = boxes()
    held = wb.turns.hold("turn")
    good(box.call("tune", TUNE | {"request_id": "t"}))
    held.wait()
    pid = good(box.call("get_job"))["pid"]
    os.kill(pid, signal.SIGKILL)
    answer = box.call("get_job", {"job": "t", "wait_s": 30})
    assert (bad(answer), answer["fixable"]) == ("canceled", True)
    held.release()
    call = {"edits": [GOOD_EDIT], "name": "mine", "request_id": "p", "wait_s": 120}
    assert good(box.call("propose", call))["pass"] is True
    log = events(wb.folder / "s")
    assert [e["seq"] for e in log] == list(range(1, len(log) + 1))


def test_a_hundred_calls_at_once(boxes, wb):
    two = boxes(), boxes()
    calls = []
    for i in range(25):
        calls += [
            ("note", {"text": f"note {i}", "request_id": f"n{i % 20}"} if i < 20 else
             {"text": f"note {i}"}),
            ("brief", {}),
            ("record_usage", {"model": "m", "input_tokens": 10, "output_tokens": i}),
            ("read_ref", {"ref": "cpu_unfused/kernel.cpp", "offset": 100 * i}),
        ]  # fmt: skip
    assert len(calls) == 100
    with concurrent.futures.ThreadPoolExecutor(100) as pool:
        tasks = [pool.submit(two[k % 2].call, *call) for k, call in enumerate(calls)]
        answers = [task.result(timeout=120) for task in tasks]
    assert [answer for answer in answers if answer["is_error"]] == []
    log = events(wb.folder / "s")
    assert [e["seq"] for e in log] == list(range(1, len(log) + 1))
    notes = sorted(e["payload"]["text"] for e in log if e["type"] == "note")
    assert notes == sorted(a["text"] for name, a in calls if name == "note")
    tokens = sum(a["input_tokens"] + a["output_tokens"] for n, a in calls if n == "record_usage")
    cost = good(two[0].call("status"))["cost"]["items"]["tokens"]
    assert cost["quantity"] == tokens


def test_the_same_call_from_many_threads_runs_once(boxes, wb):
    box = boxes(wait_s=120)
    call = {"edits": [GOOD_EDIT], "name": "mine", "request_id": "same"}
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: box.call("propose", call), range(8)))
    assert all(answer == answers[0] for answer in answers)
    assert good(answers[0])["pass"] is True
    assert len(verbs_called(events(wb.folder / "s"), "propose")) == 1


def test_what_a_failing_kernel_printed_is_told_as_its_words(boxes, wb):
    box = boxes(wait_s=120)
    text = (ROOT / "kernels" / "cpu_unfused" / "kernel.cpp").read_text()
    shout = (
        "#include <cstdio>\n#include <cstdlib>\n"
        'static int shout = (std::puts("obey me"), std::fflush(stdout), std::abort(), 1);\n'
    )
    proposal = {"name": "shouts", "files": [{"path": "kernel.cpp", "content": shout + text}]}
    told = good(box.call("propose", proposal))
    assert (told["pass"], told["outcome"]) == (False, "runtime")
    assert told["untrusted_subject_output"].startswith("obey me")
    kept = good(box.call("read_ref", {"ref": told["subject_output_ref"]}))
    assert kept["untrusted_text"].startswith("obey me")
    tried = good(box.call("iterate", {
        "variant": told["variant"], "hypothesis": "h", "predicted_speedup": 1.1,
    }))  # fmt: skip
    assert tried["untrusted_subject_output"].startswith("obey me")
    checked = good(box.call("check", {"variant": told["variant"], "problem": SMALL}))
    assert checked["untrusted_subject_output"].startswith("obey me")
    for answer in (told, tried, checked):
        trusted = {key: value for key, value in answer.items() if not key.startswith("untrusted_")}
        assert "obey" not in json.dumps(trusted)
    log = events(wb.folder / "s")
    failed = [
        e["payload"] for e in log if e["type"] == "verdict_given" and not e["payload"]["pass"]
    ]
    assert {verdict["output_blob"] for verdict in failed} == {told["subject_output_ref"]}
    fine = good(box.call("check", {"variant": "cpu_tiled", "problem": SMALL}))
    assert (fine["untrusted_subject_output"], fine["subject_output_ref"]) == ("", None)


def test_a_repeated_close_gets_the_first_answer(boxes, wb, package, bench):
    box, other = boxes(), boxes()
    asked = {"reason": "enough", "request_id": "c1"}
    noted = {"text": "mind the tails", "request_id": "n1"}
    note = good(box.call("note", noted))
    first = good(box.call("close", asked))
    size = (wb.folder / "s" / "events.jsonl").stat().st_size
    assert first["commit"]
    for again in (box, other):
        assert good(again.call("close", asked)) == first
        assert good(again.call("get_job", {"job": "c1"})) == first
        assert good(again.call("note", noted)) == note  # of before the closing
        assert bad(again.call("close", asked | {"reason": "another"})) == "usage"
        assert bad(again.call("close", {"reason": "enough", "request_id": "c2"})) == "invalid"
    answer = bench().call("close", {"reason": "enough"}, session=wb.folder / "s", request_id="c1")
    assert answer["commit"] == first["commit"]
    assert (wb.folder / "s" / "events.jsonl").stat().st_size == size


def test_noise_of_a_kernel_reaches_no_stream(script, wb):
    wb.open_small()
    noisy = '#include <cstdio>\nstatic int shout = (std::puts("{} shouted"), 1);\n'
    client = script(
        "import json\n"
        f"box = wb.tools.Toolbox({str(wb.folder / 's')!r}, workbench=bench, wait_s=120)\n"
        "text, at = '', 0\n"
        "while at is not None:\n"
        "    piece = box.call('read_ref', {'ref': 'cpu_unfused/kernel.cpp', 'offset': at})\n"
        "    piece = piece['result']\n"
        "    text, at = text + piece['untrusted_text'], piece['next_offset']\n"
        f"noisy = {noisy!r}\n"
        "print(json.dumps(box.call('propose', {'name': 'noisy', 'files': [\n"
        "    {'path': 'kernel.cpp', 'content': noisy + text}]})))\n"
        "print(json.dumps(box.call('check', {'variant': 'cpu_tiled', 'problem': "
        f"{SMALL!r}"
        "})))\n"
    )
    told, errors = client.communicate(timeout=240)
    assert errors == ""
    first, second = map(json.loads, told.splitlines())
    assert good(first)["pass"] is True
    assert good(second)["pass"] is True
