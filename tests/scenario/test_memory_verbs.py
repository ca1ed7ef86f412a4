# SPDX-License-Identifier: MIT
"""The verbs around sessions, as commands: new, brief, history, reproduce, diff, gc, best."""

import hashlib
import json
import os
import shlex
import shutil
import time
from pathlib import Path

import pytest
from support.commands import ROOT, SMALL, Workbench

TIMES_US = {"cpu_unfused": 100, "cpu_online": 80, "cpu_tiled": 25}


def snapshot(folder: Path):
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in folder.rglob("*") if path.is_file()
    }  # fmt: skip


def open_beside_a_rival(wb, name, *more):
    wb.turns.take(**TIMES_US)
    wb.run("open", "--start", "cpu_unfused", "--problem", SMALL, "--rivals", "cpu_online",
           "--effort", "quick", "--session", name, *more, check=0)  # fmt: skip
    return wb.folder / name


def iterate(wb, session, theory, variant):
    return wb.json(
        "iterate", "--variant", variant, "--hypothesis", theory, "--predicted-speedup", "1.5",
        "--confirm", "always", "--threads", "1", "--session", session,
    )  # fmt: skip


def reproduce(wb, session, outcome, code, threads="1"):
    answer = wb.json("reproduce", session, "--threads", threads, check=code)
    assert answer["outcome"] == outcome, answer
    return answer


@pytest.fixture(scope="module")
def recorded(build, cache, tmp_path_factory):
    """A session with a win, a refuted hypothesis and a note. The tests only read it."""
    folder = tmp_path_factory.mktemp("recorded")
    wb = Workbench(build / "sdpa-wb", folder, cache)

    session = open_beside_a_rival(wb, "s", "--threads", "1", "--evaluations", "5")
    won = iterate(wb, session, "tiles reuse each key", "cpu_tiled")
    assert won["outcome"] == "win", won
    lost = iterate(wb, session, "the start was faster after all", "cpu_unfused")
    assert lost["decision"] == "refuted", lost
    wb.run("note", "look at the masks next", "--session", session, check=0)
    return session


def test_a_new_kernel_passes_check_and_nothing_is_overwritten(wb, tmp_path):
    made = wb.json("new", "mine", "--from", "cpu_tiled")
    assert made["folder"] == "kernels/mine"
    manifest = json.loads((tmp_path / "kernels/mine/kernel.json").read_text())
    assert (manifest["name"], manifest["parent"]) == ("mine", "cpu_tiled")
    checked = wb.json("check", "mine", "--problem", SMALL)
    assert checked["pass"]
    before = snapshot(tmp_path)
    for words, code in (
        (["mine", "--from", "cpu_online"], 65),  # exists
        (["cpu_online", "--from", "cpu_tiled"], 65),  # would shadow one that ships
        (["../mine", "--from", "cpu_tiled"], 2),
        (["Mine", "--from", "cpu_tiled"], 2),
        (["other", "--from", "cpu_tield"], 2),
        (["other", "--from", "cpu_tiled@01234567"], 2),
        (["other"], 2),
    ):
        done = wb.run("new", *words, check=code)
        assert done.stderr.startswith("sdpa-wb:"), done.stderr
    assert snapshot(tmp_path) == before
    (tmp_path / "file").write_text("x")
    done = wb.run("new", "other", "--from", "cpu_tiled", "--in", "file")
    assert done.returncode not in (0, 70)
    assert (tmp_path / "file").read_text() == "x"


def test_a_session_s_variant_becomes_a_kernel_elsewhere(wb, recorded, tmp_path):
    label = wb.json("brief", "--session", recorded)["incumbent"]["variant"]
    made = wb.json("new", "winner", "--from", label, "--session", recorded, "--in", "else where")
    assert made["parent"].startswith("cpu_tiled@")
    # What it tells to do next works as it stands.
    hint = made["text"].split("then: sdpa-wb ")[1].splitlines()[0]
    wb.run(*shlex.split(hint), "--problem", SMALL, check=0)
    assert not (tmp_path / "kernels").exists()


def test_a_brief_tells_what_happened_in_four_kib(wb, recorded):
    before = snapshot(recorded)
    words = ["brief", "--session", recorded]
    as_json, as_text = wb.run(*words, "--json", check=0).stdout, wb.run(*words, check=0).stdout
    assert len(as_json.encode()) <= 4096 + 1  # the line end
    assert len(as_text.encode()) <= 4096 + 1
    brief = json.loads(as_json)
    assert brief["status"] == "open"
    assert brief["objective"]["rule"] == "geomean_speedup"
    assert brief["incumbent"]["variant"].startswith("cpu_tiled@")
    assert brief["incumbent"]["over_start"] == pytest.approx(4, rel=0.01)
    assert brief["budget"]["evaluations"] == 2
    assert brief["budget"]["evaluations_left"] == 3
    assert brief["in_flight"] is None
    assert [row["outcome"] for row in brief["last"]] == ["no_gain", "win"]
    (refuted,) = brief["refuted"]
    assert refuted["hypothesis"] == "the start was faster after all"
    assert refuted["measured"] == pytest.approx(1 / 4, rel=0.01)
    tried = {row["technique"]: row for row in brief["techniques"]}
    assert tried["query_tiling"]["best"] == brief["incumbent"]["over_start"]
    assert "query_tiling" not in brief["untried"]
    assert brief["rivals"][0]["rival"].startswith("cpu_online")
    assert brief["next"]
    assert brief["notes"][0]["note"] == "look at the masks next"
    assert "the start was faster after all" in as_text
    # Every figure can be looked up.
    for row in brief["last"] + brief["refuted"] + brief["rivals"]:
        wb.run("show", f"e{row['event']}", "--session", recorded, check=0)
    assert snapshot(recorded) == before


def test_history_finds_words(wb, recorded):
    before = snapshot(recorded)
    found = wb.json("history", "REUSE key", "--session", recorded)
    assert [match["iteration"] for match in found["matches"]] == [1]
    assert found["matches"][0]["where"][0]["field"] == "hypothesis"
    assert wb.json("history", "masks", "--session", recorded)["matches"][0]["kind"] == "note"
    assert wb.json("history", "refuted", "--session", recorded)["matches"][0]["iteration"] == 2
    everything = wb.json("history", "--session", recorded)
    assert everything["total"] == 4  # the baseline, two iterations, the note
    none = wb.run("history", "no such words", "--session", recorded, check=0)
    assert "nothing" in none.stdout
    wb.run("history", "--limit", "0", "--session", recorded, check=2)
    wb.run("history", "x", check=2)
    assert snapshot(recorded) == before


@pytest.mark.parametrize("form", ["folder", "archive"])
def test_reproduce_measures_the_record_again(wb, recorded, tmp_path, form):
    if form == "archive":
        archive = tmp_path / "kept" / "recorded.tar.gz"
        archive.parent.mkdir()
        wb.run("pack", recorded, "--output", archive, check=0)
        recorded = archive
    place = recorded.parent if form == "archive" else recorded
    before = snapshot(place)
    wb.turns.take(**TIMES_US)
    answer = reproduce(wb, recorded, "reproduced", 0)
    assert answer["iteration"] == 1
    assert answer["same_artifact"]
    assert answer["changes"] == []
    assert answer["measured"]["speedup"] == pytest.approx(4, rel=0.01)
    assert snapshot(place) == before
    wb.run("reproduce", recorded, "--iteration", "0", check=65)  # the baseline has no hypothesis
    wb.run("reproduce", recorded, "--iteration", "9", check=2)
    done = wb.run("reproduce", "no-such-session", check=2)
    assert "no-such-session" in done.stderr


def test_a_gain_that_rests_on_what_no_record_holds_is_not_reproduced(wb, recorded):
    """The same artifact, slower now than its start was: what made it fast is gone."""
    wb.turns.take(**TIMES_US | {"cpu_tiled": 200})
    answer = reproduce(wb, recorded, "not_reproduced", 1)
    assert answer["same_artifact"]
    assert answer["measured"]["speedup"] == pytest.approx(1 / 2, rel=0.01), answer["message"]
    # Where something differs, the variant is not blamed.
    answer = reproduce(wb, recorded, "environment_differs", 76, threads="2")
    assert [change["what"] for change in answer["changes"]] == ["threads"]


def test_diff_compares_ratios_and_a_regression_has_an_exit_code(wb, recorded, tmp_path):
    start = open_beside_a_rival(wb, "start", "--threads", "2")  # its incumbent is still the start
    alone = ROOT / "tests/data/session_v1.tar.gz"  # it measured no rival
    before = snapshot(tmp_path)
    worse = wb.json("diff", recorded, start, check=1)
    assert worse["outcome"] == "worse"
    assert worse["regressions"] == 1
    assert "threads" in [change["what"] for change in worse["changes"]]
    (rival,) = worse["rivals"]
    assert rival["rival"].startswith("cpu_online")
    assert rival["suite"]["change"] == pytest.approx(1 / 4, rel=0.01)
    better = wb.json("diff", start, recorded, check=0)
    assert better["outcome"] == "better"
    assert better["rivals"][0]["suite"]["change"] == pytest.approx(4, rel=0.01)
    same = wb.json("diff", recorded, recorded, check=0)
    assert same["outcome"] in {"same", "ambiguous"}
    assert same["changes"] == []
    # Ratios only: nowhere a time.
    text = wb.run("diff", recorded, start, check=1).stdout
    assert " us" not in text
    assert "_us" not in json.dumps(worse)
    done = wb.run("diff", recorded, alone, check=65)
    assert "bare times" in done.stdout
    assert "--rivals" in done.stdout
    wb.run("diff", recorded, "no-such-session", check=2)
    wb.run("diff", recorded, check=2)
    assert snapshot(tmp_path) == before


def test_a_damaged_session_is_refused_by_every_verb_that_reads_it(wb, recorded, tmp_path):
    broken = tmp_path / "broken"
    shutil.copytree(recorded, broken)
    log = bytearray((broken / "events.jsonl").read_bytes())
    log[len(log) // 2] ^= 1
    (broken / "events.jsonl").write_bytes(log)
    for words in (
        ["brief", "--session", broken],
        ["history", "x", "--session", broken],
        ["reproduce", broken],
        ["diff", recorded, broken],
        ["new", "x", "--from", "cpu_tiled@01234567", "--session", broken],
    ):
        done = wb.run(*words, check=65)
        assert "line" in done.stderr, words
    # Sources that are not what their id says are never built.
    swapped = tmp_path / "swapped"
    shutil.copytree(recorded, swapped)
    for source in swapped.glob("kernels/*/cpu_tiled/kernel.cpp"):
        source.write_text(source.read_text().replace("k_block_rows = 4", "k_block_rows = 2"))
    done = wb.run("reproduce", swapped)
    assert done.returncode == 65, done.stdout + done.stderr


# The verbs gc and best, as commands.


def test_gc_trims_what_nobody_used_for_long(build, tmp_path):
    own = Workbench(build / "sdpa-wb", tmp_path, tmp_path / "cache")
    for kernel in ("cpu_unfused", "cpu_online"):
        own.run("check", kernel, "--problem", SMALL, check=0)
    entries = [path for path in own.cache.glob("??/*") if len(path.name) == 64]
    assert len(entries) == 2
    young = own.json("gc", "--max-bytes", "0")
    assert (young["removed"], young["recent"]) == (0, 2)
    month = time.time() - 40 * 86_400
    os.utime(entries[0], (month, month))
    dry = own.json("gc", "--dry-run")
    assert (dry["removed"], dry["entries"]) == (1, 2)
    assert entries[0].exists()
    real = own.json("gc")
    assert (real["removed"], real["freed_bytes"]) == (1, dry["freed_bytes"])
    assert not entries[0].exists()
    assert entries[1].exists()
    os.utime(entries[1], (month, month))
    (own.cache / "photos").mkdir()
    assert own.json("gc", "--max-bytes", str(real["bytes"]), "--older-than", "50")["removed"] == 0
    text = own.run("gc", "--max-bytes", "0", check=0).stdout
    assert text.startswith("removed 1 of 1 entries")
    assert (own.cache / "photos").exists()
    for words in (["--max-bytes", "-1"], ["--max-bytes", "much"], ["--older-than", "nan"]):
        own.run("gc", *words, check=2)
    # What was trimmed is built again.
    own.run("check", "cpu_online", "--problem", SMALL, check=0)
    (tmp_path / "file").write_text("x")
    done = Workbench(build / "sdpa-wb", tmp_path, tmp_path / "file").run("gc", check=2)
    assert "Not a directory; name a folder" in done.stderr


def test_best_says_what_is_chosen_and_why(wb, tmp_path):
    shipped = wb.json("best", "--problem", SMALL)
    assert (shipped["variant"], shipped["fallback"]) == ("cpu_tiled", True)
    kernels = tmp_path / "kernels"
    kernels.mkdir()
    proof = {"artifact_id": "a" * 64, "session": "s-0007"}
    rules = [
        {"when": "Sq > 32", "variant": "gone", **proof},
        {"when": "Sq > 32", "dtypes": ["f32"], "variant": "cpu_online", **proof},
        {"variant": "cpu_unfused"},
    ]
    table = kernels / "dispatch.json"
    table.write_text(json.dumps({"version": 1, "rules": rules}))
    best = wb.json("best", "--problem", SMALL)
    assert (best["variant"], best["rule"], best["session"]) == ("cpu_online", 2, "s-0007")
    assert best["passed_over"][0]["variant"] == "gone"
    text = wb.run("best", "--problem", SMALL, check=0).stdout
    assert "Sq > 32" in text
    assert "s-0007" in text
    assert "passed over: rule 1" in text
    short = wb.run("best", "--problem", "B=1 Hq=2 Sq=8 D=32 f32", check=0).stdout
    assert short.startswith("cpu_unfused")
    assert "fallback" in short
    wb.run("best", "--problem", "B=1 Sq=none", check=65)
    wb.run("best", check=2)
    table.write_text('{"version": 1, "rules": []}')
    wb.run("best", "--problem", SMALL, check=65)
    table.write_text("{")
    wb.run("best", "--problem", SMALL, check=65)
