"""The sessions that are kept under sessions/: an archive each, and beside it the report, which
follows from its log."""

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
    assert len(said) > 50
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
