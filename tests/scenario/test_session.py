# SPDX-License-Identifier: MIT
"""One whole session through the real commands: open, iterate, report, show, close, commits; and how
strongly its subjects are confined, which `doctor` and the log say and `--isolation` forces."""

import hashlib
import json
import subprocess
from pathlib import Path

import pytest
from support.commands import SMALL
from support.logs import check_chain, events, git
from test_git_surroundings import TRY


def test_a_session_from_open_to_close(wb, tmp_path):
    wb.turns.take(cpu_tiled=50)
    opened = wb.open_small(compile_cpu_usd_per_hour=0.1, device_usd_per_hour=1.0)
    session = tmp_path / opened["session"]
    answer = wb.json(
        "iterate", "--variant", "cpu_tiled", "--hypothesis", "tiles reuse keys",
        "--predicted-speedup", "1.5", "--confirm", "always", "--session", session,
    )  # fmt: skip
    assert (answer["outcome"], answer["decision"]) == ("win", "supported")
    assert answer["mechanism"] == "confirmed"
    assert answer["size"] in {"within", "above", "undecided"}
    assert answer["speedup"] == pytest.approx(2, rel=0.01)
    wb.run("note", "tiles first", "--session", session, check=0)
    log = events(session)
    check_chain(session)

    # No speed without a verdict: every timed subject passed before its first turn.
    passed = set()
    for event in log:
        payload = event["payload"]
        if event["type"] == "verdict_given" and payload["pass"]:
            passed.add((payload["subject"], payload["problem"]))
        if event["type"] == "turn_measured":
            assert (payload["subject"], payload["problem"]) in passed

    # The gain in the closing event is the confirmed comparison's, not the selection's.
    comparisons = [
        e["payload"] for e in log
        if e["type"] == "comparison_made" and e["payload"]["problem"] is None
    ]  # fmt: skip
    closing = [e["payload"] for e in log if e["type"] == "iteration_closed"][-1]
    assert comparisons[-1]["phase"] == "confirmation"
    assert closing["speedup"] == comparisons[-1]["speedup"]

    # Pages are what the log says they are, and the commit holds those very bytes.
    for name, digest in closing["pages"].items():
        page = (session / "iterations" / name).read_bytes()
        assert hashlib.sha256(page).hexdigest() == digest
        committed = subprocess.run(
            ["git", "-C", str(session), "show", f"HEAD:iterations/{name}"], capture_output=True,
            check=True,
        )  # fmt: skip
        assert committed.stdout == page
    trailers = dict(
        line.split(": ", 1)
        for line in git(session, "log", "-1", "--format=%(trailers)").splitlines()
    )
    assert trailers["Iteration"] == "1"
    assert trailers["Outcome"] == answer["outcome"]
    assert trailers["Cost"].startswith("$")

    shown = wb.json("show", f"e{log[2]['seq']}", "--session", session)
    assert shown["value"]["payload"] == log[2]["payload"]
    closed = wb.json("close", "--session", session, "--reason", "enough")
    report = (session / "reports" / "session_full.md").read_text()
    assert closed["report"].endswith("session.md")
    assert "enough" in Path(closed["report"]).read_text()
    assert "enough" in report
    assert (
        "rate not given" not in report.split("## Cost")[-1].split("##")[0].replace("tokens", "")
        or "tokens" in report
    )
    git(session, "fsck", "--strict")
    assert git(session, "show", "HEAD:events.jsonl") == (
        (session / "events.jsonl").read_text().strip()
    )
    # A closed session is read-only.
    wb.run("note", "late", "--session", session, check=65)


def test_a_variant_that_does_not_compile_costs_one_iteration(wb, tmp_path):
    session = tmp_path / wb.open_small()["session"]
    answer = wb.json(
        "iterate", "--parent", "cpu_unfused", "--files", "kernel.cpp=int nonsense(;",
        "--hypothesis", "less code is faster", "--predicted-speedup", "2", "--session", session,
        check=3,
    )  # fmt: skip
    assert answer["outcome"] == "invalid"
    assert answer["invalidity"] == "compile"
    built = [e["payload"] for e in events(session) if e["type"] == "variant_built"][-1]
    compiler_words = (session / "blobs" / built["log_blob"]).read_text()
    assert "kernel.cpp" in compiler_words
    # The session goes on.
    again = wb.json(
        "iterate", "--variant", "cpu_online", "--hypothesis", "one pass", "--predicted-speedup",
        "1.2", "--session", session,
    )  # fmt: skip
    assert again["outcome"] == "no_gain"


def test_a_wrong_variant_is_never_timed(wb, tmp_path):
    session = tmp_path / wb.open_small()["session"]
    source = (tmp_path / "kernel.cpp").resolve()
    kernel = next(
        (session / "kernels").glob("*/cpu_unfused/kernel.cpp")
    ).read_text()  # what the session stored
    wrong = kernel.replace("(p.scale)", "(1.01 * p.scale)")
    assert wrong != kernel
    source.write_text(wrong)
    answer = wb.json(
        "iterate", "--parent", "cpu_unfused", "--files", f"kernel.cpp=@{source}",
        "--hypothesis", "scale does not matter", "--predicted-speedup", "1.1",
        "--session", session, check=4,
    )  # fmt: skip
    assert answer["invalidity"] == "correctness", answer
    timed = [e for e in events(session) if e["type"] == "turn_measured"]
    assert all(e["payload"]["iteration"] == 0 for e in timed)


def test_a_repeated_request_gives_the_first_answer(wb, tmp_path):
    session = tmp_path / wb.open_small()["session"]
    words = ["note", "once", "--session", session, "--request-id", "r-1"]
    first, second = wb.json(*words), wb.json(*words)
    assert first == second
    assert sum(e["type"] == "note" for e in events(session)) == 1


def test_milestones_are_told(wb, tmp_path):
    told = tmp_path / "told"
    session = tmp_path / "s"
    hook = f'printf \'%s %s\\n\' "$WB_EVENT" "$1" >>{told}; exit 3'
    wb.open_small(session, evaluations=2)
    for _ in range(2):
        done = wb.run(*TRY, "--session", session, "--on-event", hook)
        assert "--on-event: exit code 3" in done.stderr
    wb.run("close", "--session", session, "--on-event", hook, check=0)
    lines = [line.split(" ", 1) for line in told.read_text().splitlines()]
    words = [word for word, _ in lines if word != "failure"]
    assert words == ["budget", "budget", "end"]
    details = [json.loads(text) for _, text in lines]
    assert [d["percent"] for d in details if d["event"] == "budget"] == [50, 80]
    assert details[-1]["how"] == "closed"
    assert all(d["session"].endswith("s") for d in details)


# How strongly subjects are confined is said by `doctor` and by the log, and `--isolation` forces
# each level that the machine has below that.

LEVELS = ["rlimits", "landlock", "seccomp", "namespaces"]


def doctor_says(wb, *words):
    rows = {row["name"]: row for row in wb.json("doctor", *words, check=None)["checks"]}
    return rows["worker"]["detail"].rsplit("isolation ", 1)[1]


def log_says(wb, level):
    wb.run("open", "--start", "cpu_online", "--problem", SMALL, "--rivals", "none", "--effort",
           "quick", "--session", level, "--isolation", level, check=0)  # fmt: skip
    recorded = [e for e in events(wb.folder / level) if e["type"] == "environment_recorded"]
    return recorded[0]["payload"]["worker"]["isolation"]


def test_each_level_is_forced_and_said(wb):
    strongest = doctor_says(wb)
    said = [log_says(wb, level) for level in LEVELS]
    assert said[0] == "rlimits+no_new_privs"
    assert said[-1] == strongest
    for i in range(1, len(LEVELS)):
        assert said[i].startswith(said[i - 1])  # the same where the machine has no more
        assert not any(above in said[i - 1] for above in LEVELS[i:])
    assert doctor_says(wb, "--isolation", "landlock") == said[1]


def test_a_level_that_is_none_is_refused(wb):
    refused = wb.run("doctor", "--isolation", "none")
    assert refused.returncode != 0
    assert "namespaces" in refused.stderr
