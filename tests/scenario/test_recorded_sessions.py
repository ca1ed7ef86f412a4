# SPDX-License-Identifier: MIT
"""The sessions that are kept under sessions/: an archive each, and beside it the report, which
follows from its log; their kernels under today's caller; and the two processes of one subject that
they timed for their noise floors, compared (tests/bench/recorded_pairs)."""

import hashlib
import json
import re
import shutil
import subprocess

import pytest
from support.commands import ROOT
from support.kept import SESSIONS, kept, kept_sessions, pack_as_before, report_of
from support.logs import events
from support.logs import session_name as name_of

MOST_BYTES = 2_000_000  # of a whole session: they are read, moved and kept as files of a repository
WHOLE = ["cpu-prefill-f32", "ladder", "h200-part1-whole"]


def test_there_are_some():
    assert len(SESSIONS) >= 40


@pytest.mark.parametrize("is_checkout", [True, False])
def test_sessions_of_a_user_are_not_taken_for_kept_ones(tmp_path, is_checkout):
    """`make demo` leaves sessions/s-0001, and whoever tries the README leaves others."""
    root = tmp_path / "sessions"
    root.mkdir()
    for name in ["cpu-decode-f32", "n6-baseline"]:
        shutil.copy(kept(name), root)
        shutil.copy(report_of(kept(name)), root)
    if is_checkout:
        for words in [["init", "-q"], ["add", "."]]:
            subprocess.run(["git", *words], cwd=tmp_path, check=True)
    for name in ("s-0001", "mine"):
        (root / name).mkdir()
        (root / name / "session.json").write_text("{}")
        (root / name / "events.jsonl").write_text("{}\n")
    for name in ("s-0002.tar.gz", "mine.tar.gz"):
        shutil.copy(kept("n6-baseline"), root / name)
    shutil.copy(report_of(kept("n6-baseline")), root / "s-0002.md")
    assert [name_of(path) for path in kept_sessions(root)] == ["cpu-decode-f32", "n6-baseline"]


def test_nothing_else_is_kept():
    """Each archive has its report and its entry in README.md, and nothing else has one but the
    audit."""
    readme = (ROOT / "sessions" / "README.md").read_text()
    listed = set(re.findall(r"\(([\w-]+)\.md\)", readme)) - {"audit-of-the-documents"}
    assert listed == {name_of(path) for path in SESSIONS}


@pytest.mark.parametrize("name", WHOLE)
def test_a_report_is_made_again(wb, name):
    done = wb.run("report", "--session", kept(name), check=0)
    assert done.stdout == report_of(kept(name)).read_text()


def cited(text):
    """Events and figures of a report."""
    return set(re.findall(r"(?<![\w.])\[?e\d+\b|\b\d[\d,]*\.\d+x?", text))


@pytest.mark.parametrize("archive", SESSIONS, ids=name_of)
def test_figures_and_events_of_a_report_follow_from_its_log(wb, archive):
    """Its words may be those of an older version."""
    said = cited(report_of(archive).read_text())
    made = cited(wb.run("report", "--session", archive, check=0).stdout)
    assert len(said) > 15
    assert said - made == set()
    assert len(made) < 1.2 * len(said)


@pytest.mark.parametrize("archive", SESSIONS, ids=name_of)
def test_it_is_small_and_closed(archive):
    assert archive.stat().st_size <= MOST_BYTES
    types = [event["type"] for event in events(archive)]
    assert types[0] == "session_opened"
    assert "session_closed" in types


def test_a_packed_session_says_how_to_go_on(wb, unpacked):
    """The form of kept sessions before archives."""
    folder = pack_as_before(unpacked("cpu-decode-f32"))
    done = wb.run("note", "one more", "--session", folder)
    assert done.returncode != 0
    assert "gunzip" in done.stderr
    assert not (folder / "events.jsonl").exists()


# Kernels as they were recorded, with the headers of that time, under today's caller.

WITH_KERNELS = "cpu-decode-f32"
PROBLEM = "B=1 Hq=4 Hkv=2 Sq=3 Skv=300 D=64 f32"


@pytest.fixture
def stored(unpacked):
    """The folder of the sources of cpu_tiled that the session recorded."""
    return next(unpacked(WITH_KERNELS).glob("kernels/*/cpu_tiled")).parent


def test_a_kernel_built_with_version_1_of_the_abi_runs_unchanged(wb, stored, tmp_path):
    """Its own sources, which lie in the session, are compiled, loaded and judged."""
    header = (stored / "common" / "sdpa_abi.h").read_text()
    assert "#define WB_SDPA_ABI_VERSION 1\n" in header
    root = tmp_path / "then"
    shutil.copytree(stored, root / "kernels")
    # Nothing of today's is mixed in: it is the very variant that the session recorded.
    (found,) = (one for one in wb.json("kernels", "--path", root)["kernels"]
                if one["name"] == "cpu_tiled")  # fmt: skip
    assert found["label"] == f"cpu_tiled@{stored.name[:8]}"
    answer = wb.json("check", "cpu_tiled", "--problem", PROBLEM, "--path", root, "--draws", "12")
    assert answer["pass"], answer


def test_a_copy_of_a_recorded_kernel_brings_headers_that_are_gone(wb, stored):
    """kernels/common has other files today; none of them is mixed into the copy."""
    built = [
        event["payload"] for event in events(kept(WITH_KERNELS)) if event["type"] == "variant_built"
    ]
    (label,) = {one["subject"] for one in built if one["variant_id"] == stored.name}
    made = wb.json("new", "mine", "--from", label, "--session", kept(WITH_KERNELS))
    assert made["changed_headers"] == []
    then = {path.name for path in (stored / "common").iterdir()}
    assert "cpu_support.hpp" in then
    assert set(made["files"]) == {"kernel.cpp", "kernel.json", *then}
    for name in then:
        copy = wb.folder / "kernels" / "mine" / name
        assert copy.read_text() == (stored / "common" / name).read_text()
    assert wb.json("check", "mine", "--problem", PROBLEM, "--draws", "12")["pass"]


# tests/bench/recorded_pairs: the two processes of one subject that a recorded session timed for
# its noise floor, compared with each other.

WITH_PAIRS = [archive for archive in SESSIONS if not archive.name.startswith("cpu-")]


@pytest.fixture
def pairs(build):
    program = build / "tests" / "bench" / "recorded_pairs"
    if not program.exists():
        pytest.skip("the benches are not built")

    def run(*sessions):
        return subprocess.run([program, *sessions], capture_output=True, text=True, timeout=120)

    return run


def is_again(payload):
    """Whether a turn of three subjects in ABBA order is of the last one, `against` once more."""
    is_backward = (payload["round"] + payload["instance"]) % 2
    return payload["position"] in ((0, 5) if is_backward else (2, 3))


def slow_down(session, factor):
    """That subject takes so much longer, and the log's chain holds."""
    lines, prev, slowed = [], "0" * 64, 0
    for line in (session / "events.jsonl").read_text().splitlines():
        event = json.loads(line)
        if event["type"] == "turn_measured" and event["payload"].get("regime") == "sustained":
            if is_again(event["payload"]):
                event["payload"]["samples_us"] = [
                    factor * sample for sample in event["payload"]["samples_us"]
                ]
                slowed += 1
            payload = json.dumps(event["payload"], separators=(",", ":"), ensure_ascii=False)
            line = line[: line.index('"payload":')] + f'"payload":{payload}}}'
        head, rest = line.split('"prev":"', 1)
        lines.append(f'{head}"prev":"{prev}{rest[64:]}')
        prev = hashlib.sha256(lines[-1].encode()).hexdigest()
    (session / "events.jsonl").write_text("\n".join(lines) + "\n")
    return slowed


def test_equal_code_in_the_kept_sessions_is_hardly_ever_told_apart(pairs):
    done = pairs(*WITH_PAIRS)
    assert done.returncode == 0, done.stdout + done.stderr
    rows = re.findall(
        r"\| (burst|sustained) \| .*? \| (\d+) \| (\d+) \| (\d+) \| (\d+) \|", done.stdout
    )
    for regime in ("burst", "sustained"):
        counts = [list(map(int, row[1:])) for row in rows if row[0] == regime]
        assert sum(count[0] for count in counts) >= 100
        assert all(count[0] == sum(count[1:]) for count in counts)


def test_a_slower_process_is_found(pairs, unpacked):
    session = unpacked("h200-part2-gqa")
    session = session.rename(session.with_name("slowed"))
    assert pairs(session).returncode == 0
    assert slow_down(session, 1.0) > 0
    assert pairs(session).returncode == 0
    slow_down(session, 1.05)
    done = pairs(session)
    assert done.returncode == 1, done.stdout
    assert pairs(pack_as_before(session)).stdout == done.stdout
    assert len(re.findall(r"^slowed B=.*sustained: 1\.0[45]", done.stdout, re.M)) == 3


def test_what_cannot_be_read_is_a_fault(pairs, tmp_path):
    done = pairs(tmp_path)
    assert done.returncode == 2
    assert str(tmp_path) in done.stderr
    assert pairs().returncode == 1  # no pair says nothing
