"""Which nvcc the build takes for the worker's device code, with scripts in its place."""

import shutil
import subprocess

import pytest
from support.commands import ROOT

REFUSES = """
echo "In file included from cuda_runtime.h:83" >&2
echo "host_config.h:135: error: #error -- unsupported GNU version! gcc versions later" >&2
exit 1
"""


@pytest.fixture
def configure(tmp_path):
    """Configures a project of one line twice; returns what cmake said and nvcc's calls."""
    if shutil.which("cmake") is None:
        pytest.skip("no cmake")
    (tmp_path / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.25)\nproject(trial NONE)\n"
        f"include({ROOT}/cmake/WbDeviceCode.cmake)\n"
        'wb_find_nvcc(version targets about)\nmessage(STATUS "found <${version}>")\n'
    )

    def run(body, *options, version="13.0"):
        nvcc = tmp_path / "nvcc"
        nvcc.write_text(
            f'#!/bin/sh\necho "$*" >> {tmp_path}/calls\ncase "$*" in\n'
            f"*--version*) echo 'tools, release {version}, V{version}.88'; exit 0;;\n"
            f"*--list-gpu-code*) echo sm_100; exit 0;;\nesac\n{body}\n"
        )
        nvcc.chmod(0o755)
        said = ""
        for _ in range(2):
            done = subprocess.run(
                ["cmake", "-B", tmp_path / "build", "-S", tmp_path, f"-DWB_NVCC={nvcc}", *options],
                capture_output=True,
                text=True,
            )
            said = done.stdout + done.stderr
        calls = (tmp_path / "calls").read_text() if (tmp_path / "calls").exists() else ""
        return done.returncode, " ".join(said.split()), calls.count("-fatbin")

    return run


def test_an_nvcc_that_compiles_is_tried_once(configure):
    code, said, trials = configure("exit 0")
    assert code == 0
    assert "found <13.0>" in said
    assert trials == 1


def test_an_nvcc_that_refuses_its_host_compiler_leaves_device_code_out(configure):
    code, said, trials = configure(REFUSES)
    assert code == 0
    assert "without device code" in said
    assert "unsupported GNU version" in said
    assert "found <>" in said
    assert trials == 1


def test_one_that_must_compile_and_does_not_stops_the_build(configure):
    code, said, _ = configure(REFUSES, "-DWB_CUDA=ON")
    assert code != 0
    assert "unsupported GNU version" in said


def test_an_old_nvcc_is_passed_over(configure):
    code, said, trials = configure("exit 0", version="12.3")
    assert code == 0
    assert "no nvcc of CUDA 12.4 or newer" in said
    assert trials == 0
