# SPDX-License-Identifier: MIT
"""Bad input is a named error before anything runs, and the engine serves the next call."""

import copy
import importlib
import pickle

import pytest
from support.commands import ROOT, SMALL
from support.logs import events

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
