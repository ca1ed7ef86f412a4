# SPDX-License-Identifier: MIT
"""Inputs from a seed: numpy reproduces the golden hashes, PyTorch sees the same values."""

import json
import pathlib

import numpy as np
import philox_inputs
import pytest

GOLDEN = pathlib.Path(__file__).resolve().parents[1] / "data" / "inputs_golden.json"
CASES = json.loads(GOLDEN.read_text())["cases"]


def case_id(case: dict) -> str:
    return f"{case['problem']} seed {case['seed']} {case['draw']}"


@pytest.mark.parametrize(
    ("counter", "tensor", "seed", "words"),
    [
        (0, 0, 0, [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]),
    ],
)
def test_philox_known_answer(counter, tensor, seed, words):
    result = philox_inputs.philox(seed, tensor, np.array([counter], dtype=np.uint64))
    assert result[0].tolist() == words


@pytest.mark.parametrize("case", CASES, ids=case_id)
def test_golden_hashes(case):
    problem = philox_inputs.parse_problem(case["problem"])
    assert philox_inputs.hashes(problem, case["seed"], case["draw"]) == case["sha256"]


def test_values_have_the_promised_distribution():
    drawn = philox_inputs.values(3, philox_inputs.Q, 200_000)
    assert np.abs(drawn).max() <= 4
    assert abs(drawn.mean()) < 0.02
    assert abs(drawn.std() - 1.1547) < 0.01


@pytest.mark.parametrize("case", CASES, ids=case_id)
def test_torch_sees_the_same_values(case):
    """The bytes, taken as torch tensors and rounded by torch itself, are the same elements."""
    torch = pytest.importorskip("torch", reason="PyTorch is not importable")
    problem = philox_inputs.parse_problem(case["problem"])
    inputs = philox_inputs.make_inputs(problem, case["seed"], case["draw"])
    dtype = {"f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16}[problem.dtype]
    factor = 4.0 if case["draw"] in ("large", "low") else 1.0
    exact = philox_inputs.values(case["seed"], philox_inputs.Q, inputs["q"].size) * factor
    if case["draw"] == "low":
        exact = np.abs(exact)
    rounded = torch.from_numpy(exact.astype(np.float32)).to(dtype)
    stored = torch.frombuffer(bytearray(inputs["q"].tobytes()), dtype=dtype)
    shape = inputs["q"].shape
    if problem.layout == "BSHD":
        stored = stored.reshape(shape).transpose(1, 2).reshape(-1)
    assert torch.equal(stored, rounded)
