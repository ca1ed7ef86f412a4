# SPDX-License-Identifier: MIT
"""The loop of Python subjects on a GPU, driven message by message on a CPU: torch.cuda is played by
FakeCuda, whose graphs run their calls again into the tensors that the first run returned, as real
ones do. What only a device can tell (times, streams) is for tests/scenario/test_gpu.py."""

import base64
import contextlib
import ctypes
import importlib.util
import json
import os
import pathlib
import socket
import struct
import sys
import time
import types

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

FOLDER = pathlib.Path(__file__).resolve().parents[2] / "bindings" / "sdpa_workbench"
PROBLEM = {"B": 1, "Hq": 2, "Hkv": 2, "Sq": 3, "Skv": 4, "D": 8, "dtype": "f32", "causal": "none"}
SIZES = {"q": 48, "k": 64, "v": 64, "out": 48}  # elements
INPUTS = ("q", "k", "v")
NO_ADDRESS = bytes(8)
STREAM = 7


class FakeEvent:
    def __init__(self, enable_timing):
        assert enable_timing
        self.at = None

    def record(self):
        self.at = time.perf_counter()

    def query(self):
        return self.at is not None

    def synchronize(self):
        assert self.at is not None

    def elapsed_time(self, later):
        return 1e3 * (later.at - self.at)


class FakeGraph:
    def __init__(self):
        self.calls = []  # (call, what it returned first)
        self.replays = 0

    def replay(self):
        self.replays += 1
        for call, first in self.calls:
            again = call()
            if first is not None:
                first.copy_(again)


class FakeDriver:
    """Its one kernel writes what the test drew for the input that the parameter names."""

    def __init__(self, driven):
        self.driven = driven
        self.code = None

    def cuCtxResetPersistingL2Cache(self):
        self.driven.persisting_resets += 1

    def cuModuleLoadData(self, _module, image):
        self.code = image
        return 0

    def cuModuleGetFunction(self, function, _module, name):
        assert (self.code, name) == (b"device code", b"makes_inputs")
        function._obj.value = 42
        return 0

    def cuLaunchKernel(self, function, *words):
        *shape, memory_bytes, stream, pointers, extra = words
        assert (function.value, shape, memory_bytes, extra) == (42, [3, 1, 1, 32, 1, 1], 0, None)
        assert stream.value == STREAM
        address, name = struct.unpack("=Qc", ctypes.string_at(pointers[0], 9))
        values = self.driven.values[name.decode()]
        ctypes.memmove(address, values.data_ptr(), 4 * values.numel())
        return self.driven.launch_answer


class FakeCuda(types.SimpleNamespace):
    def __init__(self):
        super().__init__(CUDAGraph=FakeGraph, Event=FakeEvent, recording=None, slept=0)
        self.Stream = lambda: types.SimpleNamespace(cuda_stream=STREAM)

    def set_device(self, _device):
        pass

    set_stream = synchronize = set_device

    def _sleep(self, _cycles):
        self.slept += 1

    def get_device_properties(self, _device):
        return types.SimpleNamespace(L2_cache_size=1024)

    @contextlib.contextmanager
    def graph(self, graph, *, stream, capture_error_mode):
        assert stream is not None
        assert capture_error_mode == "thread_local"
        self.recording = graph
        yield
        self.recording = None


def load_module(name):
    spec = importlib.util.spec_from_file_location(name, FOLDER / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Driven:
    """A subject and the supervisor's end of its messages."""

    def __init__(self, monkeypatch, tmp_path, function):
        self.cuda = FakeCuda()
        monkeypatch.setattr(torch, "cuda", self.cuda)
        monkeypatch.setattr(torch.Tensor, "is_cuda", True)
        loop = load_module("subject")
        monkeypatch.setitem(sys.modules, "sdpa_wb_subject", loop)
        gpu = load_module("subject_gpu")
        monkeypatch.setattr(gpu.ctypes, "CDLL", self.driver)
        self.persisting_resets = self.launch_answer = 0
        self.here, there = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.here.settimeout(10)
        self.subject = gpu.GpuSubject(there, 0)
        self.subject.device = torch.device("cpu")
        (tmp_path / "fake_kernel.py").write_text("import torch\n\nsdpa = None\n")
        code = os.memfd_create("code")
        os.write(code, b"device code")
        load = {"folder": str(tmp_path), "entry": "fake_kernel:sdpa", "threads": 1}
        self.subject.load({**load, "fill_kernel": "makes_inputs"}, [code])
        self.subject.tensors.private = lambda shared: shared.clone()
        self.subject.function = function
        self.subject.call = self.call
        self.out = os.memfd_create("out")
        os.ftruncate(self.out, 4 * SIZES["out"])
        self.values = {}
        for name in INPUTS:
            self.draw(name)

    def driver(self, _name):
        return FakeDriver(self)

    def call(self, problem, values):
        """As Subject.call, and a graph that records keeps the call."""
        call = type(self.subject).call(self.subject, problem, values)

        def noted():
            result = call()
            if self.cuda.recording is not None:
                self.cuda.recording.calls.append((call, result))
            return result

        return noted

    def draw(self, name):
        """What the next launch for this input writes."""
        self.values[name] = torch.randn(SIZES[name])
        return self.values[name]

    def shown(self):
        raw = bytearray(os.pread(self.out, 4 * SIZES["out"], 0))
        return torch.frombuffer(raw, dtype=torch.float32)

    def fds(self):
        return [os.dup(self.out)]

    @staticmethod
    def fills():
        return [
            {"blocks": 3, "threads": 32, "params_base64": base64.b64encode(NO_ADDRESS + name)}
            for name in (b"q", b"k", b"v")
        ]

    def turn(self, kind, placement=0):
        message = {"problem": PROBLEM, "placement": placement, "settle_us": 100, "kind": kind}
        return self.subject.turn({**message, "fills": self.fills()}, self.fds())

    def profile(self):
        return self.subject.profile({"problem": PROBLEM, "fills": self.fills()}, self.fds())

    def block(self, samples, calls, flush=False, **prime):
        """Prime, go and show, as the supervisor asks; what go told, and the samples."""
        prime = {"calls": calls, "warm": False, "poison": 7, "flush": flush, **prime}
        if "seed" in prime:
            prime["fills"] = self.fills()
        self.subject.prime(prime, [])
        answer = self.subject.go({"n": 5, "samples": samples, "calls": calls}, [])
        assert json.loads(self.here.recv(1024)) == {"n": 5, "ok": True}
        self.subject.show()
        return answer, self.subject.sample_ns


def returns_double(q, k, v, *, causal, scale, mask, out, lse):
    return 2 * q


def writes_double(q, k, v, *, causal, scale, mask, out, lse):
    out.copy_(2 * q)


class FakeProfiler:
    """torch.profiler as far as it is used: each range has the next of some traces."""

    ProfilerActivity = types.SimpleNamespace(CUDA="cuda")

    def __init__(self, traces, calls=None):
        self.traces, self.ranges, self.calls = list(traces), [], calls

    @contextlib.contextmanager
    def profile(self, activities):
        assert activities == ["cuda"]
        before = len(self.calls or ())
        yield self
        self.ranges.append(len(self.calls or ()) - before)

    def export_chrome_trace(self, path):
        trace = self.traces.pop(0)
        if isinstance(trace, Exception):
            raise trace
        pathlib.Path(path).write_text(trace if isinstance(trace, str) else json.dumps(trace))


def trace_of(*kernels):
    """A trace as PyTorch exports it: kernels (name, ts, dur) among what else happens."""
    others = [
        {"ph": "M", "name": "process_name", "pid": 1, "args": {"name": "python"}},
        {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "ts": 1, "dur": 3},
        {"ph": "X", "cat": "gpu_memcpy", "name": "Memcpy DtoD", "ts": 1, "dur": 3},
        {"ph": "X", "cat": "gpu_user_annotation", "name": "ProfilerStep#1", "ts": 1, "dur": 3},
    ]
    return {
        "traceEvents": others
        + [
            {
                "ph": "X", "cat": "kernel", "name": name, "ts": ts, "dur": us,
                "args": {"device": 0, "stream": 7, "grid": [32, 8, 1], "block": [128, 1, 1]},
            }
            for name, ts, us in kernels
        ]
    }  # fmt: skip


@pytest.fixture
def driven(monkeypatch, tmp_path):
    return lambda function: Driven(monkeypatch, tmp_path, function)


@pytest.mark.parametrize("function", [returns_double, writes_double])
@pytest.mark.parametrize("kind", ["hot", "cold", "eager"])
def test_a_block_shows_the_output_of_its_own_inputs(driven, function, kind):
    d = driven(function)
    answer = d.turn(kind)
    assert answer["call_us"] > 0
    assert answer["flushes"]
    for _ in range(2):  # a seed says that the inputs are new
        fresh = d.draw("q")
        samples, calls = (1, 1) if kind == "cold" else (3, 2)
        told, sample_ns = d.block(samples, calls, flush=kind == "cold", seed=1)
        assert torch.equal(d.shown(), 2 * fresh)
        assert len(sample_ns) == samples
        assert min(sample_ns) >= 1
        if kind != "cold":  # the samples lie back to back: their sum is the block
            assert abs(told["block_ns"] - sum(sample_ns)) <= samples + 1
    assert d.persisting_resets == (2 if kind == "cold" else 0)


def test_a_graph_is_ready_before_the_inputs_are_fresh(driven):
    """Its first launch must not meet what the block is going to be judged on."""
    seen = []

    def looks(q, k, v, *, causal, scale, mask, out, lse):
        seen.append(q.sum().item())
        return 2 * q

    d = driven(looks)
    d.turn("hot")
    fresh = d.draw("q").sum().item()
    seen.clear()
    message = {"calls": 3, "warm": False, "poison": 7, "flush": False, "seed": 1}
    d.subject.prime({**message, "fills": d.fills()}, [])
    assert seen  # the graph of three calls was made and launched
    assert fresh not in seen


@pytest.mark.parametrize("kind", ["hot", "eager"])
def test_what_an_earlier_block_left_does_not_pass_for_this_ones(driven, kind):
    works = [True]

    def stops_working(q, k, v, *, causal, scale, mask, out, lse):
        if works[0]:
            out.copy_(2 * q)

    d = driven(stops_working)
    d.turn(kind)
    fresh = d.draw("q")
    d.block(2, 1, seed=1)
    assert torch.equal(d.shown(), 2 * fresh)
    works[0] = False
    d.block(2, 1)  # the same inputs: a result that lay there would be right
    assert not torch.equal(d.shown(), 2 * fresh)


def test_what_a_graph_returned_before_is_poisoned_too(driven):
    d = driven(returns_double)
    d.turn("hot")
    fresh = d.draw("q")
    d.block(2, 1, seed=1)
    graph, _result = d.subject.graph_of(1)
    graph.calls.clear()  # a launch that does nothing
    d.block(2, 1)
    assert not torch.equal(d.shown(), 2 * fresh)


def test_graphs_do_not_outlive_their_tensors(driven):
    d = driven(writes_double)
    d.turn("hot")
    old, _result = d.subject.graph_of(1)
    d.turn("hot", placement=1)
    assert d.subject.graph_of(1)[0] is not old


def test_a_launch_that_the_driver_refuses_is_told(driven):
    d = driven(returns_double)
    d.launch_answer = 719
    with pytest.raises(RuntimeError, match="answered 719 where inputs were to be made"):
        d.turn("hot")


def test_inputs_without_elements_are_not_launched(driven):
    d = driven(lambda q, k, v, *, causal, scale, mask, out, lse: out.zero_())
    problem = {**PROBLEM, "Skv": 0}
    message = {"problem": problem, "placement": 0, "settle_us": 100, "kind": "hot"}
    fills = [d.fills()[0], None, None]
    d.subject.turn({**message, "fills": fills}, d.fds())
    assert d.subject.stage.values["k"].shape == (1, 2, 0, 8)
    q = d.subject.stage.values["q"]
    assert torch.equal(q.flatten(), d.values["q"])


def test_a_run_makes_its_inputs_too(driven):
    d = driven(writes_double)
    message = {"problem": PROBLEM, "draw": "normal", "seed": 3, "fills": d.fills()}
    assert not d.subject.run(message, d.fds())["lse"]
    assert torch.equal(d.shown(), 2 * d.values["q"])
    swapped = {**message, "problem": {**PROBLEM, "layout": "BSHD"}}
    d.subject.run(swapped, d.fds())  # memory order is the kernel's, whatever the layout
    assert torch.equal(d.shown(), 2 * d.values["q"])


def test_a_result_that_is_not_on_the_gpu_is_refused(driven, monkeypatch):
    d = driven(returns_double)
    d.turn("hot")
    monkeypatch.setattr(torch.Tensor, "is_cuda", False)
    d.subject.prime({"calls": 1, "warm": False, "poison": 7, "flush": False}, [])
    with pytest.raises(TypeError, match="not on the GPU"):
        d.subject.go({"n": 5, "samples": 1, "calls": 1}, [])


def test_the_kernels_of_one_call_are_told_in_their_order(driven, monkeypatch):
    calls = []

    def counted(q, k, v, *, causal, scale, mask, out, lse):
        calls.append(1)
        return 2 * q

    d = driven(counted)
    profiler = FakeProfiler([trace_of(("combine", 9.5, 1.0), ("flash<64>", 2.5, 3.0))], calls)
    monkeypatch.setattr(torch, "profiler", profiler)
    answer = d.profile()
    size = {"grid": "(32, 8, 1)", "block": "(128, 1, 1)"}
    assert answer == {
        "launches": [
            {"kernel": "flash<64>", **size, "share_frac": 0.75},
            {"kernel": "combine", **size, "share_frac": 0.25},
        ],
        "launched": 2,
    }
    assert profiler.ranges == [1]  # one call; what the first calls compile and choose came before
    assert len(calls) == 3


@pytest.mark.parametrize(
    ("traces", "reason"),
    [
        ([RuntimeError("CUPTI_NOT_READY\nyet")] * 2, "RuntimeError: CUPTI_NOT_READY yet"),
        (["no JSON"] * 2, "torch.profiler failed: JSONDecodeError"),
        ([trace_of()] * 2, "saw no kernel"),
        ([{"traceEvents": [{"cat": "kernel"}]}] * 2, "torch.profiler failed: KeyError"),
    ],
)
def test_a_profiler_that_fails_is_a_reason(driven, monkeypatch, traces, reason):
    d = driven(returns_double)
    monkeypatch.setattr(torch, "profiler", FakeProfiler(traces))
    answer = d.profile()
    assert list(answer) == ["reason"]
    assert reason in answer["reason"]
    d.turn("hot")  # the loop goes on


def test_a_range_that_came_too_early_is_taken_again(driven, monkeypatch):
    d = driven(writes_double)
    profiler = FakeProfiler([trace_of(), trace_of(("k" * 9000, 1.0, 0.0))])
    monkeypatch.setattr(torch, "profiler", profiler)
    answer = d.profile()
    assert [len(launch["kernel"]) for launch in answer["launches"]] == [300]
    assert answer["launches"][0]["share_frac"] == 0.0
    many = FakeProfiler([trace_of(*(("\u00e9" * 300, float(i), 1.0) for i in range(99)))])
    monkeypatch.setattr(torch, "profiler", many)
    answer = d.profile()
    assert answer["launched"] == 99
    assert len(answer["launches"]) == 32  # the most that are told
    assert len(json.dumps(answer)) < 64 << 10  # one message


def test_a_call_that_fails_without_the_profiler_is_the_candidates_fault(driven, monkeypatch):
    def refuses(q, k, v, *, causal, scale, mask, out, lse):
        raise NotImplementedError("not this problem")

    d = driven(refuses)
    monkeypatch.setattr(torch, "profiler", FakeProfiler([]))
    with pytest.raises(NotImplementedError):
        d.profile()


def test_the_real_profiler_of_a_cpu_build_is_a_reason(driven):
    """Whatever it does without a GPU, nothing is raised and nothing is told as a kernel."""
    d = driven(returns_double)
    answer = d.profile()
    assert list(answer) == ["reason"]
    assert answer["reason"]
