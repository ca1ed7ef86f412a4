# SPDX-License-Identifier: MIT
"""table.json is whole, and the page prints it."""

from gauntlet import CASES, KERNELS, SUBJECTS, TABLE

# What only other tests drive (docs/results/hostile.md).
WITHOUT_A_CASE = {
    "behaves_when_watched",
    "waits_on_purpose",
    "remembers_in_allowance",
    "py_remembers",
}


def test_every_fault_has_its_row():
    """36 faults, 20 compiler bombs, 14 cheats; every row says what becomes of it."""
    count = {group: 0 for group in ("fault", "compiler", "cheat", "agent", "more")}
    for row in TABLE["rows"]:
        count[row["group"]] += 1
        assert ("case" in row) != ("not_on_cpu" in row), row
        assert row.get("case") in {None, *CASES}, row
    assert count["fault"] == 36
    assert count["compiler"] >= 20
    assert count["cheat"] == 14
    assert count["agent"] >= 34
    assert {row.get("case") for row in TABLE["rows"]} >= set(CASES)


def test_the_pages_print_the_table():
    from hostile_page import pages, render, render_gpu

    made = pages()
    assert [page.name for page in made] == ["hostile.md", "hostile_gpu.md"]
    for rows, (page, text) in zip((render(TABLE), render_gpu(TABLE)), made.items(), strict=True):
        assert rows in text
        assert text == page.read_text(), "regenerate it: python3 tests/hostile/hostile_page.py"


def test_every_source_has_its_case():
    named = {case.get("file", case["name"]) for case in CASES.values()}
    assert {*KERNELS, *SUBJECTS} == named | WITHOUT_A_CASE
