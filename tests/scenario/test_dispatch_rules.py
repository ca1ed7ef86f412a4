# SPDX-License-Identifier: MIT
"""Every shipped dispatch rule, held against the recorded session that it names; and an installed
tree without a checkout, which has these sessions."""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tarfile

import pytest
from support.commands import ROOT, SMALL, Workbench
from support.kept import kept
from support.logs import events

RULES = json.loads((ROOT / "kernels" / "dispatch.json").read_text())["rules"]
PROVEN = [(number, rule) for number, rule in enumerate(RULES, 1) if "session" in rule]
DEVICES = {"H200": "NVIDIA H200", "AMD EPYC": "AMD EPYC"}


def confirmed(log, subject):
    """The last figure of each problem beside each rival, hot: {problem: [payload, ...]}."""
    last = {}
    for event in log:
        made = event["payload"]
        if event["type"] != "comparison_made" or made["role"] != "rival" or not made["problem"]:
            continue
        if made["plan"] == "hot" and made["candidate"] == subject and made["speedup"] is not None:
            last[made["problem"], made["against"]] = made
    by_problem = {}
    for (problem, _), made in last.items():
        by_problem.setdefault(problem, []).append(made)
    return by_problem


def test_there_are_rules_for_both_devices():
    assert {rule["device"] for _, rule in PROVEN} == set(DEVICES)


@pytest.mark.parametrize(("number", "rule"), PROVEN, ids=[f"rule_{n}" for n, _ in PROVEN])
def test_a_rule_chooses_what_its_session_found_ahead(wb, number, rule):
    folder, name = rule["session"].split("/")
    assert folder == "sessions"
    log = events(kept(name))
    built = [
        event["payload"]
        for event in log
        if event["type"] == "variant_built"
        and event["payload"].get("artifact_id") == rule["artifact_id"]
    ]
    assert built, "its session built no such artifact"
    assert built[-1]["configuration"] == rule["configuration"]
    assert built[-1]["subject"].split("@")[0] == rule["variant"]
    served = 0
    for problem, comparisons in confirmed(log, built[-1]["subject"]).items():
        device = DEVICES[rule["device"]]
        chosen = wb.json("best", "--problem", problem, "--device", device, "--path", str(ROOT))
        if chosen["rule"] != number:
            continue
        served += 1
        fastest = min(comparisons, key=lambda made: made["speedup"])
        assert fastest["outcome"] != "slower", (problem, fastest["against"], fastest["speedup"])
    assert served > 0, "its session measured no problem that it serves"


# An installed tree without a checkout: the sessions that prove the dispatch rules are in it.

TABLE = json.loads((ROOT / "kernels" / "dispatch.json").read_text())
DECODE = "B=1 Hq=8 Sq=1 Skv=4096 D=128 f32"  # what the first rule of the table takes
FALLBACK = {"variant": "cpu_unfused", "configuration": {}}


def install(build, prefix):
    """What `cmake --install` lays down, but for the GPU tests. Returns its share/ folder."""
    if not (build / "CMakeCache.txt").exists():
        pytest.skip("installed programs are not installed again")
    words = ["cmake", "--install", build, "--prefix", prefix, "--component", "Unspecified"]
    done = subprocess.run(words, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return prefix / "share" / "sdpa-workbench"


@pytest.fixture(scope="module")
def share(build, tmp_path_factory):
    return install(build, tmp_path_factory.mktemp("installed"))


class Node(Workbench):
    """The installed command in a folder of its own, with no search path beside the installation and
    no PyTorch."""

    def argv(self, *words):
        cache = [] if "--cache" in words else ["--cache", str(self.cache)]
        return [str(self.program), *map(str, words), *cache, "--python", "/bin/false", "--quiet"]


@pytest.fixture
def node(share, cache, tmp_path):
    return Node(share.parents[1] / "bin" / "sdpa-wb", tmp_path, cache)


def test_the_archives_that_rules_name_are_installed(share):
    named = {rule["session"] for rule in TABLE["rules"] if "session" in rule}
    there = {f"sessions/{path.name}" for path in (share / "sessions").iterdir()}
    assert there == {f"{session}.tar.gz" for session in named}
    for session in named:
        archive = share / f"{session}.tar.gz"
        assert archive.read_bytes() == kept(session.partition("/")[2]).read_bytes()


def test_a_shipped_proof_is_found(node, share):
    """On a device and with a compiler as recorded the rule serves; elsewhere its session is read,
    and says what passed there."""
    words = ("best", "--problem", DECODE, "--device", "AMD EPYC", "--proven", "--json")
    done = node.run(*words)
    if done.returncode == 0:
        assert json.loads(done.stdout)["proof"]["session"] == str(share / "sessions/cpu-decode-f32")
    else:
        assert "cpu-decode-f32: what passed was compiled by g++" in done.stderr


@pytest.fixture(scope="module")
def own(share, build, cache, tmp_path_factory):
    """An installation whose one rule this machine proved: its session lies there as an archive."""
    folder = tmp_path_factory.mktemp("own")
    wb = Workbench(build / "sdpa-wb", folder, cache)
    wb.open_small()
    wb.run("check", "cpu_tiled", "--problem", SMALL, "--session", "s", check=0)
    wb.run("close", "--session", "s", check=0)
    proof = wb.json("proof", "cpu_tiled", "--session", "s")
    shutil.copytree(share.parents[1], folder / "installed", symlinks=True)
    place = folder / "installed" / "share" / "sdpa-workbench"
    wb.run("pack", "s", "--output", place / "sessions" / "mine.tar.gz", check=0)
    rule = {"when": "Sq >= 8", "variant": "cpu_tiled", "configuration": proof["configuration"],
            "artifact_id": proof["artifact_id"], "session": "sessions/mine"}  # fmt: skip
    table = {"version": 1, "about": "the test's", "rules": [rule, FALLBACK]}
    (place / "kernels" / "dispatch.json").write_text(json.dumps(table))
    return place


@pytest.fixture
def there(own, tmp_path, monkeypatch):
    """Its command, for somebody with an empty home."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    return Node(own.parents[1] / "bin" / "sdpa-wb", tmp_path, tmp_path / "its cache")


def put_first(program, monkeypatch, script):
    """From now on `program`, called g++, is the compiler. Returns what it says that it is."""
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
    return first_line(program)


def first_line(compiler):
    return subprocess.check_output([compiler, "--version"], text=True).partition("\n")[0]


@pytest.fixture
def another_compiler(tmp_path, monkeypatch):
    """A g++ that says another version of itself, so that what it makes is another artifact."""
    says = "[ \"$*\" = --version ] && echo 'g++ (Elsewhere) 99.1.0' && exit"
    script = f'{says}\nexec {shutil.which("g++")} "$@"'
    return put_first(tmp_path / "bin" / "g++", monkeypatch, script)


@pytest.fixture
def another_real_compiler(tmp_path, monkeypatch):
    """A g++ of another version, where one is installed beside the first."""
    version = first_line("g++").split()[-1]
    for number in range(11, 21):
        program = shutil.which(f"g++-{number}")
        if program and first_line(program).split()[-1] != version:
            return put_first(tmp_path / "bin" / "g++", monkeypatch, f'exec {program} "$@"')
    pytest.skip(f"no g++ beside that of {version} (.ci/install.sh test)")


def exported(node, best):
    made = node.json("export", best["proof"]["variant"], "--session", best["proof"]["session"],
                     "--c", "--output", node.folder / "package")  # fmt: skip
    assert (node.folder / "package" / "lib" / "libsdpa_variant.so").is_file()
    return made["artifact_id"]


def test_a_proof_beside_the_table_serves(there, own):
    best = there.json("best", "--problem", SMALL, "--proven")
    assert (best["rule"], best["variant"]) == (1, "cpu_tiled")
    assert best["proof"]["session"].startswith(str(own / "sessions" / "mine"))
    assert exported(there, best) == best["proof"]["artifact_id"] == best["artifact_id"]


@pytest.mark.parametrize("compiler", ["another_compiler", "another_real_compiler"])
def test_by_another_compiler_a_rule_serves_once_it_is_adopted(there, compiler, tmp_path, request):
    says = request.getfixturevalue(compiler)
    done = there.run("best", "--problem", SMALL, "--proven")
    assert done.returncode == 2
    assert "what passed was compiled by g++" in done.stderr
    assert f"what {says} makes here is another artifact" in done.stderr
    offered = re.search("offered: `sdpa-wb (dispatch adopt --problem '([^']+)')`", done.stderr)
    assert offered, done.stderr
    steady = ("--worker", there.program.with_name("sdpa-wb-worker"),
              "--transport", *there.turns.transport, "--")  # fmt: skip
    answer = there.json(*shlex.split(offered[1]), *steady)
    (row,) = answer["rules"]
    assert row["outcome"] == "adopted", row
    assert row["session"].startswith(str(tmp_path / "data" / "sdpa-workbench" / "adopted"))
    best = there.json("best", "--problem", SMALL, "--proven")
    assert (best["rule"], best["proof"]["session"]) == (1, row["session"])
    assert best["proof"]["artifact_id"] == row["artifact_id"] != best["artifact_id"]
    assert exported(there, best) == row["artifact_id"]
    assert "closed" in there.run("status", "--session", row["session"], check=0).stdout
    # The recorded compiler comes back: its own artifact serves again.
    shutil.rmtree(tmp_path / "bin")
    again = there.json("best", "--problem", SMALL, "--proven", "--cache", tmp_path / "new cache")
    assert again["proof"]["artifact_id"] == again["artifact_id"]


def pack_artifacts(node, table, output, architecture="native"):
    words = [
        sys.executable,
        ROOT / ".ci" / "artifacts.py",
        node.program,
        table,
        architecture,
        output,
    ]
    return subprocess.run([*map(str, words)], capture_output=True, text=True)


def test_packed_artifacts_serve_by_another_compiler(there, own, tmp_path, request):
    table = own / "kernels" / "dispatch.json"
    done = pack_artifacts(there, table, tmp_path / "native.tar.gz")
    assert done.returncode == 0, done.stderr
    with tarfile.open(tmp_path / "native.tar.gz") as archive:
        archive.extractall(tmp_path / "unpacked", filter="data")
    (listed,) = json.loads((tmp_path / "unpacked" / "artifacts.json").read_text())["artifacts"]
    (rule, _) = json.loads(table.read_text())["rules"]
    assert (listed["rule"], listed["artifact_id"]) == (1, rule["artifact_id"])

    request.getfixturevalue("another_compiler")
    best = there.json("best", "--problem", SMALL, "--proven", "--cache", tmp_path / "unpacked")
    assert best["proof"]["artifact_id"] == rule["artifact_id"]
    # Bytes that are not those of its record serve nothing.
    (library,) = (tmp_path / "unpacked").rglob("artifact.so")
    library.write_bytes(library.read_bytes() + b"more")
    words = ("best", "--problem", SMALL, "--proven", "--cache", tmp_path / "unpacked")
    assert "is not in the cache" in there.run(*words, check=2).stderr
    # Code that this compiler makes was never judged, so it is not packed.
    refused = pack_artifacts(there, table, tmp_path / "other.tar.gz")
    assert refused.returncode == 1
    assert "what passed was compiled by g++" in refused.stderr
    none = pack_artifacts(there, table, tmp_path / "none.tar.gz", "sm_90a")
    assert "no rule of" in none.stderr
    assert not (tmp_path / "none.tar.gz").exists()


def test_adopting_says_what_is_missing_and_where_it_keeps(node, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    assert "--problem" in node.run("dispatch", "adopt", check=2).stderr
    node.run("dispatch", "adopt", "--problem", "B=none", check=65)
    words = ("dispatch", "adopt", "--problem", "B=1 Hq=1 Sq=4 D=8 f32")
    answer = node.json(*words)
    assert [row["outcome"] for row in answer["rules"]] == ["none"]
    assert answer["folder"] == str(tmp_path / "data" / "sdpa-workbench" / "adopted")
    monkeypatch.delenv("XDG_DATA_HOME")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert node.json(*words)["folder"] == f"{tmp_path}/home/.local/share/sdpa-workbench/adopted"
    monkeypatch.delenv("HOME")
    node.run("kernels", check=0)
    assert "neither XDG_DATA_HOME nor HOME" in node.run(*words, check=2).stderr
