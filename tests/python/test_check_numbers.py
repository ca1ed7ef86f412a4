# SPDX-License-Identifier: MIT
"""The rule that no source goes by the locale: what it finds, and what it leaves alone."""

import pytest
from test_ci_scripts import script

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
