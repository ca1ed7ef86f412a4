# SPDX-License-Identifier: MIT
"""Scripts of tests/bench, on the CPU: that they plant what they say, count, and keep their rows.
eager_calls.py really calls an exported operator beside PyTorch's; gpu_trust.py asks whether
comparisons can be believed; settling.py, how long a device takes to settle. The figures themselves
are for a GPU (docs/results/trust.md)."""

import gzip
import importlib.util
import json
import math
import subprocess
import sys
from types import SimpleNamespace

import pytest
from support.commands import EXIT_ENVIRONMENT, ROOT, skip_busy

EAGER_CALLS = ROOT / "tests" / "bench" / "eager_calls.py"
PROBLEM = "B=1 Hq=2 Hkv=2 Sq=64 Skv=64 D=32 f32 causal=none"


@pytest.fixture(scope="module")
def eager_calls():
    spec = importlib.util.spec_from_file_location("eager_calls", EAGER_CALLS)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def process(ours, rival, fell_back=0, hot=5.0):
    times = {"ours": ours, "torch_default": rival, "torch_math": [9 * us for us in rival]}
    hot_us = {"torch_default": hot, "torch_math": 9 * hot}
    return {"rows": [{"problem": PROBLEM, "times_us": times, "hot_us": hot_us,
                      "fell_back": fell_back}]}  # fmt: skip


def test_the_table_follows_from_the_times(eager_calls):
    processes = [process([10.0, 10.0, 50.0], [20.0, 20.0, 100.0]), process([10.0] * 3, [22.0] * 3)]
    (row,) = eager_calls.summary(processes, {PROBLEM: "k"}, None)
    assert row["rival"] == "torch_default"
    assert row["ratio"] == pytest.approx((2.0 * 2.2) ** 0.5)
    assert row["low"] < row["ratio"] < row["high"]
    assert "geometric mean 2.098, lowest 2.098" in eager_calls.table([row])
    assert (
        eager_calls.summary(processes, {PROBLEM: "k"}, 5.0) == []
    )  # the rival takes 5 us: not under
    with pytest.raises(SystemExit, match="fell back"):
        eager_calls.summary([process([1.0], [1.0], fell_back=1)], {PROBLEM: "k"}, None)


@pytest.mark.parametrize(
    "problem",
    [
        PROBLEM + " mask=bool:0.5",
        PROBLEM + " layout=bshd",
        "B=1 Hq=2 Hkv=2 Sq=64 Skv=80 D=32 f32 causal=bottom_right",
    ],
)
def test_what_pytorch_cannot_be_asked_for_is_refused(eager_calls, problem):
    with pytest.raises(SystemExit, match=r"only plain problems|top left"):
        eager_calls.shape_of(problem)


def test_operators_are_called_beside_pytorch(by_clock, tmp_path):
    pytest.importorskip("torch", reason="PyTorch is not installed")
    output = tmp_path / "eager.json"
    words = ["--problem", PROBLEM, "--kernel", "cpu_tiled", "--processes", "2", "--rounds", "3",
             "--calls", "5", "--output", output]  # fmt: skip
    program = tmp_path / "wb"
    program.write_text(
        f'#!/bin/sh\nexec {by_clock.program} --path {ROOT} --cache {by_clock.cache} "$@"\n'
    )
    program.chmod(0o755)
    done = subprocess.run([sys.executable, EAGER_CALLS, program, *words], cwd=tmp_path,
                          capture_output=True, text=True, timeout=600)  # fmt: skip
    if f"ended with {EXIT_ENVIRONMENT}:" in done.stderr:
        skip_busy(done.stderr)
    assert done.returncode == 0, done.stderr
    told = json.loads(output.read_text())
    assert len(told["processes"]) == 2
    for one in told["processes"]:
        (row,) = one["rows"]
        assert row["fell_back"] == 0
        assert all(len(times) == 6 for times in row["times_us"].values())
        assert {"ours", "torch_default"} <= set(row["times_us"])
    assert "1 problems: geometric mean" in done.stdout


# The script that asks whether comparisons can be believed on a GPU (tests/bench/gpu_trust.py), in
# its CPU form: that it plants what it says, counts, and keeps its rows.

GPU_TRUST = ROOT / "tests" / "bench" / "gpu_trust.py"
PERCENT = 100  # planted: calls take twice as long


def run(*words, timeout=240):
    return subprocess.run(
        [sys.executable, GPU_TRUST, *words], capture_output=True, text=True, timeout=timeout
    )


def test_equal_code_and_a_planted_slowdown_are_told_apart(by_clock):
    out = by_clock.folder / "trust.json"
    done = run(by_clock.program, "--backend", "cpu", "--pairs", "2", "--plants", "1",
               "--gains", "1", "--percent", str(PERCENT), str(PERCENT), "--plant-effort", "quick",
               "--cache", by_clock.cache, "--seconds", "200", "--out", out)  # fmt: skip
    if done.returncode == EXIT_ENVIRONMENT:
        skip_busy(done.stderr or done.stdout)
    assert done.returncode in (0, 1), f"{done.stdout}\n{done.stderr}"
    assert "| what | goal |" in done.stdout
    if "time is up" in done.stdout:
        skip_busy(done.stdout)
    kept = json.loads(out.read_text())
    equal, planted = kept["rows"]["equal"], kept["rows"]["planted"]
    assert (len(equal), len(planted)) == (2, 3)
    assert sum(row["outcome"] in ("faster", "slower") for row in equal) <= 1, equal
    assert all(row["outcome"] != "faster" for row in planted), planted
    found = [row for row in planted if row["outcome"] == "slower"]
    assert found, planted
    for row in found:
        assert 1.5 < row["candidate_us"] / row["against_us"] < 2.7, row
    gains = kept["rows"]["gains"]
    assert len(gains) == 3
    assert all(row["outcome"] != "slower" for row in gains), gains
    # Each call was to take as long again as it took when that was measured.
    planned_us = [units * kept["calibration"]["unit_us"] for units in kept["units"].values()]
    assert planned_us == pytest.approx(kept["calibration"]["base_us"], rel=0.01)


def test_a_fault_is_no_missed_goal(wb):
    done = run(wb.folder / "no_such_program", "--backend", "cpu")
    assert done.returncode == 2
    assert "gpu_trust.py: " in done.stderr
    assert "no_such_program" in done.stderr
    refused = run(wb.program, "--backend", "cpu", "--pairs", "1", "--plants", "0",
                  "--effort", "no_such_effort")  # fmt: skip
    assert refused.returncode == 2
    assert "no_such_effort" in refused.stderr
    without_file = run(wb.program, "--append")
    assert without_file.returncode == 2
    assert "--append needs" in without_file.stderr


def test_only_pairs_with_an_answer_are_counted(monkeypatch):
    monkeypatch.syspath_prepend(GPU_TRUST.parent)
    import gpu_trust

    problem = gpu_trust.PROBLEMS["cpu"]["100 us"][0]

    def row(outcome, speedup):
        return {"asked": problem, "outcome": outcome, "speedup": speedup, "against_us": 100.0,
                "candidate_us": 100.0}  # fmt: skip

    def summary(equal, planted, gains=()):
        rows = {"equal": equal, "planted": planted, "gains": gains}
        parts = {name: SimpleNamespace(rows=list(of)) for name, of in rows.items()}
        state = {"regime": "burst", "percent": {problem: 50.0}}
        lines, *answers = gpu_trust.summary(parts, state, "cpu")
        return "\n".join(lines), tuple(answers)

    same, slow = row("same", 1.0), row("slower", 0.667)
    unclear, failed = row("ambiguous", 0.9), row("ambiguous", None)
    text, answers = summary([same] * 100, [slow] * 19 + [unclear])
    assert answers == (True, True)
    assert "100 comparisons" in text
    assert "19 of 20, median 49.9" in text
    assert "too few" not in text
    assert summary([same] * 98 + [slow] * 2, [])[1] == (False, True)
    assert summary([], [slow] * 18 + [unclear] * 2)[1] == (False, True)
    text, answers = summary([same] * 50 + [failed] * 50, [slow] * 10 + [failed] * 10)
    assert answers == (True, True)
    assert "50 comparisons" in text
    assert "50 more have no answer; too few: 100 are wanted" in text
    assert "10 of 10, median 49.9" in text
    assert "10 more have no answer; too few: 20 are wanted" in text
    assert summary([same] * 49 + [failed] * 50, [])[1] == (True, False)
    assert summary([], [slow] * 9 + [failed] * 10)[1] == (True, False)
    text, answers = summary([failed], [failed])
    assert answers == (True, False)
    assert "50 % planted at 100 us" in text
    gained = row("faster", 1.5)
    text, answers = summary([], [], [gained] * 49 + [unclear])
    assert answers == (True, True)
    assert (
        "| 50 % gained at 100 us, burst | `faster` in 49 of 50 | 49 of 50, median 50.00 % |" in text
    )
    assert summary([], [], [gained] * 48 + [unclear] * 2)[1] == (False, True)


# tests/bench/settling.py: the time a device takes to settle, from a session's turns.

sys.path.append(str(ROOT / "tests" / "bench"))
CALL_US = 500.0


def turn(regime, over_frac, constant_ms, length_ms=200):
    """A turn whose calls start slower by a share that decays."""
    samples, now_ms = [], 0.0
    while now_ms < length_ms:
        samples.append(CALL_US * (1 + over_frac * math.exp(-now_ms / constant_ms)))
        now_ms += samples[-1] * 2 / 1e3
    payload = {"samples_us": samples, "calls_per_sample": 2} | (
        {"regime": regime} if regime else {}
    )
    return {"type": "turn_measured", "payload": payload}


@pytest.fixture(params=[False, True], ids=["plain", "packed"])
def session(tmp_path, request):
    events = [turn("sustained", over, 10) for over in (0.1, 0.2, 0.3)]
    events += [{"type": "note", "payload": {"text": "x"}}, turn(None, 5.0, 100)]
    lines = "".join(json.dumps(event) + "\n" for event in events)
    if request.param:
        (tmp_path / "events.jsonl.gz").write_bytes(gzip.compress(lines.encode()))
    else:
        (tmp_path / "events.jsonl").write_text(lines)
    return tmp_path


def test_the_curve_of_sustained_turns_alone(session):
    import settling

    rows = settling.curve(session, 10)
    assert [row["ms"] for row in rows][:3] == [0, 10, 20]
    assert all(row["turns"] == 3 for row in rows[:15])
    # The median turn starts 20 % slower: within the first 10 ms e^-t/10 has a median of e^-0.5.
    assert rows[0]["median_frac"] == pytest.approx(0.2 * math.exp(-0.5), rel=0.1)
    assert rows[0]["p10_frac"] == pytest.approx(0.1 * math.exp(-0.5), rel=0.1)
    assert rows[6]["median_frac"] < 0.001 < rows[4]["median_frac"]


def test_a_session_without_such_turns_is_an_error(tmp_path, monkeypatch, capsys):
    import settling

    (tmp_path / "events.jsonl").write_text(json.dumps(turn(None, 1.0, 10)) + "\n")
    monkeypatch.setattr(sys, "argv", ["settling.py", str(tmp_path)])
    with pytest.raises(SystemExit):
        settling.main()
    assert "sustained" in capsys.readouterr().err
