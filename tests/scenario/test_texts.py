# SPDX-License-Identifier: MIT
"""Texts of others: a byte order mark, `#!`, lines that end as elsewhere, or another encoding. All
are read like any other, or the message says what they are. And texts longer than a line of the log:
refused as an argument, or kept in a blob."""

import json
import shutil

import pytest
from support.commands import ROOT, SMALL
from support.logs import events
from test_memory_verbs import snapshot

MARK = "\ufeff"
AS = {  # how an editor saved a text
    "a mark": lambda text: (MARK + text).encode(),
    "CR LF": lambda text: text.replace("\n", "\r\n").encode(),
    "a mark and CR LF": lambda text: (MARK + text).replace("\n", "\r\n").encode(),
    "CR": lambda text: text.replace("\n", "\r").encode(),
}
UTF_16 = {
    "UTF-16 with a mark": lambda text: text.encode("utf-16"),
    "UTF-16": lambda text: text.encode("utf-16-le"),
    "UTF-16, big end first": lambda text: text.encode("utf-16-be"),
}
PLAYBOOK = """return {
  name = "texts", about = "long text",
  run = function(wb)
    local help = require "lib.help"
    return { text = [[one
two]], more = help.word }
  end,
  open = { start = "cpu_online", problem = "B=1 Hq=1 Sq=32 D=32 f32", effort = "quick",
           rivals = { "none" } },
}
"""
HELP = "local help = {}\nhelp.word = 'a'\nreturn help\n"
SUITES = json.dumps(
    {"version": 1, "suites": {"mine": {"about": "a", "problems": [
        {"name": "p", "B": 1, "Hq": 2, "Sq": 64, "D": 32, "dtype": "f32"}]}}}, indent=1,
)  # fmt: skip
TABLE = "Sq,D,ours_us,torch_us\n64,32,12.5,25.75\n128,32,25.5,51.5\n"
ANALYZE = ["analyze", "--table", "t.csv", "--device", "H200", "--shape", "B=1 Hq=8 f16"]
AGENT = "---\nname: helper\ndescription: helps\n---\nDo this.\n"


def parametrized(kinds):
    return pytest.mark.parametrize("save", kinds.values(), ids=kinds.keys())


def write_playbook(wb, save, name="texts.lua"):
    (wb.folder / "lib").mkdir(exist_ok=True)
    (wb.folder / name).write_bytes(save(PLAYBOOK))
    (wb.folder / "lib" / "help.lua").write_bytes(save(HELP))


@parametrized(AS)
def test_playbooks_and_their_libraries_are_read(wb, save):
    write_playbook(wb, save)
    wb.run("playbook", "check", "./texts.lua", check=0)


def test_a_long_text_of_a_playbook_has_plain_lines(wb):
    write_playbook(wb, AS["a mark and CR LF"])
    answer = wb.json("run", "./texts.lua", "--session", "s")
    assert answer["result"] == {"text": "one\ntwo", "more": "a"}


@pytest.mark.parametrize("mark", ["", MARK])
def test_a_first_line_for_the_shell_is_passed_over_and_lines_keep_their_numbers(wb, mark):
    first = mark + "#!/usr/bin/env lua\n"
    write_playbook(wb, lambda text: (first + text).encode())
    wb.run("playbook", "check", "./texts.lua", check=0)
    write_playbook(wb, lambda text: (first + text.replace("local", "locale")).encode())
    done = wb.run("playbook", "check", "./texts.lua")
    assert done.returncode == 65
    assert "lib.help:2" in done.stderr or "texts.lua:5" in done.stderr


@parametrized(UTF_16)
def test_a_playbook_in_another_encoding_is_named(wb, save):
    write_playbook(wb, save)
    done = wb.run("playbook", "check", "./texts.lua")
    assert done.returncode == 65
    assert "it is UTF-16, not UTF-8" in done.stderr
    assert "texts.lua" in done.stderr
    (wb.folder / "texts.lua").write_text(PLAYBOOK)  # now only its library is
    done = wb.run("playbook", "check", "./texts.lua")
    assert "UTF-16" in done.stderr
    assert "help.lua" in done.stderr


@pytest.fixture
def mine(wb):
    """A folder for the search path, with a kernel and a suite of its own."""
    kernels = wb.folder / "mine" / "kernels"
    shutil.copytree(ROOT / "kernels" / "cpu_unfused", kernels / "own")
    path = kernels / "own" / "kernel.json"
    path.write_text(path.read_text().replace('"cpu_unfused"', '"own"'))
    (kernels / "suites.json").write_text(SUITES)
    return kernels


def check_own(wb):
    return wb.run("check", "own", "--path", "mine", "--suite", "mine")


@pytest.mark.parametrize("save", [AS["CR LF"], AS["CR"]], ids=["CR LF", "CR"])
def test_suites_and_manifests_with_other_line_ends_are_read(wb, mine, save):
    for path in (mine / "suites.json", mine / "own" / "kernel.json"):
        path.write_bytes(save(path.read_text()))
    assert check_own(wb).returncode == 0, check_own(wb).stderr


@pytest.mark.parametrize("file", ["suites.json", "own/kernel.json"])
@pytest.mark.parametrize(
    ("save", "word"),
    [(AS["a mark"], "byte order mark"), (UTF_16["UTF-16 with a mark"], "UTF-"),
     (UTF_16["UTF-16"], "UTF-"), (lambda text: b"#!/x\n" + text.encode(), "line 1, column 1")],
    ids=["a mark", "UTF-16 with a mark", "UTF-16", "#!"],
)  # fmt: skip
def test_suites_and_manifests_that_are_no_JSON_are_named(wb, mine, file, save, word):
    path = mine / file
    path.write_bytes(save(path.read_text()))
    done = check_own(wb)
    assert done.returncode != 0
    assert word in done.stderr
    assert file in done.stderr


@parametrized(AS)
def test_tables_are_read(wb, save):
    (wb.folder / "t.csv").write_text(TABLE)
    plain = wb.json(*ANALYZE)
    (wb.folder / "t.csv").write_bytes(save(TABLE))
    assert wb.json(*ANALYZE) == plain


@pytest.mark.parametrize(
    ("bytes_", "word"),
    [(TABLE.encode("utf-16"), "UTF-16"), (TABLE.encode("utf-16-le"), "UTF-16"),
     (TABLE.replace(",", ";").replace(".", ",").encode(), "semicolons")],
)  # fmt: skip
def test_tables_that_cannot_be_read_are_named(wb, bytes_, word):
    (wb.folder / "t.csv").write_bytes(bytes_)
    done = wb.run(*ANALYZE)
    assert done.returncode == 65
    assert word in done.stderr
    assert "t.csv" in done.stderr


def test_a_report_in_another_encoding_is_named(wb):
    (wb.folder / "r.md").write_bytes("# A report\n\n1.5x faster\n".encode("utf-16"))
    done = wb.run("audit", "r.md")
    assert done.returncode == 65
    assert "UTF-16" in done.stderr


@parametrized(AS)
def test_instructions_for_agents_are_read(wb, save):
    folder = wb.folder / "mine" / "playbooks" / "agents"
    folder.mkdir(parents=True)
    (folder / "helper.md").write_bytes(save(AGENT))
    (row,) = wb.json("playbooks", "helper", "--path", "mine")["playbooks"]
    assert row["problem"] is None
    assert row["about"] == "helps"
    assert row["instructions"].strip() == "Do this."


def test_sources_of_others_compile(wb, mine):
    source = mine / "own" / "kernel.cpp"
    source.write_bytes((MARK + source.read_text()).replace("\n", "\r\n").encode())
    wb.run("check", "own", "--path", "mine", "--problem", SMALL, check=0)


# What is longer than a line of the log: refused as an argument, or kept in a blob.


def test_texts_too_long_for_the_log_are_refused_and_long_sources_are_not(wb, tmp_path):
    session = tmp_path / wb.open_small()["session"]
    before = snapshot(session)
    done = wb.run("note", "x" * 30_000, "--session", session, check=2)
    assert "30000 bytes long; at most 20000" in done.stderr
    assert snapshot(session) == before
    wb.run("note", "x" * 20_000, "--session", session, check=0)
    source = (ROOT / "kernels/cpu_online/kernel.cpp").read_text() + "// " + "y" * 100_000 + "\n"
    (tmp_path / "long.cpp").write_text(source)
    wb.turns.take(cpu_online=80)
    answer = wb.json(
        "iterate", "--parent", "cpu_online", "--files", "kernel.cpp=@long.cpp",
        "--hypothesis", "a longer comment changes nothing", "--predicted-speedup", "1.1",
        "--session", session,
    )  # fmt: skip
    assert answer["outcome"] == "win"
    called = [e["payload"] for e in events(session) if e["type"] == "verb_called"][-1]
    stored = json.loads((session / "blobs" / called["args_blob"]).read_text())
    assert stored["files"]["kernel.cpp"] == source
