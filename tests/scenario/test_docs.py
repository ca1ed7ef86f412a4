"""The commands in the documentation are run: every ```sh block of the pages below must succeed."""

import re
import shlex
import shutil
import subprocess
import tarfile

import pytest
from support.commands import ROOT

PAGES = [
    "docs/guide/first_session.md",
    "docs/guide/add_a_kernel.md",
    "docs/guide/add_a_playbook.md",
    "docs/guide/command_line.md",
    "README.md",
]
# What `make test` and CI run themselves, and what needs a fresh machine.
RUN_ELSEWHERE = re.compile(r"^\s*(make|git clone|cd|#|$)")


def blocks(page):
    return re.findall(r"^```sh\n(.*?)^```", (ROOT / page).read_text(), re.M | re.S)


@pytest.mark.parametrize("page", PAGES)
def test_commands_of(page, wb, tmp_path):
    commands = [
        line for block in blocks(page) for line in block.splitlines()
        if not RUN_ELSEWHERE.match(line)
    ]  # fmt: skip
    assert commands, f"{page} has no command of its own"
    # A copy of what the commands touch, so that the tree stays clean.
    for name in ("kernels", "playbooks"):
        shutil.copytree(ROOT / name, tmp_path / name)
    # The real command, with times of a table and the cache of the run.
    program = tmp_path / "build" / "release" / "sdpa-wb"
    program.parent.mkdir(parents=True)
    more = ["--worker", wb.turns.worker, "--transport", *wb.turns.transport, "--",
            "--cache", wb.cache]  # fmt: skip
    program.write_text(f'#!/bin/sh\nexec {wb.program} "$@" {shlex.join(map(str, more))}\n')
    program.chmod(0o755)
    # Every evaluation of a tune is a compilation: two say as much of the command as four. With them
    # the page takes some eight seconds, most of it for compiling its kernel thrice.
    script = "set -e\n" + "\n".join(commands).replace("--evaluations 4", "--evaluations 2")
    done = subprocess.run(
        ["bash", "-c", script], cwd=tmp_path, capture_output=True, text=True, timeout=280
    )
    assert done.returncode == 0, f"{script}\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}"


def test_the_build_prints_the_command_reference(build):
    made = subprocess.run(
        [build / "sdpa-wb", "command-reference"], capture_output=True, text=True, check=True
    ).stdout
    assert "### `sdpa-wb open`" in made
    page = build / "docs" / "cli.md"
    if not (build / "CMakeCache.txt").exists():
        pytest.skip(f"{build} is no build folder")
    assert page.read_text() == made, "build sdpa-wb again"


def pages():
    here = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]
    return [*here, ROOT / "sessions" / "README.md"]


def headings(text):
    """The anchors that a page offers, as GitHub makes them."""
    found = re.findall(r"^#+ (.*)$", re.sub(r"^```.*?^```", "", text, flags=re.M | re.S), re.M)
    return {re.sub(r"[^\w\- ]", "", name).strip().lower().replace(" ", "-") for name in found}


def test_links_between_pages_resolve():
    for page in pages():
        for target, anchor in re.findall(r"\]\(([^)#:]*)(#[^)]*)?\)", page.read_text()):
            file = page.parent / target if target else page
            assert file.exists(), f"{page.name} links to {target}"
            if anchor and file.suffix == ".md":
                there = headings(file.read_text())
                assert anchor[1:] in there, f"{page.name} links to {target}{anchor}"


def test_the_raw_figures_that_pages_name_are_in_their_archive():
    with tarfile.open(ROOT / "tests" / "data" / "gpu_measurements.tar.gz") as tar:
        there = {member.name for member in tar.getmembers()}
    named = set()
    for page in pages():
        text = page.read_text()
        named |= set(re.findall(r"\bgpu_measurements/[\w.-]+\.json", text))
        for file in re.findall(r"\btests/data/[\w.-]+\w", text):
            assert (ROOT / file).exists(), f"{page.name} names {file}"
    assert len(named) > 20
    assert named - {"gpu_measurements/NAME.json"} <= there


def test_pages_are_of_a_size_to_read():
    assert len((ROOT / "README.md").read_text().splitlines()) <= 120
    for page in pages():
        lines = page.read_text().splitlines()
        assert len(lines) <= 400, f"{page.name} has {len(lines)} lines"
        if "results" in page.parts:
            longest = max((line for line in lines if line.startswith("|")), key=len, default="")
            assert len(longest) <= 280, f"{page.name} has a row that fills a screen: {longest}"


def test_a_technique_cites_what_is_there():
    text = (ROOT / "kernels" / "techniques.json").read_text()
    trials = (ROOT / "docs" / "results" / "kernel_trials.md").read_text()
    cited = re.findall(r"docs/results/kernel_trials\.md, (\w+)", text)
    assert len(cited) > 10
    for name in cited:
        assert f"\n| `{name}` |" in trials, f"techniques.json cites the trial {name}"
    for session in re.findall(r"sessions/([a-z0-9-]+)", text):
        kept = [ROOT / "sessions" / session, ROOT / "sessions" / f"{session}.tar.gz"]
        assert any(place.exists() for place in kept), f"techniques.json cites sessions/{session}"
    for page in re.findall(r"docs/[\w/]+\.md", text):
        assert (ROOT / page).is_file(), f"techniques.json cites {page}"


CODE = {".cpp", ".hpp", ".h", ".py", ".lua", ".cmake", ".sh", ".cu", ".cuh"}


def test_pages_that_code_names_are_there(build):
    for folder in ("workbench", "kernels", "bindings", "playbooks", "tests", "cmake", ".ci"):
        for file in (ROOT / folder).rglob("*"):
            if file.suffix not in CODE:
                continue
            for page in re.findall(r"\bdocs/[\w/]+\.md\b", file.read_text(errors="replace")):
                there = (ROOT / page).is_file() or page == "docs/cli.md"
                assert there, f"{file.relative_to(ROOT)} names {page}"


def test_what_contributors_are_sent_to_is_there():
    text = (ROOT / "CONTRIBUTING.md").read_text()
    tops = r"`((?:workbench|kernels|playbooks|bindings|tests|\.ci)/[^` ]*)"
    named = [place for place in re.findall(tops, text) if not re.search("NAME", place)]
    assert len(named) > 10
    for place in named:
        assert list(ROOT.glob(place.rstrip("/"))), f"CONTRIBUTING.md names {place}"
