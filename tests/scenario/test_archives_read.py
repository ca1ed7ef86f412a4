"""Every verb that reads a session answers from its archive as it does from its folder."""

import gzip
import io
import json
import re
import shutil
import tarfile

import pytest
from support.commands import ROOT, SMALL
from support.kept import kept, pack_as_before, report_of, unpack

NAMES = ["cpu-decode-f32", "ladder", "h200-mma-v3", "h200-triton-v3", "h200-bshd-sustained"]
FORMS = ("folders", "archives", "before")
VERBS = [
    ("status",), ("report",), ("report", "--html"), ("report", "--kind", "root-cause"),
    ("report", "--kind", "full"),
    ("report", "--kind", "bottleneck"), ("report", "--kind", "handover"),
    ("report", "--kind", "iteration"), ("brief",), ("history",), ("advise",), ("diagnose",),
    ("analyze",), ("get", "job"), ("show", "e1"), ("show", "e7"), ("show", "i0"),
    ("read", "ref", "i0"), ("cancel", "job"),
]  # fmt: skip


@pytest.fixture(scope="module")
def packed(build, tmp_path_factory):
    """Where five kept sessions lie: as archives, as folders, and in the older form of folders."""
    root = tmp_path_factory.mktemp("packed")
    for form in FORMS:
        (root / form / "sessions").mkdir(parents=True)
    for name in NAMES:
        for file in (kept(name), report_of(kept(name))):
            shutil.copy(file, root / "archives" / "sessions")
        for form in ("folders", "before"):
            folder = root / form / "sessions" / name
            unpack(kept(name), root / "out" / form / name).rename(folder)
            (folder / "reports").mkdir()
            shutil.copy(report_of(kept(name)), folder / "reports" / "session.md")
        pack_as_before(folder)
    return root


def answer(wb, root, form, name, *words):
    """Exit code and words of a verb on one form, with the session's place left out."""
    ending = ".tar.gz" if form == "archives" else ""
    place = root / form / "sessions" / f"{name}{ending}"
    done = wb.run(*(str(word).replace("SESSION", str(place)) for word in words))
    return done.returncode, told(done.stdout, root), told(done.stderr, root)


def told(text, root):
    """Without the form, and what passes while a test runs (`status` says for how long)."""
    text = re.sub(rf"{re.escape(str(root))}/(folders|archives|before)/", "ROOT/", text)
    text = text.replace(".tar.gz", "")
    return re.sub(r'("elapsed_s":) ?[0-9.e+]+', r"\1 0", text)


@pytest.mark.parametrize("words", VERBS, ids=" ".join)
@pytest.mark.parametrize("name", NAMES)
def test_reading_verbs_answer_alike(wb, packed, name, words):
    told = [
        answer(wb, packed, form, name, *words, "--session", "SESSION", "--json") for form in FORMS
    ]
    assert told[0] == told[1] == told[2]
    assert told[0][0] == 0 or words[0] in ("advise", "diagnose", "report"), told[0]


@pytest.mark.parametrize("name", NAMES)
def test_verbs_that_name_a_session_answer_alike(wb, packed, name, tmp_path):
    label = wb.json("brief", "--session", kept(name))["incumbent"]["variant"]
    verbs = [
        ("audit", "SESSION"), ("diff", "SESSION", "SESSION"), ("loops", "--recorded", "SESSION"),
        ("read", "ref", label, "--session", "SESSION"),
    ]  # fmt: skip
    if name.startswith("cpu-"):  # these two compile
        verbs += [("proof", label, "--session", "SESSION"),
                  ("show", "--code", label, "--session", "SESSION")]  # fmt: skip
    for words in verbs:
        told = [answer(wb, packed, form, name, *words, "--json") for form in FORMS]
        assert told[0] == told[1] == told[2], words
    assert answer(wb, packed, "archives", name, *verbs[0])[0] == 0
    # The same sources come out of both.
    made = []
    for form, place in (("folders", name), ("archives", f"{name}.tar.gz")):
        new = f"mine_{form}"
        done = wb.run("new", new, "--from", label, "--session", packed / form / "sessions" / place)
        assert done.returncode == 0, done.stderr
        files = sorted((wb.folder / "kernels" / new).rglob("*"))
        texts = [path.read_text().replace(new, "NEW") for path in files if path.is_file()]
        made.append(texts)
    assert made[0] == made[1]


@pytest.mark.parametrize("words", [("experience",), ("site",)], ids=" ".join)
def test_verbs_over_many_sessions_answer_alike(wb, packed, words, tmp_path):
    answers, pages = [], []
    for form in FORMS:
        more = ["--output-dir", tmp_path / form] if words[0] == "site" else []
        done = wb.run(*words, packed / form / "sessions", *more, "--json", check=0)
        answers.append(told(done.stdout.replace(str(tmp_path / form), "OUT"), packed))
        pages.append({p.name: p.read_bytes() for p in (tmp_path / form).glob("*.html")})
    assert answers[0] == answers[1] == answers[2]
    assert json.loads(answers[0]).get("faults", []) == []
    assert pages[0] == pages[1] == pages[2]


def test_a_name_finds_the_archive(wb, packed):
    root = packed / "archives" / "sessions"
    direct = wb.run("report", "--session", root / NAMES[0], check=0).stdout
    assert direct == report_of(kept(NAMES[0])).read_text()
    named = wb.json("diff", NAMES[0], NAMES[0], "--sessions", root)
    assert named["before"]["session"] == NAMES[0]
    placed = wb.json("diff", root / f"{NAMES[0]}.tar.gz", root / f"{NAMES[0]}.tar.gz")
    assert {**named, "before": 0, "after": 0} == {**placed, "before": 0, "after": 0}


def test_rules_are_proven_by_archives(wb, packed):
    """A dispatch table whose sessions lie beside it, in each form."""
    rules = json.loads((ROOT / "kernels" / "dispatch.json").read_text())["rules"]
    rule = next(one for one in rules if one.get("session") == f"sessions/{NAMES[0]}")
    answers = []
    for form in FORMS:
        table = packed / form / "kernels" / "dispatch.json"
        table.parent.mkdir(exist_ok=True)
        anywhere = {key: value for key, value in rule.items() if key != "device"}
        fallback = next(one for one in rules if not one.get("session"))
        table.write_text(json.dumps({"version": 1, "about": "one", "rules": [anywhere, fallback]}))
        problem = "B=1 Hq=8 Sq=1 Skv=4096 D=128 f32"
        words = ("best", "--problem", problem, "--proven", "--path", packed / form, "--json")
        done = wb.run(*words)
        answers.append((done.returncode, told(done.stdout, packed), told(done.stderr, packed)))
    assert answers[0] == answers[1] == answers[2]
    # The rule's session was read: its artifact is proven, or another compiler's than the one here.
    words = answers[0][1] + answers[0][2]
    assert '"proof":{"artifact_id"' in words or "what passed was compiled by" in words, words


def test_verbs_that_write_refuse_an_archive(wb, packed):
    archive = packed / "archives" / "sessions" / f"{NAMES[0]}.tar.gz"
    before = archive.read_bytes()
    for words in [
        ("note", "one more"), ("close",), ("resume",),
        ("iterate", "--variant", "cpu_online", "--hypothesis", "x", "--predicted-speedup", "2"),
        ("tune", "--variant", "cpu_online", "--evaluations", "2", "--hypothesis", "x",
         "--predicted-speedup", "2"),
        ("diagnose", "--measure"),
    ]:  # fmt: skip
        for place in (archive, archive.with_name(NAMES[0])):
            done = wb.run(*words, "--session", place, "--json")
            assert done.returncode != 0
            assert "the session is an archive, which is read only" in done.stderr + done.stdout, (
                words
            )
    done = wb.run("open", "--start", "cpu_online", "--problem", SMALL, "--session",
                  archive.with_name(NAMES[0]))  # fmt: skip
    assert done.returncode != 0
    assert "is an archive" in done.stderr
    assert archive.read_bytes() == before
    assert not archive.with_name(NAMES[0]).exists()


def test_a_session_goes_on_from_an_archive(wb):
    wb.open_small()
    wb.run("close", "--session", "s", check=0)
    wb.run("pack", "s", "--output", "kept.tar.gz", check=0)
    shutil.rmtree(wb.folder / "s")
    words = ["open", "--after", "kept", "--sessions", ".", "--session", "t", "--effort", "quick"]
    answer = json.loads(wb.run(*words, "--rivals", "none", "--json", check=0).stdout)
    assert answer["session"] == "t"
    first = json.loads((wb.folder / "t" / "events.jsonl").read_text().splitlines()[0])
    assert first["payload"]["series"]["sessions"][0]["session"] == "s"


def test_reproduce_takes_an_archive(wb):
    """A figure of a session without a gain: both forms say the same of it."""
    wb.open_small()
    wb.run("close", "--session", "s", check=0)
    wb.run("pack", "s", check=0)
    said = [wb.run("reproduce", place, "--iteration", "7") for place in ("s", "s.tar.gz")]
    assert said[0].returncode == said[1].returncode != 0
    assert said[0].stderr == said[1].stderr.replace("s.tar.gz", "s")


def with_member(archive, name, change):
    """The archive with one file changed (None: left out), as anyone's tar would write it."""
    out = io.BytesIO()
    with tarfile.open(archive) as old, tarfile.open(fileobj=out, mode="w:gz") as new:
        for member in old.getmembers():
            data = old.extractfile(member).read()
            if member.name.partition("/")[2] == name:
                data = change(data)
                member.size = len(data)
            new.addfile(member, io.BytesIO(data))
    return out.getvalue()


EVIL = {
    "link": lambda m: setattr(m, "type", tarfile.SYMTYPE) or setattr(m, "linkname", "/etc/passwd"),
    "hard link": lambda m: setattr(m, "type", tarfile.LNKTYPE) or setattr(m, "linkname", "s/a"),
    "pipe": lambda m: setattr(m, "type", tarfile.FIFOTYPE),
    "escape": lambda m: setattr(m, "name", "s/../../up"),
    "absolute": lambda m: setattr(m, "name", "/tmp/up"),
}


@pytest.mark.parametrize("kind", [*EVIL, "torn", "flipped", "log", "bomb"])
def test_an_evil_archive_is_one_error(wb, packed, kind, tmp_path):
    whole = packed / "archives" / "sessions" / f"{NAMES[3]}.tar.gz"
    data = whole.read_bytes()
    if kind == "torn":
        data = data[: len(data) * 2 // 3]
    elif kind == "flipped":
        at = len(data) // 2
        data = data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :]
    elif kind == "log":
        data = with_member(whole, "events.jsonl", lambda log: log.replace(b'"v":1', b'"v": 1', 1))
    elif kind == "bomb":
        data = gzip.compress(b"\0" * (1 << 20), 9) * 300
    else:
        out = io.BytesIO()
        with tarfile.open(fileobj=out, mode="w:gz") as new:
            evil = tarfile.TarInfo(f"{NAMES[3]}/a")
            EVIL[kind](evil)
            new.addfile(evil)
        data = out.getvalue()
    evil = tmp_path / "evil" / "evil.tar.gz"
    evil.parent.mkdir()
    evil.write_bytes(data)
    for words in [("report", "--session", evil), ("audit", evil), ("status", "--session", evil)]:
        done = wb.run(*words)
        assert done.returncode not in (0, 1) or words[0] == "audit", words
        assert done.stderr.count("\n") <= 2, done.stderr
        assert "evil.tar.gz" in done.stderr
    assert list(evil.parent.iterdir()) == [evil]
    (evil.parent / "good.tar.gz").write_bytes(whole.read_bytes())
    answer = wb.json("experience", evil.parent)
    assert [fault["session"] for fault in answer["faults"]] == ["evil"]
    assert answer["sessions"] == 1
