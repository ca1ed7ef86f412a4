# SPDX-License-Identifier: MIT
"""The checks of .ci find what they are for: each planted violation is reported, and what keeps the
rules is left alone."""

import shutil
import subprocess
import sys

import pytest
from support.commands import ROOT
from test_ci_scripts import script


def run_check(script, folder):
    return subprocess.run(
        [sys.executable, str(ROOT / ".ci" / script), str(folder)], capture_output=True, text=True
    )


@pytest.fixture
def copy(tmp_path):
    shutil.copytree(ROOT / "workbench", tmp_path / "workbench")
    (tmp_path / "docs").mkdir()
    shutil.copy(ROOT / "docs" / "architecture.md", tmp_path / "docs")
    return tmp_path


def test_the_tree_is_clean(copy):
    done = run_check("check_layers.py", copy)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("module", "line"),
    [
        ("measure", '#include "engine/engine.hpp"'),
        ("problem", '#include "device/device.hpp"'),
        ("engine", "#include <git2.h>"),
        ("cli", "#include <lua.hpp>"),
        ("report", "#include <md4c.h>"),
        ("runner", "#include <cuda.h>"),
        ("engine", 'auto x = std::getenv("HOME");'),
        ("variant", '#include "../../kernels/common/sdpa_abi.h"'),
        ("variant", "namespace wb {"),
        ("variant", "namespace wb::engine {"),
    ],
)
def test_planted_violations_are_found(copy, module, line):
    (copy / "workbench" / module / "planted.cpp").write_text(line + "\n")
    done = run_check("check_layers.py", copy)
    assert done.returncode == 1
    assert "planted.cpp:1" in done.stderr


def test_only_types_of_lower_modules_may_be_declared(copy):
    def planted(module, text):
        (copy / "workbench" / module / "planted.hpp").write_text(text)
        done = run_check("check_layers.py", copy)
        (copy / "workbench" / module / "planted.hpp").unlink()
        return done.stderr

    declared = "// a\nnamespace wb::session {\nclass Session;  // session.hpp\n}\n"
    assert planted("engine", declared) == ""
    assert "planted.hpp:2: measure stands in" in planted("measure", declared)
    defined = declared.replace("Session;", "Session {};")
    assert "planted.hpp:2: engine stands in" in planted("engine", defined)


def test_a_header_with_functions_has_a_source_of_its_name(copy):
    planted = copy / "workbench" / "variant" / "planted.hpp"
    for text in ("int planted(int a);\n", "struct Planted {\n  int made();\n};\n"):
        planted.write_text(text)
        other = copy / "workbench" / "variant" / "other.cpp"
        other.write_text("int Planted::made() {\n  return 1;\n}\n")
        done = run_check("check_layers.py", copy)
        assert done.returncode == 1
        assert (
            "variant/planted.hpp: it declares functions, but there is no planted.cpp" in done.stderr
        )
        other.rename(planted.with_suffix(".cpp"))
        assert run_check("check_layers.py", copy).returncode == 0
        planted.with_suffix(".cpp").unlink()
    planted.write_text("struct Planted {\n  int made() { return 1; }\n};\n")
    assert run_check("check_layers.py", copy).returncode == 0
    (copy / "workbench" / "report" / "summary.cpp").touch()
    done = run_check("check_layers.py", copy)
    assert "report/summary.hpp: needs no exception in WITHOUT_SOURCE" in done.stderr


def test_a_header_that_too_many_sources_include_is_found(copy):
    assert "depend on it" not in run_check("check_layers.py", copy).stderr
    header = copy / "workbench" / "verbs" / "verb.hpp"
    header.write_text(header.read_text() + '#include "engine/context.hpp"\n')
    done = run_check("check_layers.py", copy)
    assert done.returncode == 1
    assert "engine/context.hpp: " in done.stderr
    assert "sources depend on it, at most 36 may" in done.stderr


def test_a_documentation_that_lies_is_found(copy):
    page = copy / "docs" / "architecture.md"
    page.write_text(page.read_text().replace("| 9 | `engine` |", "| 7 | `engine` |"))
    done = run_check("check_layers.py", copy)
    assert done.returncode == 1
    assert "floor table" in done.stderr


def commit(folder, subject):
    words = ["git", "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "--allow-empty"]
    subprocess.run([*words, "-m", subject], cwd=folder, check=True)
    return subprocess.run(
        ["git", "rev-parse", "HEAD"], cwd=folder, check=True, capture_output=True, text=True
    ).stdout.strip()


def test_a_long_subject_is_reported(tmp_path):
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    commit(tmp_path, "x" * 200)
    since = commit(tmp_path, "an old one is let be")
    (tmp_path / ".ci").mkdir()
    (tmp_path / ".ci" / "subjects_since").write_text(since + "\n")
    commit(tmp_path, "x" * 72)
    assert run_check("check_subjects.py", tmp_path).returncode == 0
    long = commit(tmp_path, "x" * 73)
    done = run_check("check_subjects.py", tmp_path)
    assert done.returncode == 1
    assert done.stderr.startswith(long[:7])
    assert "73 characters" in done.stderr
    (tmp_path / ".ci" / "subjects_since").write_text("0" * 40 + "\n")
    done = run_check("check_subjects.py", tmp_path)
    assert done.returncode == 1
    assert "no commit before this one" in done.stderr


# The rule that no source goes by the locale: what it finds, and what it leaves alone.

ALL = ("reads", "integers", "writes", "letters", "streams")
WRONG = {
    "double x = std::stod(text);": "stod",
    "x = strtod (text, &end);": "strtod",
    "n = std::stoi(text);": "stoi",
    'sscanf(line, "%d", &n);': "sscanf",
    "text += std::to_string(x);": "std::to_string",
    "if (std::isalpha(c) != 0) return;": "std::isalpha",
    "std::transform(b, e, o, ::tolower);\n#include <cctype>": "<cctype>",
    "std::ostringstream out;": "std::ostringstream",
    'std::setlocale(LC_ALL, "");': "setlocale",
    'std::fprintf(stderr, "%s %8.3f", name, x);': "printf",
    'snprintf(text, size,\n         "%lg", x);': "printf",
    'fmt::format("{:.3Lf}", x);': None,
    'fmt::format("{:L}", x);': None,
}
RIGHT = [
    "ascii::number<double>(text)",
    'fmt::format("{:.3f} {}", x, fmt::to_string(n))',
    'std::fprintf(stderr, "%s: 100%% of %d\\n", name, n);',
    "// std::stod goes by the locale",
    "/* std::isalpha,\n   too */ int x = 1;",
    "restore(text); to_string(kind); custom_scan(f);",
    'fmt::format("{}: L", x);',
]


@pytest.fixture
def rule():
    return script("check_numbers")


@pytest.mark.parametrize("source", WRONG)
def test_what_goes_by_the_locale_is_found(rule, source):
    found = list(rule.faults("int a;\n" + source, ALL))
    assert found, source
    if WRONG[source]:
        assert any(WRONG[source].split("::")[-1] in why for _, why in found)
    assert all(line >= 2 for line, _ in found)
    assert all("goes by the locale: " in why for _, why in found)


@pytest.mark.parametrize("source", RIGHT)
def test_what_knows_no_locale_is_left_alone(rule, source):
    assert list(rule.faults(source, ALL)) == []


def test_each_place_has_its_rules_and_the_line_is_named(rule, tmp_path, capsys):
    (tmp_path / "workbench" / "core").mkdir(parents=True)
    (tmp_path / "kernels").mkdir()
    (tmp_path / "workbench" / "core" / "a.cpp").write_text("\n\nauto x = std::stod(t);\n")
    (tmp_path / "kernels" / "k.hpp").write_text("return std::to_string(n);\n")  # without fmt
    assert rule.main(tmp_path) == 1
    assert capsys.readouterr().out.splitlines() == [
        "workbench/core/a.cpp:3: stod goes by the locale: "
        "read it with ascii::number or std::from_chars"
    ]
    (tmp_path / "workbench" / "core" / "a.cpp").unlink()
    assert rule.main(tmp_path) == 0


def test_the_tree_keeps_the_rule(rule, capsys):
    assert rule.main(rule.Path(rule.__file__).resolve().parents[1]) == 0, capsys.readouterr().out
