# SPDX-License-Identifier: MIT
"""What CI's own scripts say: the table of .ci/run; make test-long, which can be stopped; and that
what tests/long.txt names is there, left out by `make test` and run by `make test-long`. Which nvcc
the build takes for the worker's device code, with scripts in its place."""

import importlib.util
import json
import re
import shutil
import subprocess
import sys

import pytest
from support.commands import ROOT


def script(name):
    if not (ROOT / ".ci").is_dir():
        pytest.skip("no .ci here")
    spec = importlib.util.spec_from_file_location(f"ci_{name}", ROOT / ".ci" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


JUNIT = """<testsuites><testsuite>
<testcase classname="tests.python.test_a" name="test_fast" time="0.5"/>
<testcase classname="tests.python.test_a" name="test_slow" time="7.25"><failure/></testcase>
<testcase classname="tests.python.test_a" name="test_none" time="0"><skipped/></testcase>
<testcase classname="tests.python.test_a" name="test_often" time="1">
<system-out>a word
rate: cheats found: 48 of 50
</system-out></testcase></testsuite></testsuites>"""


def test_the_table_of_a_run_has_stages_hits_and_slowest_tests(tmp_path, capsys):
    log = "direct_cache_hit\npreprocessed_cache_hit\ncache_miss\n"
    (tmp_path / "ccache").write_text(log)
    (tmp_path / "stages").write_text(f"100\t0\tchecks\n104\t0\tbuild\n160\t{len(log)}\ttests\n")
    reports = tmp_path / "build" / "Testing"
    reports.mkdir(parents=True)
    (reports / "pytest_1.xml").write_text(JUNIT)
    script("summary").main(tmp_path / "stages", tmp_path / "ccache", tmp_path / "build")
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["checks", "4"] in lines
    assert ["build", "56", "2/3"] in lines
    assert lines[-4:][0] == ["7.2", "tests/python/test_a.py::test_slow"]


@pytest.fixture
def long(tmp_path, monkeypatch):
    """The script over a tree of its own: two parts, of which one fails until `mended` is there."""
    module = script("long")
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "testing.md").write_text(
        f"before\n{module.BEGIN}\nold\n{module.END}\nafter\n"
    )
    (tmp_path / "junit.xml").write_text(JUNIT.replace("<failure/>", ""))
    write = "import pathlib, shutil, sys; pathlib.Path('ran').open('a').write(sys.argv[1])"

    def parts(build, report):
        copies = f"{write}; shutil.copy('junit.xml', {str(report)!r})"
        mends = f"{write}; sys.exit(not pathlib.Path('build/mended').exists())"
        return {"first": [sys.executable, "-c", copies, "1"],
                "second": [sys.executable, "-c", mends, "2"]}  # fmt: skip

    monkeypatch.setattr(module, "ROOT", tmp_path)
    monkeypatch.setattr(module, "parts", parts)
    monkeypatch.setattr(module, "state_of", lambda root: "here")
    return module


def test_the_long_tier_goes_on_where_it_was(long, tmp_path, capsys):
    page = tmp_path / "docs" / "testing.md"
    assert long.main(tmp_path / "build") == 1
    assert (tmp_path / "ran").read_text() == "12"
    assert "old" in page.read_text()
    assert capsys.readouterr().out.rstrip().endswith("second")
    (tmp_path / "build" / "mended").touch()
    assert long.main(tmp_path / "build") == 0
    assert (tmp_path / "ran").read_text() == "122", "what passed is not run again"
    text = page.read_text()
    assert text.startswith("before\n")
    assert text.endswith("\nafter\n")
    assert "old" not in text
    assert "| first | 3 of 3 | | 1 |" in text
    # Wilson's interval: (48 + 1.92 ∓ 1.96 √(48·2/50 + 0.96)) / 53.84
    assert "| · cheats found | 48 of 50 | 0.865 to 0.989 | | |" in text
    assert "| second | 1 of 1 |" in text


def test_what_changed_is_run_again(tmp_path):
    module = script("long")
    module.subprocess.run(["git", "init", "-q", tmp_path], check=True)
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "testing.md").write_text("a table")
    (tmp_path / "code.cpp").write_text("1")
    before = module.state_of(tmp_path)
    (tmp_path / "docs" / "testing.md").write_text("another table")
    assert module.state_of(tmp_path) == before
    (tmp_path / "code.cpp").write_text("2")
    assert module.state_of(tmp_path) != before


# What tests/long.txt names is there, `make test` leaves it out and `make test-long` runs it.

LINES = [
    line for line in (ROOT / "tests" / "long.txt").read_text().splitlines()
    if line and not line.startswith("#")
]  # fmt: skip
UNIT = re.compile(r"(unit_\w+): (.+)")


def cases(test):
    """The names of the cases that a ctest of Catch2 runs; --list-test-names-only exits with their
    number."""
    done = subprocess.run(
        [*test["command"], "--list-test-names-only"], capture_output=True, text=True, timeout=60
    )
    assert not done.stderr, done.stderr
    return set(filter(None, done.stdout.splitlines()))


@pytest.fixture(scope="module")
def tests(build):
    if not shutil.which("ctest") or not (build / "CTestTestfile.cmake").exists():
        pytest.skip(f"no ctest of {build}")
    done = subprocess.run(
        ["ctest", "--test-dir", build, "--show-only=json-v1"],
        capture_output=True, text=True, check=True, timeout=60,
    )  # fmt: skip
    return {test["name"]: test for test in json.loads(done.stdout)["tests"]}


def labels(test):
    return {
        one for entry in test["properties"] if entry["name"] == "LABELS" for one in entry["value"]
    }


def test_every_line_is_a_test():
    for line in LINES:
        named = line.startswith("unit_") or (ROOT / line.partition("::")[0]).is_file()
        assert named, f"tests/long.txt: {line}: no unit test and no file"
    assert len(set(LINES)) == len(LINES)


def test_cases_are_run_by_the_long_test_alone(tests):
    wanted = {}
    for line in LINES:
        if match := UNIT.fullmatch(line):
            wanted.setdefault(match[1], set()).add(match[2])
        elif line.startswith("unit_"):
            assert "long" in labels(tests[line]), line
    assert wanted
    for module, names in wanted.items():
        assert cases(tests[module + "_long"]) == names
        assert "long" in labels(tests[module + "_long"])
        others = cases(tests[module])
        assert others
        assert not others & names
        assert "long" not in labels(tests[module])
    named = set(LINES) | {module + "_long" for module in wanted}
    assert {name for name, test in tests.items() if "long" in labels(test)} <= named


# Which nvcc the build takes.

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
