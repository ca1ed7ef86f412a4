# SPDX-License-Identifier: MIT
"""Searches whose evaluations run in executors of concurrent.futures: real pools, a real cluster of
Dask, pools that die, and replies of every wrong kind."""

import json
import os
import signal
import time
from concurrent.futures import (
    BrokenExecutor,
    Executor,
    Future,
    ProcessPoolExecutor,
    ThreadPoolExecutor,
)

import pytest
from support.commands import ROOT, SMALL, importing
from support.logs import events

QUICK = {"start": "cpu_unfused", "problem": SMALL, "rivals": ["none"], "effort": "quick"}
TUNE = {"variant": "cpu_tiled", "hypothesis": "tiles fit", "predicted_speedup": 1.1, "seed": 5}


@pytest.fixture
def options(package, cache, wb):
    """What evaluating workbenches of this process are made with."""
    options = {"cache": str(cache), "worker": str(wb.turns.program())}
    package.evaluation.use(**options)
    yield options
    package.evaluation.use()


@pytest.fixture
def two_devices(options):
    cpus = sorted(os.sched_getaffinity(0))
    if len(cpus) < 2:
        pytest.skip("two CPUs are needed for two devices")
    return [options | {"cpu_set": str(cpu), "threads": 1} for cpu in cpus[:2]]


@pytest.fixture
def importable(package, monkeypatch):
    """Processes that are started anew find the package, too."""
    path = os.pathsep.join([importing(package)["PYTHONPATH"], os.environ.get("PYTHONPATH", "")])
    monkeypatch.setenv("PYTHONPATH", path)


def asked(session):
    return [e["payload"] for e in events(session.folder) if e["type"] == "evaluation"]


def in_order(session):
    return [answer["configuration"] for answer in asked(session)]


def check_answers(session, answer, count):
    tune = answer.to_dict()["tune"]
    assert tune["told"] == count
    assert tune["elsewhere"]["answers"] == count
    answers = asked(session)
    assert len({str(a["configuration"]) for a in answers}) == count
    valid = [a for a in answers if a["speedup"] is not None]
    assert valid
    for one in valid:
        if one["duplicate"]:
            continue
        assert one["events"] is None
        kept = json.loads((session.folder / "blobs" / one["elsewhere"]["reply_blob"]).read_text())
        assert kept["lanes"][0]["candidate"]["turns"]


@pytest.fixture
def opened(package, bench, wb):
    """Opens a session like `small`, of any name."""

    def make(name):
        return package.Session.open(wb.folder / name, workbench=bench(), **QUICK)

    return make


def test_threads_ask_what_one_process_asks(opened, small, options):
    """Some seven seconds, as everything is built and judged by two sessions and two threads."""
    alone = small.tune(**TUNE, strategy="random", evaluations=3).to_dict()
    assert "elsewhere" not in alone["tune"]
    other = opened("other")
    with ThreadPoolExecutor(2) as pool:
        answer = other.tune(**TUNE, strategy="random", evaluations=3, executor=pool).to_dict()
    assert answer["tune"]["elsewhere"]["in_flight"] == 2
    assert in_order(other) == in_order(small)


def test_a_pool_with_a_process_for_each_device(package, small, two_devices, importable):
    with package.evaluation.device_pool(two_devices) as pool:
        answer = small.tune(**TUNE, strategy="exhaustive", evaluations=5, executor=pool)
    check_answers(small, answer, 5)
    assert answer.to_dict()["tune"]["elsewhere"]["device_s"] > 0


def test_a_cluster_of_dask(package, small, options, importable):
    distributed = pytest.importorskip("distributed", reason="dask's distributed is not installed")
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        client.run(package.evaluation.use, **options)
        executor = client.get_executor(pure=False)
        answer = small.tune(**TUNE, evaluations=4, executor=executor, in_flight=2)
    check_answers(small, answer, 4)


def test_a_race_elsewhere(package, small, options):
    """Some seven seconds: three kernels are built, and judged here and there."""
    words = {"hypothesis": "one of them is ahead", "predicted_speedup": 1.1}
    with ThreadPoolExecutor(2) as pool:
        answer = small.race(
            variants=["cpu_online", "cpu_tiled", "cpu_unfused"], **words, executor=pool
        ).to_dict()
    assert answer["tune"]["strategy"] == "racing"
    assert answer["tune"]["elsewhere"]["answers"] >= 2
    assert {a["variant"] for a in asked(small)} == {"cpu_online", "cpu_tiled", "cpu_unfused"}


class Forwarding(Executor):
    """Passes on to another executor; `before(n)` is called before the n-th, from 1."""

    def __init__(self, to, before):
        self._to, self._before, self._n = to, before, 0

    def submit(self, fn, /, *args, **kwargs):
        self._n += 1
        self._before(self._n)
        return self._to.submit(fn, *args, **kwargs)


def test_a_pool_that_dies_stops_the_tune_and_another_goes_on(
    package, small, two_devices, importable
):
    with package.evaluation.device_pool(two_devices) as pool:

        def kill_all(n):
            if n != 3:
                return
            for process in list(pool._processes.values()):
                process.kill()
            # Until it knows: what is being written to a dead process hangs it (Python before
            # 3.11.5 and 3.12, python/cpython#94777).
            deadline = time.monotonic() + 60
            while not pool._broken and time.monotonic() < deadline:
                time.sleep(0.01)

        with pytest.raises(BrokenExecutor):
            small.tune(**TUNE, evaluations=5, executor=Forwarding(pool, kill_all), in_flight=1)
    known = len(asked(small))
    assert known >= 1
    with ThreadPoolExecutor(1) as pool:
        answer = small.tune(**TUNE, evaluations=5, executor=pool).to_dict()
    assert answer["tune"]["replayed"] == known
    assert len(asked(small)) == 5


@pytest.fixture
def interruptible():
    """Ctrl-C raises even where a shell's background has it ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def test_ctrl_c_while_evaluations_run(package, small, options, interruptible):
    """Raised in the call; what runs elsewhere is left alone; the session goes on by its log."""

    def interrupt(n):
        if n == 3:
            signal.raise_signal(signal.SIGINT)

    with ThreadPoolExecutor(1) as pool:
        with pytest.raises(KeyboardInterrupt):
            small.tune(**TUNE, evaluations=4, executor=Forwarding(pool, interrupt), in_flight=1)
        assert not small.held
        known = len(asked(small))
        assert known >= 1
        answer = small.tune(**TUNE, evaluations=4, executor=pool, in_flight=1).to_dict()
    assert answer["tune"]["replayed"] == known
    kinds = [e["type"] for e in events(small.folder)]
    assert kinds.count("session_paused") == 1


class Odd(Executor):
    """Answers all with the same."""

    def __init__(self, reply):
        self.reply, self.calls = reply, 0

    def submit(self, fn, /, *args, **kwargs):
        self.calls += 1
        future = Future()
        if isinstance(self.reply, BaseException):
            future.set_exception(self.reply)
        elif self.reply == "cancelled":
            future.cancel()
            future.set_running_or_notify_cancel()
        else:
            future.set_result(self.reply)
        return future


def deep():
    value = []
    for _ in range(100_000):
        value = [value]
    return {"lanes": value}


def nested():
    value = 1
    for _ in range(40):
        value = [value]
    return {"lanes": value}


class Mute(Exception):
    def __str__(self):
        raise ValueError("no words")


ODD = {
    "no JSON: TypeError": {"lanes": object()},
    "no JSON: ValueError: Out of range": {"device_s": float("nan")},
    "a list, not a dict": [],
    "a NoneType, not a dict": None,
    "a str, not a dict": "fine",
    "too large": {"lanes": "x" * (17 << 20)},
    "recursion": deep,
    "nested": nested,
    "RuntimeError: lost ?": RuntimeError("lost \udc80"),
    "it cannot say why": Mute(),
    "RuntimeError: lost": RuntimeError("lost"),
    "it was cancelled": "cancelled",
    "format": {"speedup": 1000},
}


def test_odd_replies_are_the_machines_fault(package, small, options):
    for reason, reply in ODD.items():
        before = len(asked(small))
        executor = Odd(reply() if callable(reply) else reply)
        answer = small.tune(**TUNE, evaluations=9, executor=executor).to_dict()
        assert answer["outcome"] == "invalid", reason
        assert answer["invalidity"] == "environment", reason
        assert reason in asked(small)[before]["message"]
        # Three attempts of three evaluations, then it is enough.
        assert executor.calls == 9, reason
        assert small.held
    answer = small.tune(**TUNE, evaluations=1).to_dict()
    assert answer["outcome"] == "no_gain", answer


def test_what_is_no_executor_is_refused(package, small):
    for words in (
        {"executor": 7},
        {"executor": ThreadPoolExecutor},
        {"in_flight": 2},
        {"executor": Odd({}), "in_flight": 0},
        {"executor": Odd({}), "in_flight": "2"},
        {"executor": Odd({}), "in_flight": 1001},
        {"executor": ProcessPoolExecutor(1)},
    ):
        with pytest.raises(package.errors.UsageError):
            small.tune(**TUNE, evaluations=1, **words)
    assert not [e for e in events(small.folder) if e["type"] == "evaluation"]


def test_a_pool_of_devices_refuses_wrong_ones(package):
    for devices in ([], {}, {"gpu": 0}):
        with pytest.raises(package.errors.UsageError, match="list"):
            package.evaluation.device_pool(devices)
    with pytest.raises(TypeError):
        package.evaluation.device_pool([{"no_such_option": 1}])


def test_what_is_no_request_is_refused(package, options):
    with pytest.raises(package.errors.UsageError, match="a request is a dict"):
        package.evaluation.evaluate(7)
    with pytest.raises(package.errors.WorkbenchError, match="format"):
        package.evaluation.evaluate({})


def test_requests_are_all_that_an_evaluation_needs(package, small, options):
    """The same request, evaluated twice by hand, is the same code and a time of the same size."""
    kept = []

    class Keeping(Executor):
        def submit(self, fn, /, *args, **kwargs):
            kept.append((fn, args))
            future = Future()
            future.set_result(fn(*args))
            return future

    small.tune(**TUNE, evaluations=2, executor=Keeping(), in_flight=1)
    evaluate, (request,) = kept[1]
    assert evaluate is package.evaluation.evaluate
    replies = [evaluate(request), evaluate(request)]
    assert replies[0]["id"] == request["id"]
    assert replies[0]["code_hash"] == replies[1]["code_hash"]
    for reply in replies:
        turns = reply["lanes"][0]["candidate"]["turns"]
        assert turns, reply["failure"]
        assert all(us > 0 for turn in turns for us in turn["samples_us"])
    assert str(ROOT) not in str({k: v for k, v in request.items() if k not in ("candidate",)})


def test_replies_that_overtake_each_other_are_told_in_order(opened, small, options):
    """Some seven seconds, as everything is built and judged by two sessions and three threads."""
    with ThreadPoolExecutor(3) as pool:
        ended = []

        class Slow(Executor):
            sent = 0

            def submit(self, fn, /, *args, **kwargs):
                Slow.sent += 1
                number = Slow.sent

                def late():
                    reply = fn(*args)
                    while number == 2 and 3 not in ended:
                        time.sleep(0.01)
                    ended.append(number)
                    return reply

                return pool.submit(late)

        words = {"strategy": "exhaustive", "evaluations": 3}
        small.tune(**TUNE, **words, executor=Slow(), in_flight=2)
    assert ended.index(3) < ended.index(2)
    other = opened("other")
    other.tune(**TUNE, **words)
    assert in_order(small) == in_order(other)
