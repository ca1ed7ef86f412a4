# SPDX-License-Identifier: MIT
"""The loop of Python subjects on a GPU, driven message by message on a CPU (gpu_subject.py). What
only a device can tell (times, streams) is for tests/scenario/test_gpu.py."""

import json
import os
import socket
import subprocess
import sys

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

from gpu_subject import FOLDER, PROBLEM, Driven, returns_double, writes_double  # noqa: E402


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


def chain_of(driven, seeds, **more):
    """Of these seeds, whose inputs are what the test drew last."""
    chain = {"seeds": seeds, "poison": 7, "with_calls": True, "seed_offset": 9}
    return {**chain, "fills": driven.fills(), **more}


@pytest.mark.parametrize("function", [returns_double, writes_double])
def test_a_chain_ends_with_the_output_of_its_last_inputs(driven, function):
    d = driven(function)
    d.turn("hot")
    fresh = d.draw("q")
    message = {"n": 5, "samples": 1, "calls": 1, "chain": chain_of(d, [4, 5, 6])}
    answer = d.subject.go(message, [])
    assert json.loads(d.here.recv(1024)) == {"n": 5, "ok": True}
    assert answer["block_ns"] > 0
    assert d.subject.graphs[1][0].replays >= 3
    assert torch.equal(d.shown(), 2 * fresh.reshape(-1))
    assert d.seeds_of("q")[-3:] == [4, 5, 6]


def test_a_chain_without_calls_leaves_the_poison(driven):
    d = driven(writes_double)
    d.turn("hot")
    before = d.subject.graph_of(1)[0].replays
    message = {"n": 5, "samples": 1, "calls": 1, "chain": chain_of(d, [4, 5], with_calls=False)}
    d.subject.go(message, [])
    assert d.subject.graphs[1][0].replays == before
    assert not torch.equal(d.shown(), 2 * d.values["q"].reshape(-1))


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


@pytest.mark.parametrize("function", [returns_double, writes_double])
def test_earlier_calls_of_a_drawn_run_leave_its_inputs_alone(driven, function):
    """They see other inputs, and what they wrote is not what is judged."""
    seen = []

    def looks(q, k, v, **options):
        seen.append(q.clone())
        return function(q, k, v, **options)

    d = driven(looks)
    d.subject.tensors.private = lambda tensor: tensor  # as of what lies on the device already
    form = {"call": 5, "q": [4, 0, 0, 0]}
    message = {"problem": PROBLEM, "placement": 0, "fills": d.fills(), "form": form}
    d.subject.run(message, d.fds())
    assert len(seen) == 5
    assert not any(torch.equal(q, d.values["q"]) for q in seen[:4])
    assert torch.equal(d.shown(), 2 * d.values["q"])


@pytest.mark.parametrize("function", [returns_double, writes_double])
@pytest.mark.parametrize("kind", ["hot", "cold", "eager"])
def test_the_judge_gets_a_copy_from_behind_the_block(driven, function, kind):
    """In memory that it lends; what is written when the block has ended is not in it."""
    d = driven(function)
    lent, files = d.lend(4, ["out", "snap"])
    d.lent_turn(kind, lent, files)
    assert not d.subject.shows_unasked
    fresh = d.draw("q")
    samples, calls = (1, 1) if kind == "cold" else (3, 2)
    d.block(samples, calls, flush=kind == "cold", seed=1)
    assert torch.equal(d.stands_in(files["snap"]), 2 * fresh)
    d.subject.stage.values["out"].zero_()
    assert torch.equal(d.stands_in(files["snap"]), 2 * fresh)
    assert torch.equal(d.stands_in(files["out"]), torch.zeros(48))  # the judge's memory itself


def test_lent_memory_is_mapped_once_a_stage_and_given_back(driven):
    d = driven(writes_double)
    lent, files = d.lend(4, ["out", "snap"])
    d.lent_turn("hot", lent, files)
    d.lent_turn("hot", lent, files)
    assert (d.mapped, d.unmapped) == (2, 0)
    other, more = d.lend(5, ["out", "snap"])
    d.lent_turn("hot", other, more, placement=1)
    assert (d.mapped, d.unmapped) == (4, 2)  # the old one when the new one stood
    run, outputs = d.lend(6, ["out", "lse"])
    message = {"problem": PROBLEM, "draw": "normal", "seed": 3, "fills": d.fills(), "lent": run}
    d.subject.run(message, [os.dup(file) for file in outputs.values()])
    assert (d.mapped, d.unmapped) == (6, 4)
    assert torch.equal(d.stands_in(outputs["out"]), 2 * d.values["q"])


def test_memory_that_cannot_be_mapped_is_told(driven):
    d = driven(writes_double)
    lent, files = d.lend(4, ["out", "snap"])
    d.import_answer = 1
    with pytest.raises(RuntimeError, match="answered 1 where memory"):
        d.lent_turn("hot", lent, files)


def test_a_copy_is_made_on_demand_where_no_memory_is_lent(driven):
    d = driven(writes_double)
    d.turn("hot")
    d.subject.stage.values["out"].fill_(3)
    assert d.subject.copy({}, []) == {}
    assert torch.equal(d.shown(), torch.full((48,), 3.0))


def test_a_result_that_is_not_on_the_gpu_is_refused(driven, monkeypatch):
    d = driven(returns_double)
    d.turn("hot")
    monkeypatch.setattr(torch.Tensor, "is_cuda", False)
    d.subject.prime({"calls": 1, "warm": False, "poison": 7, "flush": False}, [])
    with pytest.raises(TypeError, match="not on the GPU"):
        d.subject.go({"n": 5, "samples": 1, "calls": 1}, [])


def test_an_interpreter_without_pytorch_is_named(tmp_path):
    (tmp_path / "torch.py").write_text("raise ImportError('no torch here')")
    channel, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    third = "import os, sys; os.dup2(int(sys.argv[1]), 3); os.execv(sys.executable, sys.argv[2:])"
    with channel, other:
        done = subprocess.run(
            [sys.executable, "-c", third, str(other.fileno()),
             sys.executable, FOLDER / "subject.py", "--gpu=0"],
            capture_output=True, text=True, timeout=60, pass_fds=[other.fileno()],
            env=os.environ | {"PYTHONPATH": str(tmp_path)},
        )  # fmt: skip
    assert done.returncode == 1
    told = done.stderr.strip().splitlines()
    assert len(told) == 1, done.stderr
    assert "needs PyTorch" in told[0]
    assert sys.executable in told[0]
    assert "no torch here" in told[0]
