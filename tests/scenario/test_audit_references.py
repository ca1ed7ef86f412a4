"""The five documents that began this project, audited: each fault that is known of them is found,
and no row that is known to be right is flagged. They lie outside of the project, in the folder that
WB_SHARED_DATA names; without them these tests are skipped. What is in the repository plants every
kind of fault anew: tests/unit/audit/checks_test.cpp."""

import json
import os

import pytest
from support.commands import ROOT

SHARED = (ROOT / os.environ.get("WB_SHARED_DATA", "../shared")).resolve() / "documents"
KEPT = ROOT / "sessions" / "audit-of-the-documents.md"

pytestmark = pytest.mark.skipif(
    len(list(SHARED.glob("00*.txt"))) != 5,
    reason="no documents here: WB_SHARED_DATA names no folder with them",
)

# Document, line, check, and words of the finding: the faults that are known.
FAULTS = [
    ("001", 7, "confounding", "by unit of the head dimension"),
    ("001", 83, "caches", "2.5 %"),
    ("001", 86, "caches", "smaller than the cache"),
    ("001", 80, "caches", "64 KB / 128 KB"),
    ("001", 121, "bandwidth", "26 % on a NVIDIA RTX 4000 Ada"),
    ("001", 35, "ridge", "no GPU's ridge point"),
    ("002", 25, "repeated_figures", "55 minutes"),
    ("002", 26, "repeated_figures", "$0.93"),
    ("002", 10, "counts", "7 (line 377) + 5 (line 476) = 12"),
    ("002", 20, "slowdown_claims", "11.12x"),
    ("002", 417, "counts", "7 rows"),
    ("002", 320, "exactness", "0.00195"),
    ("002", 122, "geometry", "three dimensions"),
    ("002", 23, "statements", "split-KV"),
    ("002", 136, "block_counts", "2 -> 4 blocks"),
    ("002", 36, "references", "not warmed up"),
    ("003", 83, "scaling_claims", "16x"),
    ("003", 45, "scaling_claims", "work grows 16x"),
    ("003", 29, "scaling", "near-linear"),
    ("003", 52, "scaling_claims", "near-linear"),
    ("003", 37, "scaling", "sub-linear"),
    ("003", 15, "slowdown_claims", "949x"),
    ("003", 28, "expected_columns", "no one rule"),
    ("003", 234, "list_totals", "60-1200x"),
    ("004", 27, "peaks", "22 %"),
    ("004", 42, "block_counts", "1024"),
    ("004", 82, "advice", "cannot be told"),
    ("004", 16, "references", "bound by its launch"),
]

# Document, lines, check: rows that are known to be right. Each must have been recomputed, too.
RIGHT = [
    ("001", [27, 32], "arithmetic"),  # arithmetic intensities
    ("001", [110], "throughput"),
    ("001", [117], "arithmetic"),  # 93 GB/s
    ("002", [405, 410, 411, 412, 413, 414, 415, 416, 417], "table_totals"),
    ("004", [16, 17, 18, 19, 20], "throughput"),
    ("004", [16, 17, 18, 19, 20], "ratio_columns"),
    ("004", [76, 126], "arithmetic"),  # the product of 3.1x
]
# The same and the TFLOPS column of 001, by document: no finding of a check on figures there.
FIGURES = {"arithmetic", "table_totals", "list_totals", "throughput", "ratio_columns", "changes"}
CLEAN = {
    "001": [7, 8, 9, 10, 25, 26, 27, 30, 31, 32, 110, 111, 113, 114, 115, 116, 117],
    "002": [*range(36, 43), *range(52, 57), 394, 403, 404, 405, *range(410, 418), 551],
    "003": [84, 89],
    "004": [*range(16, 21), 76, 126],
}


@pytest.fixture(scope="module")
def audited(build):
    import subprocess

    done = subprocess.run(
        [build / "sdpa-wb", "audit", "--json", *sorted(SHARED.glob("00*.txt"))],
        capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip
    assert done.returncode == 1, done.stderr
    answer = json.loads(done.stdout)
    return {one["name"][:3]: one for one in answer["documents"]} | {"text": answer["text"]}


@pytest.mark.parametrize(("document", "line", "check", "words"), FAULTS)
def test_the_fault_is_found(audited, document, line, check, words):
    found = [
        one for one in audited[document]["findings"]
        if (one["line"], one["check"]) == (line, check)
    ]  # fmt: skip
    assert found, audited[document]["findings"]
    assert any(words in one["computed"] + one["meaning"] for one in found), found


def test_rows_that_are_right_are_recomputed(audited):
    for document, lines, check in RIGHT:
        held = {one["line"] for one in audited[document]["held"] if one["check"] == check}
        assert set(lines) <= held, (document, check)


def test_rows_that_are_right_are_not_flagged(audited):
    for document, lines in CLEAN.items():
        flagged = {
            one["line"]: one for one in audited[document]["findings"] if one["check"] in FIGURES
        }
        for line in lines:
            assert line not in flagged, flagged.get(line)


def test_what_tells_no_measurements_has_no_finding(audited):
    assert audited["000"]["findings"] == []
    assert audited["000"]["figures"] > 50


def test_the_damaged_two_are_repaired_and_that_is_said(audited):
    assert audited["000"]["repaired"] is audited["001"]["repaired"] is audited["004"]["repaired"]
    assert audited["000"]["repaired"] is None
    assert "22 from a table" in audited["002"]["repaired"]
    assert "0 not restored" in audited["002"]["repaired"]
    assert "0 from a table" in audited["003"]["repaired"]


def test_the_kept_report_is_made_again(audited):
    assert audited["text"] == KEPT.read_text()


def test_the_kept_report_repeats_figures_not_sentences(audited):
    kept = " ".join(KEPT.read_text().split())
    for path in SHARED.glob("00*.txt"):
        for line in path.read_text(errors="replace").splitlines():
            words = line.split()
            for at in range(len(words) - 11):
                assert " ".join(words[at : at + 12]) not in kept
