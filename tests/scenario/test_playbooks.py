# SPDX-License-Identifier: MIT
"""Playbooks by the real command: those that measure outside iterations, races, sessions that go on
from one another, goals (lib/goals.lua) and steps one after the other (lib/climb.lua). Those for
agents are listed beside them, and the analyzer's own steps run as they stand."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from support.commands import ROOT, SMALL
from support.logs import events
from trace_files import OWN as TRACES
from trace_files import findings, metrics


@pytest.mark.parametrize(
    ("name", "words"),
    [("baseline", ["--arguments", "rivals=cpu_online"]), ("confirm", [])],
    ids=["baseline", "confirm"],
)
def test_a_playbook_that_measures_outside_iterations(wb, tmp_path, name, words):
    wb.turns.take(cpu_tiled=50)
    wb.run("run", name, "--effort", "quick", "--rivals", "none", "--problem", SMALL,
           "--session", "s", *words, check=0)  # fmt: skip
    log = events(tmp_path / "s")
    assert log[-1]["type"] == "session_closed"
    outside = [e for e in log if e["type"] == "turn_measured" and e["payload"]["iteration"] is None]
    assert bool(outside) == (name == "baseline")
    assert wb.json("status", "--session", "s")["status"] == "closed"
    wb.run("report", "--session", "s", check=0)


def test_a_race_and_a_session_after_it(wb, tmp_path):
    wb.open_small()
    wb.turns.take(cpu_online=80, cpu_tiled=50)
    answer = wb.json(
        "race", "--variants", "cpu_online", "cpu_tiled", "--hypothesis", "one of them is faster",
        "--predicted-speedup", "2", "--session", "s",
    )  # fmt: skip
    assert answer["outcome"] == "win", answer
    assert answer["incumbent"].startswith("cpu_tiled@")
    assert {row["variant"] for row in answer["evaluations"]} == {"cpu_online", "cpu_tiled"}
    refused = wb.run("open", "--after", "s", "--session", "two")
    assert refused.returncode != 0
    assert "not closed" in refused.stderr
    assert not (tmp_path / "two").exists()
    wb.run("close", "--session", "s", check=0)
    wb.run("open", "--after", "s", "--session", "two", check=0)
    first = events(tmp_path / "two")[0]["payload"]
    assert first["series"]["number"] == 2
    assert first["start_variant"] == answer["incumbent"]
    report = wb.run("report", "--kind", "full", "--session", "two", check=0).stdout
    assert "Session 2 of a series" in report
    assert "`s`" in report


def test_the_demo_ends_with_where_it_stands(wb):
    wb.turns.take(
        cpu_unfused=800, cpu_online=400, cpu_tiled=200, cpu_simd_flash=100, cpu_splitkv=20
    )
    problems = [SMALL, "B=2 Hq=2 Sq=32 D=32 f32"]
    done = wb.run(
        "run", "optimize", "--session", "s", "--effort", "quick", "--rivals", "cpu_splitkv",
        "--problem", "; ".join(problems), "--evaluations", "3", check=0,
    )  # fmt: skip
    assert wb.json("status", "--session", "s")["incumbent"].startswith("cpu_simd_flash@")
    begin = "Behind PyTorch on 2 of 2 problems: "
    last = done.stdout.strip().splitlines()[-1]
    assert last.startswith(begin)
    for part in last.removeprefix(begin).split("; "):
        assert " 0.20x of cpu_splitkv: " in part
        assert part.split(" of cpu_splitkv: ")[1]  # what would change it


# playbooks/lib: goals.lua, kernels of the dispatch rules beside rivals, held against goals;
# climb.lua, steps one after the other.

OWN = Path(__file__).parent / "playbooks"


@pytest.fixture
def playbooks(tmp_path):
    """Playbooks of the tests beside the libraries of the product's."""
    folder = tmp_path / "playbooks"
    shutil.copytree(ROOT / "playbooks" / "lib", folder / "lib")
    for name in ("beside", "climb_from", "judge_goals"):
        shutil.copy(OWN / f"{name}.lua", folder)
    return folder


def test_a_climb_goes_on_from_a_step(wb, playbooks):
    wb.run("playbook", "check", str(playbooks / "climb_from.lua"), check=0)


def test_what_goals_say_of_rows(wb, playbooks):
    wb.run("playbook", "check", str(playbooks / "judge_goals.lua"), check=0)


def test_goals_are_measured_in_the_same_turns_and_noted(wb, playbooks, tmp_path):
    wb.turns.take(cpu_tiled=50, cpu_unfused=200, cpu_online=100)
    wb.run(
        "run", str(playbooks / "beside.lua"), "--rivals", "none", "--session", "s",
        "--arguments", "rivals=cpu_unfused+cpu_online", check=0,
    )  # fmt: skip
    log = events(tmp_path / "s")
    notes = [e["payload"]["text"] for e in log if e["type"] == "note"]
    assert any(n.startswith("easy: ") and "goal reached" in n for n in notes), notes
    hard = next(n for n in notes if n.startswith("hard: "))
    assert "goal missed" in hard
    assert "n6_S64 " in hard.split("short: ")[1]
    assert "n6_S65 " in hard.split("short: ")[1]
    made = [e["payload"] for e in log if e["type"] == "comparison_made"]
    beside = {m["against"].split("@")[0] for m in made if m["phase"] == "standalone"}
    assert beside == {"cpu_unfused", "cpu_online"}
    assert {m["regime"] for m in made if m["phase"] == "standalone"} == {"burst"}
    report = wb.run("report", "--kind", "full", "--session", "s", check=0).stdout
    assert "## Compared between iterations" in report


def test_a_part_that_is_not_there_is_an_error(wb, playbooks):
    done = wb.run(
        "run", str(playbooks / "beside.lua"), "--rivals", "none", "--session", "s",
        "--arguments", "rivals=cpu_unfused", "parts=easier",
    )  # fmt: skip
    assert done.returncode == 65, done.stderr
    assert "no such part: easier" in done.stderr


# Playbooks for agents.

ANALYZER = ROOT / "playbooks" / "agents" / "sdpa-analyzer.md"


def test_playbooks_of_lua_and_of_agents_are_listed(wb):
    listed = {one["name"]: one for one in wb.json("playbooks")["playbooks"]}
    lua = {file.stem for file in (ROOT / "playbooks").glob("*.lua")}
    assert lua | {"documents/n6_baseline", "h200/h200_part1", "agents/sdpa-analyzer"} <= set(listed)
    assert all(one["problem"] is None and one["about"] for one in listed.values())
    assert listed["tune"]["kind"] == "lua"
    assert "variant" in listed["tune"]["arguments"]
    analyzer = listed["agents/sdpa-analyzer"]
    assert (analyzer["kind"], analyzer["model"]) == ("agent", "inherit")
    assert analyzer["tools"] == ["Bash", "Read"]
    assert "instructions" not in analyzer
    # A name alone serves where nothing outside of a folder has it.
    assert wb.json("playbooks", "h200_part1")["playbooks"] == [listed["h200/h200_part1"]]
    assert wb.json("playbooks", "ladder")["playbooks"] == [listed["ladder"]]
    (one,) = wb.json("playbooks", "sdpa-analyzer")["playbooks"]
    assert ANALYZER.read_text().endswith(one["instructions"])
    assert "did you mean agents/sdpa-analyzer" in wb.run("playbooks", "agents/sdpa-analyser").stderr


def test_a_broken_playbook_is_listed_with_the_reason(wb, tmp_path):
    folder = tmp_path / "playbooks" / "agents"
    folder.mkdir(parents=True)
    (folder / "mine.md").write_text("# no front matter\n")
    (folder.parent / "odd.lua").write_text("return 5\n")
    (folder / "sdpa-analyzer.md").write_text(
        "---\nname: sdpa-analyzer\ndescription: mine\nmodel: small\n---\nDo \x1b[31mit.\n"
    )
    assert "Do \\x1b[31mit.\n" in wb.run("playbooks", "sdpa-analyzer", "--path", tmp_path).stdout
    answer = wb.json("playbooks", "--path", tmp_path)
    listed = {one["name"]: one for one in answer["playbooks"]}
    assert "first line is not ---" in listed["agents/mine"]["problem"]
    assert listed["odd"]["problem"]
    assert listed["agents/sdpa-analyzer"]["model"] == "small"  # the first of that name
    assert listed["tune"]["problem"] is None


def steps(word=""):
    text = ANALYZER.read_text()
    return re.findall(rf"^```sh{' ' + word if word else ''}\n(.*?)^```$", text, re.M | re.S)


def follow(wb, commands, **given):
    """Runs them one after the other, as an agent's shell would; returns the last."""
    environment = os.environ | {name: str(value) for name, value in given.items()}
    environment["PATH"] = f"{wb.program.parent}:{environment['PATH']}"
    for command in commands:
        done = subprocess.run(["bash", "-euc", command], env=environment, cwd=wb.folder, text=True,
                              capture_output=True, timeout=120)  # fmt: skip
        if done.returncode != 0:
            break
    return done


@pytest.mark.parametrize(
    ("profile", "kind"),
    [("synthetic_flash_gqa_train", "Flash Attention"),
     ("synthetic_paged_classic", "Paged Attention"),
     ("synthetic_unfused", "Standard (unfused) Attention")],
)  # fmt: skip
def test_the_analyzer_runs_the_whole_analysis(wb, profile, kind):
    out = wb.folder / "out"
    commands = steps()
    assert len(commands) == 4  # analyze, read, check, hand over
    done = follow(wb, commands, TRACE=TRACES / f"{profile}.json", OUTPUT_DIR=out, PLATFORM="MI300X",
                  NODE="", CONTAINER="")  # fmt: skip
    if profile == "synthetic_paged_classic":  # all ran; of pages no problem can be made
        assert done.returncode == 65
        assert "trace suite" in done.args[-1]
    else:
        assert done.returncode == 0, done.stdout + done.stderr
        assert (out / "suite" / "kernels" / "suites.json").exists()
    assert f"**Attention type:** {kind}" in findings(out)
    assert metrics(out)["status"] == "OK"
    shutil.rmtree(out / "category_findings")
    (again,) = steps("prepared")
    assert follow(wb, [again], OUTPUT_DIR=out).returncode == 0
    assert kind in findings(out)


def test_the_analyzer_ends_where_a_profile_cannot_be_read(wb, tmp_path):
    trace = tmp_path / "cut.json"
    trace.write_text('{"traceEvents": [')
    out = wb.folder / "out"
    done = follow(wb, steps()[:1], TRACE=trace, OUTPUT_DIR=out, PLATFORM="L4")
    assert done.returncode == 65
    assert "**Status:** ERROR" in findings(out)
