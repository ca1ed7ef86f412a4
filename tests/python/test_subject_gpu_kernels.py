# SPDX-License-Identifier: MIT
"""The kernels that a Python subject on a GPU names: one call under torch.profiler, which is played
here."""

import contextlib
import json
import pathlib
import types

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

from gpu_subject import Driven, returns_double, writes_double  # noqa: E402


@pytest.fixture
def driven(monkeypatch, tmp_path):
    return lambda function: Driven(monkeypatch, tmp_path, function)


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
