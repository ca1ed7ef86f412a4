"""Bad input: one clear message each (what, where, why, what to do) and the documented exit code."""

import json
import os
import shutil

import pytest
from support.commands import SMALL
from support.logs import events

OPEN = ["open", "--start", "cpu_unfused", "--rivals", "none", "--effort", "quick"]

COMMANDS = [
    (["chek", "cpu_tiled"], 2, "did you mean check"),
    (["check", "cpu_tild", "--problem", SMALL], 2, "did you mean cpu_tiled"),
    (["check", "cpu_tiled", "--suite", "n66"], 2, "did you mean n6"),
    (["check", "cpu_tiled"], 2, "--suite"),
    (["check", "cpu_tiled", "--problm", SMALL], 2, "did you mean --problem"),
    (["check", "cpu_tiled", "--problem", "B=1 Hq=3 Hkv=2 Sq=4 D=4"], 65, "Hkv"),
    (["check", "cpu_tiled", "--problem", "B=1 Hq=1 Sq=0 D=4"], 65, "Sq"),
    (["check", "cpu_tiled", "--problem", "B=1 Hq=1 Sq=4 D=4 f13"], 65, "f13"),
    (["check", "cpu_tiled", "--problem", SMALL, "--configuration", "TILE_Q=4"], 65, "TILE_M"),
    (
        ["check", "cpu_tiled", "--problem", SMALL, "--configuration", "TILE_M=x"],
        2,
        "--configuration TILE_M",
    ),
    (["check", "cpu_unfused", "--problem", SMALL, "--threads", "1000000"], 2, "0 to 4096"),
    (["check", "cpu_unfused", "--problem", SMALL, "--threads", "0x2"], 2, "integer"),
    (["check", "cpu_unfused", "--problem", SMALL, "--threads", "1.5"], 2, "integer"),
    (["check", "cpu_unfused", "--problem", SMALL, "--gpu", "-1"], 2, "0 to 4096"),
    (["kernels", "--path", "nowhere"], 2, "use --path nowhere: there is no such folder"),
    (["kernels", "--isolation", "all"], 2, "namespaces"),
    (["import", "report", "."], 2, "it is a folder"),
    (["audit", "."], 2, "it is a folder"),
    (["audit", "pipe"], 2, "it is not a regular file"),
    (["audit", "r.md/x"], 2, "Not a directory"),
    (["status", "--session", "x" * 256], 2, "name too long"),
    (["status", "--session", "loop"], 2, "symbolic links"),
    ([*OPEN, "--problem", SMALL, "--session", "x" * 256], 2, "name too long"),
    (["check", "cpu_tiled", "--problem", SMALL, "--configuration", "TILE_M=7"], 65, "TILE_M"),
    (["iterate", "--variant", "cpu_tiled", "--predicted-speedup", "1.1"], 2, "hypothesis"),
    (["iterate", "--variant", "a", "--hypothesis", "x", "--predicted-speedup", "nan"], 2, "finite"),
    (
        ["iterate", "--variant", "a", "--hypothesis", "x", "--predicted-speedup", "1.1"],
        2,
        "session",
    ),
    (["status"], 2, "--session"),
    (["status", "--session", "nowhere"], 2, "nowhere"),
    ([*OPEN, "--problem", SMALL, "--backend", "cuda", "--gpu", "4000"], 76, "the judge could not"),
    ([*OPEN, "--problem", SMALL, "--usd", "-1"], 2, "usd"),
    (["run", "no_such_playbook"], 2, "no_such_playbook"),
    (["build", "cpu_tild"], 2, "did you mean cpu_tiled"),
    (["build", "cpu_tiled", "--target", "sm_90a"], 65, "not a CPU target"),
    (["build", "sm90_wgmma_flash", "--target", "sm_80"], 65, "written for sm_90a"),
    (["build", "sm90_wgmma_flash", "--target", "x86-64"], 65, "no CUDA architecture"),
    (["build", "sm90_wgmma_flash", "--nvcc", "nowhere/nvcc"], 2, "nowhere/nvcc"),
    (["show", "cpu_tiled", "--sass"], 65, "--source"),
    (["show", "sm90_wgmma_flash", "--ptx", "--sass"], 2, "one of them"),
    (["show", "sm90_wgmma_flash"], 2, "--session"),
]


@pytest.mark.parametrize(
    ("words", "code", "fragment"), COMMANDS, ids=lambda v: v if isinstance(v, str) else None
)
def test_commands(wb, words, code, fragment):
    os.mkfifo(wb.folder / "pipe")
    (wb.folder / "r.md").touch()
    (wb.folder / "loop").symlink_to("loop")
    done = wb.run(*words)
    assert done.returncode == code, done.stderr
    assert fragment in done.stderr
    assert len(done.stderr.strip().splitlines()) <= 3
    assert "terminate called" not in done.stderr


HOSTILE_JSON = {
    "empty": b"",
    "not_json": b"hello",
    "bom": b"\xef\xbb\xbf{}",
    "nul": b'{"name":"a\\u0000b"}\x00',
    "deep": b"[" * 100_000,
    "duplicate": b'{"name":"x","name":"y"}',
    "huge_number": b'{"name":1e999}',
    "bad_utf8": b'{"name":"\xff\xfe"}',
    "wrong_type": b'["list"]',
    "truncated": b'{"name":"x"',
}


@pytest.mark.parametrize("name", HOSTILE_JSON)
def test_hostile_manifests(wb, tmp_path, name):
    folder = tmp_path / "kernels" / "broken"
    folder.mkdir(parents=True)
    (folder / "kernel.json").write_bytes(HOSTILE_JSON[name])
    done = wb.run("check", "broken", "--problem", SMALL)
    assert done.returncode in {2, 5, 65}, done.stderr
    assert "kernel.json" in done.stderr
    # The other kernels are still there.
    assert "cpu_tiled" in wb.run("kernels", check=0).stdout


@pytest.mark.parametrize("name", HOSTILE_JSON)
def test_hostile_suites(wb, tmp_path, name):
    (tmp_path / "kernels").mkdir()
    (tmp_path / "kernels" / "suites.json").write_bytes(HOSTILE_JSON[name])
    done = wb.run("check", "cpu_tiled", "--suite", "n6")
    assert done.returncode in {2, 5, 65}, done.stderr
    assert "suites.json" in done.stderr


@pytest.mark.parametrize("name", HOSTILE_JSON)
def test_hostile_session_files(wb, tmp_path, name):
    session = tmp_path / wb.open_small()["session"]
    (session / "session.json").write_bytes(HOSTILE_JSON[name])
    log = (session / "events.jsonl").read_bytes()
    done = wb.run("note", "x", "--session", session)
    assert done.returncode in {5, 65}, done.stderr
    assert "session.json" in done.stderr
    assert (session / "events.jsonl").read_bytes() == log


def test_a_manifest_that_leaves_its_folder(wb, tmp_path):
    source = shutil.copytree(
        wb_root() / "kernels" / "cpu_unfused", tmp_path / "kernels" / "escapes"
    )
    manifest = json.loads((source / "kernel.json").read_text())
    manifest["name"] = "escapes"
    manifest["sources"] = ["../../../etc/passwd"]
    (source / "kernel.json").write_text(json.dumps(manifest))
    done = wb.run("check", "escapes", "--problem", SMALL)
    assert done.returncode == 65
    assert "outside" in done.stderr or "inside" in done.stderr


def test_sources_and_compiler_words_that_are_not_utf8(wb, tmp_path):
    source = tmp_path / "kernels" / "latin"
    source.mkdir(parents=True)
    (source / "kernel.json").write_text(
        '{"name": "latin", "backend": "cpu", "sources": ["kernel.cpp"]}'
    )
    words = b'// caf\xe9\n#warning "caf\xe9"\nint nothing;\n'
    (source / "kernel.cpp").write_bytes(words)
    shown = wb.json("show", "latin", "--source")
    assert "// caf\ufffd" in shown["text"]
    built = wb.json("build", "latin")
    assert not built["cached"]
    assert "#warning" in built["log"]
    assert wb.json("build", "latin")["log"] == built["log"]
    # A compiler that refuses repeats the line too.
    (source / "kernel.cpp").write_bytes(words.replace(b"warning", b"error"))
    refused = wb.json("build", "latin", check=3)
    assert "#error" in refused["error"]["message"]


def wb_root():
    from support.commands import ROOT

    return ROOT


def test_a_newer_session_format_is_refused(wb, tmp_path):
    session = tmp_path / wb.open_small()["session"]
    identity = json.loads((session / "session.json").read_text())
    identity["format"] = 999
    (session / "session.json").write_text(json.dumps(identity))
    done = wb.run("note", "x", "--session", session, check=65)
    assert "999" in done.stderr


def test_damage_in_the_middle_is_refused_and_nothing_is_touched(wb, tmp_path):
    session = tmp_path / wb.open_small()["session"]
    log = bytearray((session / "events.jsonl").read_bytes())
    log[len(log) // 2] ^= 1
    (session / "events.jsonl").write_bytes(log)
    done = wb.run("note", "x", "--session", session, check=65)
    assert "line" in done.stderr
    assert (session / "events.jsonl").read_bytes() == bytes(log)


def test_a_torn_tail_is_cut_saved_and_reported(wb, tmp_path):
    session = tmp_path / wb.open_small()["session"]
    whole = events(session)
    with (session / "events.jsonl").open("ab") as log:
        log.write(b'{"seq":9999,"prev":"')
    wb.run("note", "after the crash", "--session", session, check=0)
    after = events(session)
    assert after[: len(whole)] == whole
    assert "recovered" in [e["type"] for e in after[len(whole) :]]
    assert list(session.glob("events.torn*"))


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_read_only_session(wb, tmp_path):
    session = tmp_path / wb.open_small()["session"]
    (session / "events.jsonl").chmod(0o400)
    session.chmod(0o500)
    done = wb.run("note", "x", "--session", session)
    session.chmod(0o700)
    assert done.returncode == 73, done.stderr
