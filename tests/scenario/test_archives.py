"""Archives of sessions: packed, unpacked and redacted."""

import hashlib
import json
import re
import shutil

import pytest
from support.kept import SESSIONS, kept, pack_as_before, report_of, unpack
from support.logs import session_name

KINDS = ["cpu-decode-f32", "h200-mma-v3"]  # of a CPU and of a GPU


@pytest.mark.parametrize("slash", ["", "/"])
def test_an_archive_holds_a_folder_called_as_the_session(wb, tmp_path, unpacked, slash):
    folder = unpacked(KINDS[0])
    wb.run("pack", f"{folder}{slash}", "--output", tmp_path / "a.tar.gz", check=0)
    assert unpack(tmp_path / "a.tar.gz", tmp_path / "out").name == KINDS[0]


@pytest.mark.parametrize("name", KINDS)
def test_an_archive_unpacks_to_the_same_report(wb, tmp_path, unpacked, name):
    folder = unpacked(name)
    plain = {path.relative_to(folder): path.read_bytes() for path in files_of(folder)}
    answer = wb.json("pack", folder, "--output", tmp_path / "a.tar.gz")
    assert answer["redacted"] is None
    first = (tmp_path / "a.tar.gz").read_bytes()
    wb.run("pack", folder, "--output", tmp_path / "a.tar.gz", check=0)
    assert (tmp_path / "a.tar.gz").read_bytes() == first
    copy = unpack(tmp_path / "a.tar.gz", tmp_path / "out")
    done = wb.run("report", "--session", copy, check=0)
    assert done.stdout == wb.run("report", "--session", kept(name), check=0).stdout
    assert {path.relative_to(copy): path.read_bytes() for path in files_of(copy)} == plain
    assert answer["files"] == sorted(map(str, plain))


def files_of(folder):
    return [path for path in folder.rglob("*") if path.is_file()]


@pytest.mark.parametrize("name", KINDS)
def test_equal_sessions_give_equal_archives(wb, tmp_path, unpacked, name):
    """A folder, what it unpacks to, the archive itself, and the folder in the form of kept sessions
    before archives: packed again they are one."""
    folder = unpacked(name)
    wb.run("pack", folder, "--output", tmp_path / f"{name}.tar.gz", check=0)
    whole = (tmp_path / f"{name}.tar.gz").read_bytes()
    copy = unpack(tmp_path / f"{name}.tar.gz", tmp_path / "out")
    for again in (copy, tmp_path / f"{name}.tar.gz", pack_as_before(folder)):
        wb.run("pack", again, "--output", tmp_path / "again.tar.gz", check=0)
        assert (tmp_path / "again.tar.gz").read_bytes() == whole


@pytest.mark.parametrize("archive", SESSIONS, ids=session_name)
def test_kept_archives_are_what_pack_writes(wb, tmp_path, archive):
    """File by file: another version of zlib may pack the bytes otherwise."""
    wb.run("pack", archive, "--output", tmp_path / archive.name, check=0)
    both = [unpack(path, tmp_path / form) for form, path in
            (("kept", archive), ("again", tmp_path / archive.name))]  # fmt: skip
    told = [{path.relative_to(one): path.read_bytes() for path in files_of(one)} for one in both]
    assert told[0] == told[1]
    assert not any(path.suffix == ".gz" or path.parts[0] == "reports" for path in told[0])


def test_a_session_is_kept_as_the_page_says(wb, tmp_path, unpacked):
    """The commands of sessions/README.md give both files of a kept session."""
    name = "cpu-decode-f32"
    (wb.folder / "sessions").mkdir()
    unpacked(name).rename(wb.folder / "sessions" / name)
    report = wb.run("report", "--session", f"sessions/{name}", check=0).stdout
    assert report == report_of(kept(name)).read_text()
    shutil.rmtree(wb.folder / "sessions" / name / "reports")
    archive = wb.folder / "sessions" / f"{name}.tar.gz"
    wb.run("pack", f"sessions/{name}", "--output", archive, check=0)
    both = [
        unpack(path, tmp_path / form) for form, path in (("kept", kept(name)), ("new", archive))
    ]
    told = [{path.relative_to(one): path.read_bytes() for path in files_of(one)} for one in both]
    assert told[0] == told[1]


SECRETS = [
    "ada lovelace",
    "ada@",
    "ada saw",
    "lovelace",
    "engine.example",
    "node-17",
    "home/ada",
    "/opt/secret",
    "10.11.12.13",
]


def rechained(session, change):
    """Rewrites the log of a copy as its owner would have written it."""
    lines, prev = [], "0" * 64
    for line in (session / "events.jsonl").read_text().splitlines():
        event = json.loads(line)
        change(event)
        payload = json.dumps(event["payload"], sort_keys=True, separators=(",", ":"))
        lines.append(
            f'{{"seq":{event["seq"]},"prev":"{prev}","t":"{event["t"]}","type":"{event["type"]}",'
            f'"v":{event["v"]},"payload":{payload}}}'
        )
        prev = hashlib.sha256(lines[-1].encode()).hexdigest()
    (session / "events.jsonl").write_text("\n".join(lines) + "\n")


def with_secrets(wb, tmp_path):
    """A closed session whose log, pages and blobs name a person, a machine and folders."""
    wb.open_small()
    wb.run(
        "note", "Ada saw it on node-17 (10.11.12.13): /opt/secret/k.cu", "--session", "s", check=0
    )
    wb.run("close", "--session", "s", "--reason", "ask ada@engine.example", check=0)
    session = wb.folder / "s"
    blob = b"g++: /home/Ada/kernel.cpp: No such file; ask ada@engine.example\n"
    args = json.dumps({"text": "see:\n/opt/secret/k.cu\nAda saw it"}).encode()
    name, args_name = (hashlib.sha256(content).hexdigest() for content in (blob, args))
    (session / "blobs" / name).write_bytes(blob)
    (session / "blobs" / args_name).write_bytes(args)

    def change(event):
        payload = event["payload"]
        if event["type"] == "verb_called" and payload["verb"] == "note":
            payload.update(args=None, args_blob=args_name, args_sha256=args_name)
        for who in ("author", "committer"):
            if who in payload:
                payload[who] = {"name": "Ada Lovelace", "email": "ada@engine.example"}
        if event["type"] == "environment_recorded":
            payload["worker"]["transport"] = "ssh ada@node-17"
            payload["toolchain"]["path"] = "/opt/secret/bin/g++"
        if event["type"] == "variant_built":
            payload["log_blob"] = name

    rechained(session, change)
    return session


def test_a_redacted_archive_names_nobody_and_says_so(wb, tmp_path):
    session = with_secrets(wb, tmp_path)
    before = {path: path.read_bytes() for path in session.rglob("*") if path.is_file()}
    answer = wb.json("pack", session, "--redact", "--output", tmp_path / "r.tar.gz")
    assert {path: path.read_bytes() for path in session.rglob("*") if path.is_file()} == before
    assert answer["redacted"].keys() >= {"path", "email", "host", "user"}
    assert answer["kept"] == []
    copy = unpack(tmp_path / "r.tar.gz", tmp_path / "out")
    assert copy.name == "s-redacted"
    assert not (copy / ".git").exists()
    assert {path.parts[-2] for path in copy.rglob("*.md")} == {"iterations", "reports"}
    for path in copy.rglob("*"):
        if not path.is_file() or "kernels" in path.parts:
            continue
        text = path.read_text().lower()
        assert [secret for secret in SECRETS if secret in text] == [], path
    # It reads like any session, the chain is whole, and nobody takes it for the original.
    report = wb.run("report", "--session", copy, check=0).stdout
    assert report == (copy / "reports/session.md").read_text()
    whole = wb.run("report", "--kind", "full", "--session", copy, check=0).stdout
    assert whole == (copy / "reports/session_full.md").read_text()
    assert "(redacted copy)" in report.splitlines()[0]
    assert "redacted" in json.loads((copy / "session.json").read_text())
    assert "A redacted copy" in wb.run("report", "--html", "--session", copy, check=0).stdout
    first = json.loads((copy / "events.jsonl").read_text().splitlines()[0])
    original = (session / "events.jsonl").read_text().splitlines()[-1]
    assert first["payload"]["redacted"]["log_head"] == hashlib.sha256(original.encode()).hexdigest()
    events = [json.loads(line) for line in (copy / "events.jsonl").read_text().splitlines()]
    for event in events:
        for name, digest in (event["payload"].get("pages") or {}).items():
            assert hashlib.sha256((copy / "iterations" / name).read_bytes()).hexdigest() == digest
        blob = event["payload"].get("log_blob")
        assert blob is None or (copy / "blobs" / blob).is_file()
    (called,) = [event["payload"] for event in events if event["payload"].get("args_blob")]
    args = json.loads((copy / "blobs" / called["args_blob"]).read_text())
    assert re.fullmatch(r"see:\nredacted-path-\d+\nredacted-user-\d+ saw it", args["text"])
    assert called["args_sha256"] == called["args_blob"]
    # Sources are as they were, for their hash is the variant's id; those to look at are named.
    source = next((session / "kernels").glob("*/cpu_unfused/kernel.cpp"))
    source.write_text(source.read_text() + "// by ada@engine.example\n")
    answer = wb.json("pack", session, "--redact", "--output", tmp_path / "r.tar.gz")
    assert answer["kept"] == [str(source.relative_to(session))]
    named = source.with_name("ada.h")
    named.write_text("// whose name is in its file's alone\n")
    answer = wb.json("pack", session, "--redact", "--output", tmp_path / "r.tar.gz")
    assert answer["kept"] == [str(path.relative_to(session)) for path in (named, source)]
    refused = wb.run("note", "mine", "--session", copy)
    assert refused.returncode != 0
    assert "redacted copy" in refused.stderr
