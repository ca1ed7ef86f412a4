"""docs/results/reliability.md prints what was recorded, and what was recorded passed."""

import pytest
from torture_page import PAGE, PLAN, latest, latest_soak, pages, render

pytestmark = pytest.mark.skipif(latest() is None, reason="nothing recorded yet: make torture")


def test_the_page_prints_the_record():
    assert render(latest(), latest_soak()) in PAGE.read_text()
    assert pages() == {PAGE: PAGE.read_text()}, (
        "regenerate it: python3 tests/torture/torture_page.py"
    )


def test_the_record_is_of_the_whole_plan():
    record = latest()
    assert record["whole"] is True
    assert record["failed"] == []
    assert {row["row"] for row in record["rows"]} == set(PLAN)
    for row in record["rows"]:
        assert row["passed"] == row["tried"], row
        assert row["tried"] > 0 or row["skipped"], row


def test_the_soak_lost_nothing():
    soak = latest_soak()
    if soak is None:
        pytest.skip("nothing recorded yet: make soak")
    assert soak["processes_left"] == soak["files_left"] == []
    assert (soak["zombies"], soak["kills"]) == (0, 3)
    # What it missed otherwise stands on the page.
    assert all(fault in PAGE.read_text() for fault in soak["faults"])
