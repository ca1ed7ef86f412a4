"""The check of unity batches: a captured call is told, and what only looks like one is not."""

import importlib.util
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / ".ci" / "check_unity.py"

HEADER = "#pragma once\nnamespace wb {\nint found(int at);\nint other(int at, int to = 2);\n}\n"
FIRST = """
#include "outer.hpp"
namespace wb {
namespace {
int found(long at) { return int(at); }
}  // namespace
int first() { return found(1L); }
}  // namespace wb
"""


def told(tmp_path, later, first=FIRST):
    spec = importlib.util.spec_from_file_location("check_unity", SCRIPT)
    check = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(check)
    (tmp_path / "outer.hpp").write_text(HEADER)
    files = [tmp_path / "first.cpp", tmp_path / "later.cpp"]
    for file, text in zip(files, (first, later), strict=True):
        file.write_text(text)
    return check.captured(files)


def body(words, before=""):
    return f'#include "outer.hpp"\nnamespace wb {{\n{before}\nint later() {{ {words} }}\n}}\n'


def test_a_captured_call_is_told_with_both_places(tmp_path):
    (fault,) = told(tmp_path, body("return found(3);"))
    assert "later.cpp:4: found()" in fault
    assert "first.cpp" in fault
    assert "ALONE" in fault


@pytest.mark.parametrize(
    "later",
    [
        body("return found(3);", "namespace { int found(int at) { return at; } }"),
        body("const auto found = [](int at) { return at; }; return found(3);"),
        body("return wb::found(3);"),
        body("return list.found(3) + list->found(3);"),
        body("return found(3, 4);"),
        body("return 3; // found(3)"),
        body('return size("found(3)");'),
        body("return other(3);"),
        body("return found(3);").replace('#include "outer.hpp"', ""),
        body("return found(3);").replace("namespace wb", "namespace elsewhere"),
    ],
    ids=[
        "its own", "a lambda", "qualified", "a member", "other arguments", "a comment", "a text",
        "another name", "nothing else meant", "another namespace",
    ],
)  # fmt: skip
def test_what_only_looks_like_one_is_not(tmp_path, later):
    assert told(tmp_path, later) == []


def test_only_files_before_it_capture(tmp_path):
    assert told(tmp_path, FIRST, body("return found(3);")) == []


def test_other_functions_of_the_file_before_are_no_capture(tmp_path):
    public = FIRST.replace("namespace {", "inline namespace one {")
    assert told(tmp_path, body("return found(3);"), public) == []
