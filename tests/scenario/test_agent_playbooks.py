"""Playbooks for agents: listed beside Lua's, and the analyzer's own steps run as they stand."""

import os
import re
import shutil
import subprocess

import pytest
from support.commands import ROOT
from trace_files import OWN, findings, metrics

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
    done = follow(wb, commands, TRACE=OWN / f"{profile}.json", OUTPUT_DIR=out, PLATFORM="MI300X",
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
