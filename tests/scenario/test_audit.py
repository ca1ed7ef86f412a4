"""`sdpa-wb audit` of sessions and of files: what it finds, its exit codes, and bad input."""

import gzip
import hashlib
import json
import os
import re
import shutil
import subprocess

import pytest
from support.commands import ROOT
from support.kept import SESSIONS, kept, pack_as_before, report_of

# Reports that are held against what `report` writes, byte for byte.
WHOLE = ["cpu-decode-f32", "h200-mma-v3", "h200-part2-gqa"]


@pytest.fixture(params=["plain", "packed"])
def mine(unpacked, request):
    """A folder of the smallest kept session; also as such folders were before archives."""
    folder = unpacked("cpu-decode-f32")
    return pack_as_before(folder) if request.param == "packed" else folder


def change(session, name, how):
    """Changes a file, or what its packed form holds."""
    packed = session / f"{name}.gz"
    if packed.exists():
        packed.write_bytes(gzip.compress(how(gzip.decompress(packed.read_bytes()))))
    else:
        (session / name).write_bytes(how((session / name).read_bytes()))


def test_recorded_sessions_are_what_their_logs_say(wb, tmp_path):
    """Without their reports: words of those may be of an older version."""
    alone = []
    for archive in SESSIONS:
        alone.append(tmp_path / archive.name)
        alone[-1].symlink_to(archive)
    answer = wb.json("audit", *alone)
    assert answer["contradictions"] == answer["doubtful"] == 0
    assert len(answer["sessions"]) == len(SESSIONS)
    for one in answer["sessions"]:
        # What the pages of this version conclude, made from the log.
        assert one["sentences"] >= 10, one["session"]
        assert one["figures"] == 0, one["session"]
        assert any(gap.startswith("the report: ") for gap in one["gaps"]), one["session"]
        assert one["pages"] >= 2, one["session"]
        assert one["events"] > 100, one["session"]


def test_conclusions_of_the_kept_reports_are_those_of_the_outcome(wb):
    """The reports beside the archives, whose words may be of an older version."""
    answer = json.loads(wb.run("audit", *SESSIONS, "--json").stdout)
    assert len(answer["sessions"]) == len(SESSIONS)
    found = [one for session in answer["sessions"] for one in session["findings"]]
    assert [one for one in found if one["check"] == "conclusions"] == []
    assert sum(session["sentences"] for session in answer["sessions"]) > 12 * len(SESSIONS)


def old_blocks():
    """Session, what must be found, and the lines of an older report."""
    for block in (ROOT / "tests" / "data" / "old_conclusions.txt").read_text().split("=== ")[1:]:
        session, *lines = block.splitlines()
        finds = [line[4:] for line in lines if line.startswith("--- ")]
        yield session, finds, [line for line in lines if not line.startswith("--- ")]


@pytest.mark.parametrize(("session", "finds", "lines"), old_blocks())
def test_faults_of_older_reports_are_found(wb, tmp_path, session, finds, lines):
    page = tmp_path / "old.md"
    page.write_text("\n".join(lines) + "\n")
    words = ("audit", "--session", kept(session), page)
    (held,) = wb.json(*words, check=1)["sessions"]
    assert sorted(one["printed"] for one in held["findings"]) == sorted(finds)
    for one in held["findings"]:
        assert (one["check"], one["severity"]) == ("conclusions", "contradiction")
        assert one["file"] == "old.md"


@pytest.mark.parametrize("name", ["cpu-decode-f32", "n6-baseline"])
def test_pages_of_a_log_that_is_cut_off_contradict_nothing(wb, unpacked, name):
    whole = unpacked(name)
    shutil.rmtree(whole / "reports")  # of the whole log
    lines = (whole / "events.jsonl").read_bytes().splitlines(keepends=True)
    sentences = []
    for cut in (2, 40, *range(len(lines) // 8, len(lines), len(lines) // 8), len(lines) - 1):
        (whole / "events.jsonl").write_bytes(b"".join(lines[:cut]))
        (one,) = json.loads(wb.run("audit", whole, "--json").stdout)["sessions"]
        found = [found for found in one["findings"] if found["check"] == "conclusions"]
        assert found == [], cut
        sentences.append(one["sentences"])
    assert sentences[0] < sentences[-1]


@pytest.mark.parametrize("name", ["ladder", "n6-baseline", "hopper-prefill"])
def test_a_page_of_today_is_not_flagged(wb, tmp_path, name):
    pages = []
    for kind in ("session", "full", "handover", "root-cause"):
        pages.append(tmp_path / f"{kind}.md")
        words = ("report", "--kind", kind, "--session", kept(name), "--output", pages[-1])
        wb.run(*words, check=0)
    pages.append(tmp_path / "brief.txt")
    pages[-1].write_text(wb.run("brief", "--session", kept(name), check=0).stdout)
    answer = json.loads(wb.run("audit", "--session", kept(name), *pages, "--json").stdout)
    (held,) = answer["sessions"]
    assert held["findings"] == []
    assert held["sentences"] > 20


def test_no_page_advises_what_is_known_to_lose(wb):
    """The recorded roadmap of hopper-prefill has one step, which the register knows to lose."""
    session = ("--session", kept("hopper-prefill"))
    whole = wb.run("report", "--kind", "full", *session, check=0).stdout
    assert "- `fast_exp_polynomial`: known loser here" in whole
    assert "\n| `fast_exp_polynomial`" not in whole
    handover = wb.run("report", "--kind", "handover", *session, check=0).stdout
    assert "fast_exp_polynomial" not in handover


def test_what_is_used_on_a_few_problems_is_not_refuted(wb):
    """Iteration 7 of ladder lost over the suite, and is the best on three problems."""
    refuted = wb.json("brief", "--session", kept("ladder"))["refuted"]
    assert len(refuted) == 2
    assert not any(one["hypothesis"].startswith("wgmma") for one in refuted)
    whole = wb.run("report", "--kind", "full", "--session", kept("ladder"), check=0).stdout
    used = whole[whole.index("**Mechanism not confirmed over the suite") :]
    assert "- iteration 7 [" in used.split("\n**")[0]
    denied = whole[whole.index("**Mechanism not confirmed (do not try again") :]
    assert "- iteration 7 [" not in denied.split("\n**")[0]


@pytest.mark.parametrize("name", WHOLE)
def test_the_report_beside_an_archive_is_held_against_its_log(wb, tmp_path, name):
    archive = tmp_path / f"{name}.tar.gz"
    archive.symlink_to(kept(name))
    report = tmp_path / f"{name}.md"
    shutil.copy(report_of(kept(name)), report)
    (one,) = wb.json("audit", archive)["sessions"]
    assert one["figures"] > 30
    assert one["findings"] == []
    text = report.read_text()
    (figure, *_) = re.findall(r"[0-9.]+x", text)
    report.write_text(text.replace(figure, "77.7x", 1))
    (one,) = wb.json("audit", archive, check=1)["sessions"]
    (finding,) = one["findings"]
    assert (finding["file"], finding["printed"]) == (report.name, "77.7x")
    assert figure in finding["computed"]


def test_nothing_is_found_in_our_own_reports(wb, tmp_path):
    """Read as anyone's: a check that fires on an honest report is worth nothing."""
    answer = wb.json("audit", *[report_of(archive) for archive in SESSIONS])
    assert answer["contradictions"] == answer["doubtful"] == 0, answer["text"]
    assert all(one["figures"] > 10 for one in answer["documents"])
    whole = [tmp_path / report_of(archive).name for archive in SESSIONS]
    for archive, page in zip(SESSIONS, whole, strict=True):
        words = ("--kind", "full", "--session", archive, "--output", page)
        wb.run("report", *words, check=0)
    answer = wb.json("audit", *whole)
    assert answer["contradictions"] == answer["doubtful"] == 0, answer["text"]
    assert all(one["figures"] > 100 for one in answer["documents"])
    held = [one for document in answer["documents"] for one in document["held"]]
    assert sum(one["check"] == "intervals" for one in held) > 500
    assert len(held) > 500


@pytest.mark.parametrize("name", ["from-benchmarks", "n6-baseline", "batch-scaling"])
def test_our_roadmaps_are_the_products_of_their_ranges(wb, tmp_path, name):
    page = tmp_path / "roadmap.md"
    page.write_text(wb.json("advise", "--session", kept(name))["text"])
    (document,) = wb.json("audit", page)["documents"]
    assert document["findings"] == []
    stages = [one for one in document["held"] if one["check"] == "stages"]
    assert len(stages) == 3, document


def test_a_speedup_that_is_not_of_its_times_is_found_without_the_log(wb, tmp_path):
    words = ("--kind", "full", "--session", kept("h200-mma-v3"))
    text = wb.run("report", *words, check=0).stdout
    row = "|        5.228 |    9.169 | 1.75x"
    assert text.count(row) == 1
    report = tmp_path / "report.md"
    report.write_text(text.replace(row, "|        5.228 |    7.169 | 1.75x"))
    answer = wb.json("audit", report)
    (finding,) = answer["documents"][0]["findings"]
    assert (finding["check"], finding["severity"]) == ("intervals", "doubtful")
    assert finding["line"] == 1 + text[: text.index(row)].count("\n")
    assert "7.169 us / 5.228 us = 1.371x" in finding["computed"]


def test_a_changed_figure_is_named_with_what_the_log_says(wb, mine):
    page = mine / "reports" / "session.md"
    text = page.read_text()
    lines = text.splitlines(keepends=True)
    at = next(n for n, line in enumerate(lines) if line.startswith("- **Result:**"))
    figure = re.search(r"\d+\.\d+x", lines[at])[0]
    event = re.search(r"\[(e\d+)\]", lines[at])[1]
    lines[at] = lines[at].replace(figure, "9" + figure, 1)
    page.write_text("".join(lines))
    answer = wb.json("audit", mine, check=1)
    (finding,) = answer["sessions"][0]["findings"]
    assert (finding["file"], finding["line"]) == ("reports/session.md", at + 1)
    assert finding["printed"] == "9" + figure
    assert figure in finding["computed"]
    assert event in finding["computed"]


def test_a_changed_page_blob_and_identity_are_found(wb, mine, unpacked):
    page = mine / "iterations" / "0001.md"
    page.write_text(page.read_text() + "more\n")
    for gone in (mine / "iterations").glob("0002.json*"):
        gone.unlink()
    change(mine, "iterations/0000.json", lambda text: text + b" ")
    identity = json.loads((mine / "session.json").read_text())
    identity["title"] = "another"
    (mine / "session.json").write_text(json.dumps(identity))
    found = wb.json("audit", "--session", mine, check=1)["sessions"][0]["findings"]
    assert {one["file"] for one in found if one["severity"] == "contradiction"} == {
        "iterations/0000.json", "iterations/0001.md", "iterations/0002.json", "session.json"
    }  # fmt: skip
    with_blobs = unpacked("h200-mma-v3")
    first, *_ = sorted((with_blobs / "blobs").iterdir())
    first.write_bytes(first.read_bytes() + b"x")
    found = wb.json("audit", with_blobs, check=1)["sessions"][0]["findings"]
    assert found[0]["file"] == f"blobs/{first.name}"
    first.unlink()
    found = wb.json("audit", with_blobs, check=1)["sessions"][0]["findings"]
    assert found[0]["printed"] == "no such blob"


def test_a_broken_chain_is_an_error_with_its_line(wb, mine):
    def broken(log):
        lines = log.split(b"\n")
        lines[10] = lines[10].replace(b'"v":1', b'"v":1 ', 1)
        return b"\n".join(lines)

    change(mine, "events.jsonl", broken)
    done = wb.run("audit", mine, check=65)
    assert "line 1" in done.stderr


def test_commits_are_held_against_the_log(wb, tmp_path):
    session = tmp_path / wb.open_small()["session"]
    wb.run("close", "--session", session, check=0)
    audited = wb.json("audit", session)["sessions"][0]
    assert audited["commits"] == 1
    assert not audited["gaps"]
    for name in ("objects", "refs"):
        shutil.rmtree(session / ".git" / name)
        (session / ".git" / name).mkdir()
    audited = wb.json("audit", session, check=1)["sessions"][0]
    assert audited["findings"][0]["printed"] == "no such commit"


@pytest.fixture
def closed(wb, tmp_path):
    session = tmp_path / wb.open_small()["session"]
    wb.run("close", "--session", session, check=0)
    return session


def git(session, *words, **environment):
    names = {f"GIT_{who}_{what}": "x@y" for who in ("AUTHOR", "COMMITTER")
             for what in ("NAME", "EMAIL")}  # fmt: skip
    done = subprocess.run(
        ["git", f"--git-dir={session / '.git'}", f"--work-tree={session}", *words],
        env=os.environ | names | environment, capture_output=True, text=True, check=True,
    )  # fmt: skip
    return done.stdout.strip()


def committed(session):
    """The commit that the log names."""
    events = [json.loads(line) for line in (session / "events.jsonl").read_text().splitlines()]
    (oid,) = {one["payload"]["oid"] for one in events if one["type"] == "iteration_committed"}
    return oid


def name_commit(session, before, after):
    """The log names another commit, and its chain holds."""
    log, lines, prev = session / "events.jsonl", [], "0" * 64
    for line in log.read_text().replace(before, after).splitlines():
        head, rest = line.split('"prev":"', 1)
        lines.append(head + '"prev":"' + prev + rest[64:])
        prev = hashlib.sha256(lines[-1].encode()).hexdigest()
    log.write_text("\n".join(lines) + "\n")


@pytest.mark.parametrize("head", [None, "f" * 64])
def test_a_commit_of_another_log_is_found(wb, closed, head):
    oid = committed(closed)
    message = "Iteration 0\n" + (f"\nLog-Head: {head}\n" if head else "")
    other = git(closed, "commit-tree", f"{oid}^{{tree}}", "-m", message)
    name_commit(closed, oid, other)
    found = wb.json("audit", closed, check=1)["sessions"][0]["findings"]
    (finding,) = [one for one in found if one["file"].startswith("commit")]
    assert finding["file"] == f"commit {other[:12]}"
    assert finding["printed"] == ("Log-Head ffffffff" if head else "no Log-Head")
    assert finding["meaning"] == "the commit belongs to another log"


def test_a_commit_without_the_pages_is_found(wb, closed):
    oid, index = committed(closed), str(closed / "index")
    git(closed, "read-tree", oid, GIT_INDEX_FILE=index)
    files = git(closed, "ls-files", "iterations", GIT_INDEX_FILE=index).split()
    gone, changed = files[0], files[1]
    git(closed, "update-index", "--force-remove", gone, GIT_INDEX_FILE=index)
    (closed / "page").write_text("another\n")
    blob = git(closed, "hash-object", "-w", closed / "page")
    entry = f"100644,{blob},{changed}"
    git(closed, "update-index", "--cacheinfo", entry, GIT_INDEX_FILE=index)
    message = git(closed, "log", "-1", "--format=%B", oid)
    tree = git(closed, "write-tree", GIT_INDEX_FILE=index)
    other = git(closed, "commit-tree", tree, "-m", message)
    name_commit(closed, oid, other)
    found = wb.json("audit", closed, check=1)["sessions"][0]["findings"]
    printed = {one["printed"] for one in found if one["file"].startswith("commit")}
    assert printed == {f"{gone} is not in it", f"{changed} has another content"}


def test_session_json_says_no_more_than_the_log(wb, mine):
    path = mine / "session.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"speedup": 9.5}))
    (finding,) = wb.json("audit", mine, check=1)["sessions"][0]["findings"]
    assert finding["file"] == "session.json"
    assert finding["printed"] == "speedup: 9.5"
    assert finding["computed"] == "event e1 does not say it"


def test_exit_codes_and_json(wb, tmp_path):
    good, bad = tmp_path / "good.md", tmp_path / "bad.md"
    good.write_text("Busy: 4/80 = 5.0%\n")
    bad.write_text("# A\n\nBusy: 4/80 = 9.0%\n")
    assert "0 contradictions" in wb.run("audit", good, check=0).stdout
    answer = wb.json("audit", good, bad, check=1)
    assert [one["name"] for one in answer["documents"]] == ["good.md", "bad.md"]
    (finding,) = answer["documents"][1]["findings"]
    assert finding["line"] == 3
    assert finding["section"] == "A"
    assert finding["check"] == "arithmetic"


def test_a_source_beside_the_report_decides_advice(wb, tmp_path):
    report, source = tmp_path / "report.md", tmp_path / "kernel.cu"
    report.write_text("## Recommendation\n\nTarget: vectorized loads (float4)\n")
    source.write_text("__global__ void f(const float4* p) {}\n")
    assert wb.json("audit", report)["unknown"] == 1
    answer = wb.json("audit", report, source)
    assert (answer["contradictions"], answer["doubtful"], answer["unknown"]) == (0, 1, 0)


@pytest.mark.parametrize(
    ("content", "code", "said"),
    [
        (b"a\0b", 65, "NUL"),
        (bytes(range(1, 9)) * 50, 65, "control characters"),
        (os.urandom(4096) + b"\0", 65, "NUL"),
        (b"", 0, ""),
        (b"\xff\xfe caf\xe9\r\nTotal: 3\r\n", 0, ""),
        (b"| a |" + b" 1 |" * 100_000 + b"\n|" + b"---|" * 100_001 + b"\n", 0, ""),
    ],
    ids=["nul", "controls", "binary", "empty", "latin1", "columns"],
)
def test_bad_files(wb, tmp_path, content, code, said):
    path = tmp_path / "x.md"
    path.write_bytes(content)
    done = wb.run("audit", path, check=code)
    assert said in done.stderr
    assert (code == 0) == ("Not read:" in done.stdout)


def test_a_hundred_megabytes_are_refused_at_once(wb, tmp_path):
    path = tmp_path / "large.md"
    with path.open("wb") as file:
        file.truncate(100 << 20)
    done = wb.run("audit", path, check=5, timeout=20)
    assert "larger than 8 MiB" in done.stderr


FOREIGN = """\
# Report — “best” kernel ✅

Speedup: 2× from S=64→512, ≤ 3 µs

## Times

| S | Torch (µs) | Mine (µs) |
|---|---|---|
| 64 | 1.0 | 2.0 |
| 512 | 4.0 | 5.0 |
| broken | 1 |
"""


def test_a_foreign_report_is_imported_as_it_was_meant(wb, tmp_path):
    """UTF-8 that was taken for CP1252 on its way comes back; sections and tables are values."""
    report, output = tmp_path / "report.md", tmp_path / "mended.md"
    undefined = {0x81, 0x8D, 0x8F, 0x90, 0x9D}  # which CP1252 leaves as they are
    damaged = "".join(
        chr(byte) if byte in undefined else bytes([byte]).decode("cp1252")
        for byte in FOREIGN.encode()
    )
    report.write_bytes(damaged.replace("\n", "\r\n").encode())
    answer = wb.json("import", "report", report)
    assert answer["text"] == FOREIGN
    assert "restored" in answer["repaired"]
    assert answer["lines"] == FOREIGN.count("\n")
    assert answer["file"] is None
    assert [(one["line"], one["level"], one["title"]) for one in answer["sections"]][1] == (
        5, 2, "Times",
    )  # fmt: skip
    (table,) = answer["tables"]
    assert table["line"] == 7
    assert table["section"] == "Times"
    assert not table["complete"]
    assert table["rows"] == [
        {"line": 9, "cells": ["64", "1.0", "2.0"]}, {"line": 10, "cells": ["512", "4.0", "5.0"]},
    ]  # fmt: skip
    assert "1" in answer["gaps"][0]
    said = wb.run("import", "report", report, "--output", output, check=0).stdout
    assert output.read_text() == FOREIGN
    assert "restored" in said
    again = wb.run("import", "report", report, "--output", report)
    assert again.returncode == 65
    assert "there is a file already" in again.stderr
    clean = wb.json("import", "report", output)
    assert clean["repaired"] is None
    assert clean["text"] == FOREIGN


@pytest.mark.parametrize(("content", "code"), [(b"a\0b", 65), (None, 2), (b"x" * (9 << 20), 5)])
def test_what_is_no_report_is_not_imported(wb, tmp_path, content, code):
    report = tmp_path / "report.md"
    if content is not None:
        report.write_bytes(content)
    done = wb.run("import", "report", report, "--output", tmp_path / "out.md", check=code)
    assert "report.md" in done.stderr
    assert not (tmp_path / "out.md").exists()


def test_what_is_no_file(wb, tmp_path):
    (tmp_path / "folder").mkdir()
    assert "no session" in wb.run("audit", tmp_path / "folder", check=2).stderr
    assert "absent.md" in wb.run("audit", tmp_path / "absent.md", check=2).stderr
    assert "no report was named" in wb.run("audit", check=2).stderr
    (tmp_path / "kernel.cu").write_text("int a;\n")  # held against reports, and itself none
    alone = wb.run("audit", tmp_path / "kernel.cu", tmp_path / "kernel.cu", check=2)
    assert "no report was named" in alone.stderr
    os.mkfifo(tmp_path / "pipe.md")
    wb.run("audit", tmp_path / "pipe.md", timeout=20, check=2)
