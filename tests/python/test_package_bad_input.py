# SPDX-License-Identifier: MIT
"""Bad input, by mistake or on purpose, of who uses the package and of agents with its tools: a
named error that says what to do, and the next call is served."""

import copy
import importlib
import os
import pickle

import pytest
from support.commands import ROOT, SMALL
from support.logs import events
from tool_world import GOOD_EDIT, bad, good

BIG = "x" * 10_000_000


def session_of(workbench, folder):
    package = importlib.import_module(type(workbench).__module__.rpartition(".")[0])
    return package.Session(folder, workbench=workbench)


class Loop(dict):
    """A dict that holds itself."""

    def __init__(self):
        super().__init__(name=self)


@pytest.mark.parametrize(
    ("verb", "arguments", "words"),
    [
        ("kernals", {}, "did you mean kernels?"),
        ("kernels", {"nam": "x"}, "did you mean name?"),
        ("kernels", {"name": 3}, "must be a string"),
        ("kernels", {"name": ["x"]}, "must be a string"),
        ("kernels", {"name": object()}, "is of type object"),
        ("kernels", {"name": b"x"}, "is of type bytes"),
        ("kernels", {"name": {1: 2}}, "has a name of type int"),
        ("kernels", {3: "x"}, "has a name of type int"),
        ("kernels", {"name": "\udcff"}, "half a character"),
        ("kernels", {"name": "a\0b"}, "holds a NUL byte"),
        ("kernels", {"name": "a\nb"}, "holds a line break"),
        ("kernels", {"name": BIG}, "10000000 bytes long"),
        ("kernels", {"name": [BIG, BIG]}, "larger than 16 MiB"),
        ("kernels", Loop(), "deeper than 32 levels"),
        ("check", {}, '"variant" is missing'),
        ("check", {"variant": "cpu_tiled", "problem": SMALL, "configuration": {"TILE_M": 1.5}},
         "not an integer"),
        ("check", {"variant": "cpu_tiled", "configuration": [1]}, "must be a map"),
        ("measure", {"variant": "cpu_tiled", "plan": "warm"}, "must be one of hot, cold, eager"),
        ("tune", {"hypothesis": "h", "predicted_speedup": float("nan")}, "not a finite number"),
        ("tune", {"hypothesis": "h", "predicted_speedup": True}, "must be a number"),
        ("tune", {"hypothesis": "h", "predicted_speedup": 2, "evaluations": 2**70}, "64 bits"),
        ("tune", {"hypothesis": "h", "predicted_speedup": 2, "evaluations": "4"}, "an integer"),
        ("new", {"name": "../../escape", "from": "cpu_tiled"}, ""),
        ("new", {"name": "/etc/kernel", "from": "cpu_tiled"}, ""),
        ("status", {}, "no session was named"),
    ],
)  # fmt: skip
def test_arguments_that_are_wrong(package, bench, verb, arguments, words):
    workbench = bench()
    with pytest.raises(package.errors.UsageError) as caught:
        workbench.call(verb, arguments)
    assert words in caught.value.message
    assert "\n" not in caught.value.message
    assert len(caught.value.message) < 2000
    assert set(caught.value.details) == {"attempted", "subject", "cause", "next"}
    assert workbench.suites()["suites"]


@pytest.mark.parametrize(
    ("call", "kind", "words"),
    [
        (lambda b: b.kernels("cpu_tild"), "NotFoundError", "cpu_tiled"),
        (lambda b: b.check("cpu_tiled", problem="B=1"), "WorkbenchError", ""),
        (lambda b: b.check("cpu_tiled", problem=SMALL, configuration={"TILE": 3}), "InvalidError",
         "TILE"),
        (lambda b: b.kernels(nam="x"), "TypeError", "nam"),
        (lambda b: b.check(), "TypeError", "variant"),
        (lambda b: b.call(3), "UsageError", "a verb is a str"),
        (lambda b: b.call("kernels", [1]), "UsageError", "arguments are a dict"),
        (lambda b: b.call("kernels", {}, request_id=3), "UsageError", "request_id"),
        (lambda b: b.call("status", session=3), "UsageError", "must be a path, not int"),
        (lambda b: b.call("status", session=b"s"), "UsageError", "must be a path"),
        (lambda b: b.call("status", session=""), "UsageError", "is empty"),
        (lambda b: b.call("status", session="s\0x"), "UsageError", "NUL"),
        (lambda b: b.call("status", session="/no/such/place"), "NotFoundError", "/no/such/place"),
        (lambda b: b.call("status", session="../" * 50 + "etc/passwd"), "WorkbenchError", ""),
        (lambda b: session_of(b, "x" * 5000).status(), "WorkbenchError", ""),
        (lambda b: b.open("/proc/s", start="cpu_unfused", problem=SMALL), "WorkbenchError", ""),
        (lambda b: pickle.dumps(b), "TypeError", "cannot be pickled"),
        (lambda b: copy.copy(b), "TypeError", "cannot be pickled"),
        (lambda b: pickle.dumps(session_of(b, "s")), "TypeError", "pass its folder"),
        (lambda b: pickle.dumps(b._engine), "TypeError", "cannot be pickled"),
    ],
)  # fmt: skip
def test_calls_that_are_wrong(package, bench, call, kind, words):
    kinds = {name: getattr(package.errors, name, None) for name in (kind,)} | {
        "TypeError": TypeError
    }
    with pytest.raises(kinds[kind]) as caught:
        call(bench())
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"path": str(ROOT)}, "are lists of folders"),
        ({"path": [3]}, "must be a path, not int"),
        ({"cache": "a\0b"}, "NUL"),
        ({"worker": 7}, "worker must be a path, not int"),
        ({"compiler": b"g++"}, "compiler must be a path, not bytes"),
        ({"threads": "many"}, "cannot use the options"),
        ({"gpu": 2**70}, "cannot use the options"),
        ({"transport": [1]}, "cannot use the options"),
    ],
)
def test_options_that_are_wrong(package, options, words):
    with pytest.raises(package.errors.UsageError, match=words):
        package.Workbench(**options)


def test_a_closed_workbench_says_so(package, bench):
    workbench = bench()
    workbench.close()
    workbench.close()
    with pytest.raises(package.errors.UsageError, match="it is closed"):
        workbench.suites()


def test_a_callback_cannot_use_the_engine_that_calls_it(package, bench):
    workbench = bench()
    for misuse in (lambda _: workbench.suites(), lambda _: workbench.close()):
        workbench.progress = misuse
        with pytest.raises(package.errors.UsageError, match="from its progress callback"):
            workbench.check("cpu_unfused", problem=SMALL)
    workbench.progress = None
    assert workbench.suites()["suites"]


def test_a_refused_call_is_not_in_the_log(package, small):
    small.note("hold it")
    before = len(events(small.folder))
    with pytest.raises(package.errors.UsageError):
        small.call("iterate", {"hypothesis": "h"})
    with pytest.raises(package.errors.UsageError, match="at most 20000"):
        small.note(BIG)
    assert len(events(small.folder)) == before


def test_paths_in_files_stay_inside_the_kernel(package, small, wb):
    for name in ("../escape.cpp", "/tmp/escape.cpp", "a/../../escape.cpp", "", ".", "kernel.cpp/x"):
        outcome = ""
        try:
            outcome = small.iterate(
                parent="cpu_unfused", files={name: "int x;"}, hypothesis="h", predicted_speedup=1
            ).outcome
        except package.WorkbenchError as fault:
            outcome = fault.code
        assert outcome in ("usage", "invalid", "security", "io", "not_found"), name
    assert not list(wb.folder.glob("**/escape.cpp"))


# What agents send by mistake or on purpose: named errors that say what to do.


@pytest.fixture
def box(package, small):
    with package.tools.Toolbox(small, wait_s=60) as box:
        yield box


HYPOTHESIS = {"variant": "cpu_tiled", "hypothesis": "h"}


@pytest.mark.parametrize(
    ("name", "arguments", "code", "words"),
    [
        ("propos", {}, "usage", "did you mean propose?"),
        ("open", {}, "usage", "no tool"),
        ("run", {}, "usage", "no tool"),
        ("gc", {}, "usage", "no tool"),
        ("show", {}, "usage", "no tool"),
        ("", {}, "usage", "no tool"),
        (None, {}, "usage", "no tool"),
        ("x" * 10_000, {}, "usage", "no tool"),
        ("note", {}, "usage", '"text" is missing'),
        ("note", {"txt": "x"}, "usage", "it takes: text"),
        ("note", {"text": 3}, "usage", "must be a string"),
        ("note", {"text": None}, "usage", '"text" is missing'),
        ("note", {"text": "a\0b"}, "usage", "NUL"),
        ("note", {"text": "\ud800"}, "usage", ""),
        ("note", {"text": BIG}, "limit", "at most 8 MiB"),
        ("note", {"text": "x" * 100_000}, "usage", "100000 bytes long"),
        ("note", [1], "usage", "must be a JSON object"),
        ("note", 3, "usage", "must be a JSON object"),
        ("note", {"text": object()}, "usage", "not JSON"),
        ("note", {"text": b"x"}, "usage", "not JSON"),
        ("note", {"text": float("nan")}, "usage", "not JSON"),
        ("note", '{"text": ', "usage", "not JSON"),
        ("note", '{"text": "a", "text": "b"}', "usage", "twice"),
        ("note", "[" * 100_000, "usage", "not JSON"),
        ("note", "[]", "usage", "must be a JSON object"),
        ("note", {"text": "x", "request_id": "a b"}, "usage", "request_id"),
        ("note", {"text": "x", "request_id": ""}, "usage", "request_id"),
        ("note", {"text": "x", "request_id": 3}, "usage", "request_id"),
        ("brief", {"request_id": "r"}, "usage", "no argument"),
        ("iterate", HYPOTHESIS, "usage", '"predicted_speedup" is missing'),
        ("iterate", HYPOTHESIS | {"predicted_speedup": "2"}, "usage", "must be a number"),
        ("iterate", HYPOTHESIS | {"predicted_speedup": -1}, "usage", "must lie between"),
        ("iterate", HYPOTHESIS | {"predicted_speedup": 2, "speedup": 3}, "usage", "no argument"),
        ("iterate", HYPOTHESIS | {"predicted_speedup": 2, "wait_s": -1}, "usage", "wait_s"),
        ("iterate", HYPOTHESIS | {"predicted_speedup": 2, "wait_s": True}, "usage", "wait_s"),
        ("iterate", HYPOTHESIS | {"predicted_speedup": 2, "confirm": "no"}, "usage", "one of"),
        ("iterate", HYPOTHESIS | {"predicted_speedup": 2, "files": []}, "usage", "no argument"),
        ("propose", {"files": "x"}, "usage", "must be a map"),
        ("propose", {"files": [{"path": "x"}]}, "usage", "item 1 must have path and content"),
        ("propose", {"files": [{"path": "x", "content": "a"}] * 2}, "usage", "twice"),
        ("propose", {"files": [{"path": 3, "content": "a"}]}, "usage", "must be a string"),
        ("propose", {"files": [{"path": "x", "content": 3}]}, "usage", "not text"),
        ("propose", {"files": {"x": "y" * (1 << 21)}}, "usage", "1 MiB"),
        ("propose", {"edits": {"path": "x"}}, "usage", "must be a list"),
        ("propose", {"edits": [3]}, "usage", "item 1 must be a map"),
        ("propose", {"edits": [{"path": "x", "search": "y"}]}, "usage", "has no replace"),
        ("propose", {"edits": [GOOD_EDIT | {"line": "3"}]}, "usage", "an edit has"),
        ("propose", {"edits": [GOOD_EDIT | {"search": 3}]}, "usage", "search must be a string"),
        ("propose", {"edits": [GOOD_EDIT] * 65}, "usage", "at most 64"),
        ("propose", {"configuration": [{"name": "A", "value": 1.5}]}, "usage", "not an integer"),
        ("propose", {"configuration": [{"name": "A", "value": 2**70}]}, "usage", "64 bits"),
        ("propose", {}, "usage", "nothing of it is new"),
        ("propose_many", {}, "usage", '"proposals" is missing'),
        ("propose_many", {"proposals": []}, "usage", "the list is empty"),
        ("propose_many", {"proposals": [{}] * 17}, "usage", "at most 16"),
        ("propose_many", {"proposals": [{"edits": [{}]}]}, "usage", "item 1"),
        ("propose_many", {"proposals": [{"time_us": 3}]}, "usage", "of item 1"),
        ("race", {"variants": "x"}, "usage", "must be a list"),
        ("record_usage", {"model": "m", "input_tokens": -1, "output_tokens": 0}, "usage", ""),
        ("record_usage", {"model": "m", "input_tokens": 1.5, "output_tokens": 0}, "usage", ""),
        ("record_usage", {"model": "m", "output_tokens": 0}, "usage", "is missing"),
        ("read_ref", {"ref": "e0"}, "not_found", ""),
        ("read_ref", {"ref": "0" * 64}, "not_found", "keeps no such text"),
        ("read_ref", {"ref": "e1", "offset": -1}, "usage", "must lie between"),
        ("get_job", {"job": "a b"}, "usage", "request_id"),
        ("get_job", {"wait_s": "1"}, "usage", "wait_s"),
        ("get_job", {"wait_s": 1e9}, "usage", "wait_s"),
        ("report", {"output": "x.md"}, "usage", "no argument"),
        ("diagnose", {"table": "/etc/passwd"}, "usage", "no argument"),
    ],
)
def test_what_is_wrong_is_named(box, name, arguments, code, words):
    answer = box.call(name, arguments)
    assert bad(answer) == code
    assert words in answer["message"]
    assert answer["fixable"] is True
    assert good(box.call("brief"))["session"] == "s"  # and the next call is served


def test_a_fault_of_the_place_is_not_for_the_agent(package, box, wb):
    folder = wb.folder / "s"
    log = (folder / "events.jsonl").read_bytes()
    middle = len(log) // 2
    (folder / "events.jsonl").write_bytes(log[:middle] + b"#" + log[middle + 1 :])
    answer = box.call("brief")
    assert (bad(answer), answer["fixable"]) == ("damaged", False)
    (folder / "events.jsonl").write_bytes(log)
    assert good(box.call("brief"))
    if os.geteuid() == 0:
        pytest.skip("root writes into a folder that nobody may write")
    os.chmod(folder / "events.jsonl", 0o400)
    answer = box.call("note", {"text": "x"})
    assert answer["fixable"] is False


def test_wrong_calls_leave_no_trace(box, wb):
    before = len(events(wb.folder / "s"))
    for name, arguments in (("note", {}), ("propose", {"files": 3}), ("check", {"problem": SMALL})):
        assert bad(box.call(name, arguments)) == "usage"
    assert len(events(wb.folder / "s")) == before
