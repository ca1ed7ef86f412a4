# SPDX-License-Identifier: MIT
"""Exported packages: their own tests pass against this PyTorch, they say what was proved, and their
domain is the workbench's. The operator is compiled once a test run (a minute or two)."""

import ctypes
import hashlib
import json
import os
import random
import re
import shutil
import subprocess
import sys

import pytest
from support.commands import Workbench
from support.logs import events

PROBLEM = "B=2 Hq=4 Hkv=2 Sq=130 Skv=200 D=64 f32;B=1 Hq=2 Sq=64 D=32 f16"


@pytest.fixture(scope="module")
def judged(build, cache, tmp_path_factory):
    """The command in a folder with a session `s` that judged cpu_tiled."""
    wb = Workbench(build / "sdpa-wb", tmp_path_factory.mktemp("export"), cache)
    wb._open_small("s", {})
    assert wb.json("check", "cpu_tiled", "--session", "s", "--problem", PROBLEM)["pass"]
    return wb


@pytest.fixture(scope="module")
def torch_package(judged):
    pytest.importorskip("torch")
    judged.json("export", "cpu_tiled", "--session", "s", "--torch", "--output", "t")
    folder = judged.folder / "t"
    words = [sys.executable, "setup.py", "-q", "build_ext", "--inplace"]
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, timeout=540)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


def run_tests(folder, *more, timeout=540):
    env = os.environ | {"PYTHONPATH": str(folder), "PYTEST_ADDOPTS": ""}
    words = [sys.executable, "-m", "pytest", "-q", "test_op.py", "-p", "no:cacheprovider", *more]
    return subprocess.run(
        words, cwd=folder, env=env, capture_output=True, text=True, timeout=timeout
    )


def test_the_package_passes_its_own_tests(torch_package):
    """opcheck, torch.compile, fallback and counter, refused gradients, results in float64."""
    done = run_tests(torch_package, "-rs")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "2 skipped" in done.stdout  # those of a GPU
    assert "test_opcheck" not in done.stdout


def test_no_function_of_ours_writes_through_a_stream(torch_package):
    """By its machine code: PyTorch's headers may (their own assertions), our functions must not.
    Beside a second C++ library the first number in a stream ends the process
    (docs/guide/export.md)."""
    (library,) = (torch_package / "cpu_tiled_op").glob("_op*.so")
    words = ["objdump", "-d", "--no-show-raw-insn", library]
    code = subprocess.run(words, check=True, capture_output=True, text=True).stdout
    ours, wrong, function = set(), set(), None
    for line in code.splitlines():
        if heading := re.match(r"[0-9a-f]+ <(.+)>:$", line):
            function = re.match(r"_ZNK?(9wb_export|12_GLOBAL__N_1)\w+", heading.group(1))
            ours.add(function.group() if function else "")
        elif function and re.search(r"<\w*(stream|ios_base|RSo|_ZNSo|_str_wrapper)", line):
            wrong.add(function.group() + line.partition("<")[2])
    assert any("wb_export7Variant3run" in name for name in ours)
    assert any("7forward" in name for name in ours)
    assert not wrong


def test_another_library_falls_back_and_says_so(torch_package, tmp_path):
    """What lies beside the operator and is not what passed is never called."""
    folder = tmp_path / "t"
    shutil.copytree(torch_package, folder)
    library = folder / "cpu_tiled_op" / "kernel.so"
    facts = json.loads((folder / "PROVENANCE.json").read_text())
    was = facts["artifact"]["artifact_id"].encode()
    library.write_bytes(library.read_bytes().replace(was, b"0" * 64))
    code = (
        "import torch, cpu_tiled_op as op\n"
        "q = torch.randn(1, 2, 8, 64)\nout = op.sdpa(q, q, q)\n"
        "want = torch.nn.functional.scaled_dot_product_attention(q, q, q)\n"
        "torch.testing.assert_close(out, want)\nprint(op.counts(), op.last_reason())\n"
    )
    env = os.environ | {"PYTHONPATH": str(folder), "PYTEST_ADDOPTS": ""}
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "'fallback': 1" in done.stdout
    assert "is not the artifact that passed" in done.stdout


def test_provenance_is_what_the_session_says(judged):
    folder = judged.folder / "p"
    answer = judged.json("export", "cpu_tiled", "--session", "s", "--torch", "--output", "p",
                         "--name", "mine")  # fmt: skip
    facts = json.loads((folder / "PROVENANCE.json").read_text())
    assert facts == json.loads((folder / "mine" / "PROVENANCE.json").read_text())
    assert sorted(answer["files"]) == sorted(
        str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()
    )
    log = {event["seq"]: event for event in events(judged.folder / "s")}
    assert facts["verdicts"]
    for verdict in facts["verdicts"]:
        event = log[verdict["event"]]
        assert event["type"] == "verdict_given"
        assert event["payload"]["outcome"] == "pass"
        assert event["payload"]["problem"] == verdict["problem"]
        assert event["payload"]["subject"] == facts["artifact"]["label"]
    library = (folder / "mine" / "kernel.so").read_bytes()
    assert hashlib.sha256(library).hexdigest() == facts["artifact"]["sha256"]
    assert facts["artifact"]["artifact_id"].encode() in library
    for path, digest in facts["variant"]["sources"].items():
        assert hashlib.sha256((folder / path).read_bytes()).hexdigest() == digest
    assert facts["session"]["name"] == "s"
    assert facts["environment"]["device"]["name"]
    assert facts["versions"]["workbench"]


@pytest.fixture(scope="module")
def c_package(judged):
    judged.json("export", "cpu_tiled", "--session", "s", "--c", "--output", "c")
    return judged.folder / "c"


def test_c_package_builds_and_loads(c_package):
    for words in (["-B", "build"], ["--build", "build"]):
        subprocess.run(["cmake", *words], cwd=c_package, check=True, capture_output=True)
    done = subprocess.run(["ctest", "--test-dir", "build"], cwd=c_package, capture_output=True,
                          text=True)  # fmt: skip
    assert done.returncode == 0, done.stdout


def test_the_packages_domain_is_the_workbenchs(judged, c_package, package):
    """wb_outside() beside `proof` on problems in and out of the domain."""
    from sdpa_workbench import _tensor_abi as abi

    source = c_package / "domain.c"
    source.write_text('#include "wb_domain.h"\nconst char* outside(const wb_sdpa_problem* p) '
                      "{ return wb_outside(p); }\n")  # fmt: skip
    subprocess.run(["cc", "-shared", "-fPIC", "-Wall", "-Wextra", "-Werror", "-Iinclude",
                    "domain.c", "-o", "domain.so"], cwd=c_package, check=True)  # fmt: skip
    outside = ctypes.CDLL(str(c_package / "domain.so")).outside
    outside.restype = ctypes.c_char_p
    draw, seen = random.Random(3), set()
    with package.Workbench(cache=judged.cache) as bench:
        for _ in range(60):
            rows, keys = draw.choice([1, 60, 130, 131]), draw.choice([1, 129, 200, 201])
            width, kv_heads = draw.choice([32, 64, 65]), draw.choice([1, 2])
            dtype, layout = draw.choice(["f32", "f16", "bf16"]), draw.choice(["BHSD", "BSHD"])
            causal, mask = draw.choice(list(abi.CAUSAL)), draw.choice(list(abi.MASKS))
            words = {"none": "", "bool": "mask=bool:0.5", "additive": "mask=additive"}[mask]
            text = (f"B=1 Hq=2 Hkv={kv_heads} Sq={rows} Skv={keys} D={width} {dtype} "
                    f"causal={causal} layout={layout} {words}")  # fmt: skip
            problem = abi.Problem(
                struct_size=ctypes.sizeof(abi.Problem), abi_version=abi.ABI_VERSION,
                dtype=abi.DTYPES[dtype], causal=abi.CAUSAL[causal], mask=abi.MASKS[mask], batch=1,
                heads_q=2, heads_kv=kv_heads, seq_q=rows, seq_kv=keys, dim=width, dim_v=width,
                device=-1,
            )  # fmt: skip
            for name, heads, length in (("q", 2, rows), ("k", kv_heads, keys),
                                        ("v", kv_heads, keys)):  # fmt: skip
                bshd = layout == "BSHD"
                setattr(problem, name, abi.Strides(heads * length * width,
                                                   width if bshd else length * width,
                                                   heads * width if bshd else width))  # fmt: skip
            proof = bench.call("proof", {"variant": "cpu_tiled", "problem": text},
                               session=judged.folder / "s")  # fmt: skip
            reason = outside(ctypes.byref(problem))
            assert (reason is None) == proof["takes"], (text, reason, proof["reason"])
            seen.add(proof["takes"])
    assert seen == {True, False}


def test_what_cannot_be_exported_is_named(judged):
    def refused(*words, code):
        done = judged.run("export", "--session", "s", *words)
        assert done.returncode != 0
        assert code in done.stderr, done.stderr

    refused("cpu_tiled", code="give one of --torch and --c")
    refused("cpu_tiled", "--torch", "--c", code="give one of --torch and --c")
    refused("cpu_online", "--c", code="never built it")
    refused("cpu_tiled", "--c", "--name", "No Name", code="a name is")
    full = judged.folder / "full"
    full.mkdir()
    (full / "mine.txt").write_text("kept")
    refused("cpu_tiled", "--c", "--output", "full", code="something lies there already")
    assert [path.name for path in full.iterdir()] == ["mine.txt"]
