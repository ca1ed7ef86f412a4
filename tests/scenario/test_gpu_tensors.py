"""Variants called on PyTorch's CUDA tensors, and an exported package with its own tests (graph,
torch.compile, current stream). Skipped without a GPU, nvcc or PyTorch; WB_REQUIRE_GPU makes that a
failure. WB_REQUIRE_GPU=1 pytest tests/scenario/test_gpu_tensors.py, with WB_BUILD_DIR of a tree
with WB_PYTHON=ON; without a build folder, the installed package (package_of)."""

import importlib
import os
import subprocess
import sys

import pytest
from support.commands import ROOT, package_of
from test_gpu import KERNEL, why_no_gpu

PROBLEM = "B=2 Hq=4 Hkv=2 Sq=130 Skv=200 D=64 f16"


def why_not():
    why = why_no_gpu()
    if why:
        return why
    try:
        torch = importlib.import_module("torch")
    except ImportError as fault:
        return str(fault)
    return "" if torch.cuda.is_available() else "PyTorch sees no GPU"


@pytest.fixture(autouse=True)
def gpu():
    why = why_not()
    if why and os.environ.get("WB_REQUIRE_GPU"):
        pytest.fail(why)
    if why:
        pytest.skip(f"no GPU for PyTorch: {why}")


@pytest.fixture
def judged(wb):
    """A session `s` that judged the kernel."""
    wb.run("open", "--start", KERNEL, "--problem", PROBLEM, "--rivals", "none", "--effort", "quick",
           "--session", "s", check=0, timeout=600)  # fmt: skip
    return wb


def test_exported_operator_passes_its_own_tests(judged):
    judged.json("export", KERNEL, "--session", "s", "--torch", "--output", "t")
    folder = judged.folder / "t"
    subprocess.run([sys.executable, "setup.py", "-q", "build_ext", "--inplace"], cwd=folder,
                   check=True, timeout=540)  # fmt: skip
    env = os.environ | {"PYTHONPATH": str(folder)}
    done = subprocess.run([sys.executable, "-m", "pytest", "-q", "test_op.py"], cwd=folder, env=env,
                          capture_output=True, text=True, timeout=540)  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert "skipped" not in done.stdout


def test_tensors_on_the_current_stream(judged, build):
    import torch

    package = package_of(build)
    with package.Workbench(path=[ROOT], cache=judged.cache) as bench:
        session = judged.folder / "s"
        variant = package.tensors.load(KERNEL, session=session, workbench=bench)
        q = torch.randn(2, 4, 130, 64, device="cuda", dtype=torch.float16)
        k, v = (torch.randn(2, 2, 200, 64, device="cuda", dtype=torch.float16) for _ in "kv")
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            torch.cuda._sleep(50_000_000)
            q.mul_(0.5)  # only what is enqueued behind it sees it
            out = variant(q, k, v)
        stream.synchronize()
        want = torch.nn.functional.scaled_dot_product_attention(q, k, v, enable_gqa=True)
        torch.testing.assert_close(out, want, atol=4e-3, rtol=4e-3)
        with pytest.raises(package.tensors.DeviceError):
            variant(q.cpu(), k.cpu(), v.cpu())
        with pytest.raises(package.tensors.LayoutError, match="256"):
            variant(q[:, :, 1:], k, v)
        dispatch = package.tensors.Dispatch(workbench=bench)
        torch.testing.assert_close(
            dispatch(q[:, :, 1:], k, v), want[:, :, 1:], atol=4e-3, rtol=4e-3
        )
        assert dispatch.last.is_fallback
