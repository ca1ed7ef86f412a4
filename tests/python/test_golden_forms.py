# SPDX-License-Identifier: MIT
"""What other implementations must agree on: the package's ctypes form of the kernel ABI beside the
header, field by field; and inputs from a seed, whose golden hashes numpy reproduces and whose
values PyTorch sees."""

import ctypes
import json
import pathlib
import subprocess

import numpy as np
import philox_inputs
import pytest
from support.commands import ROOT


def test_the_packages_structs_are_the_headers(package, tmp_path):
    from sdpa_workbench import _tensor_abi as abi

    structs = {"wb_sdpa_problem": abi.Problem, "wb_sdpa_args": abi.Args, "wb_strides": abi.Strides}
    ours, lines = [], []
    for name, struct in structs.items():
        ours.append(ctypes.sizeof(struct))
        lines.append(f"sizeof({name})")
        for field, *_ in struct._fields_:
            member = field.rstrip("_")  # `pass` is a word of Python
            ours += [getattr(struct, field).offset, getattr(struct, field).size]
            lines += [f"offsetof({name}, {member})", f"sizeof((({name}*)0)->{member})"]
    source = tmp_path / "layout.c"
    source.write_text(
        '#include <stdio.h>\n#include "sdpa_abi.h"\nint main(void) {\n'
        + "".join(f'  printf("%zu\\n", {line});\n' for line in lines)
        + "  return 0;\n}\n"
    )
    program = tmp_path / "layout"
    words = ["cc", "-std=c99", "-Wall", "-Wextra", "-Werror", "-I", ROOT / "kernels" / "common",
             source, "-o", program]  # fmt: skip
    subprocess.run(words, check=True)
    theirs = subprocess.run([program], check=True, capture_output=True, text=True).stdout
    assert ours == [int(line) for line in theirs.split()]


def test_dtypes_and_rules_are_the_headers(package):
    from sdpa_workbench import _tensor_abi as abi

    text = (ROOT / "kernels" / "common" / "sdpa_abi.h").read_text()
    tables = {"WB_": abi.DTYPES, "WB_CAUSAL_": abi.CAUSAL, "WB_MASK_": abi.MASKS}
    for prefix, values in tables.items():
        for word, value in values.items():
            assert f"{prefix}{word.upper()} = {value}" in text


# Inputs from a seed: numpy reproduces the golden hashes, PyTorch sees the same values.

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
