"""What tests/long.txt names is there, `make test` leaves it out and `make test-long` runs it."""

import json
import re
import shutil
import subprocess

import pytest
from support.commands import ROOT

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
