"""The commands in the documentation are run: every ```sh block of the pages below must succeed."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from conftest import EXIT_ENVIRONMENT, ROOT, skip_busy

PAGES = ["docs/add_a_kernel.md", "docs/session_format.md", "docs/cli.md", "README.md"]
# What `make test` and CI run themselves, and what needs a fresh machine.
RUN_ELSEWHERE = re.compile(r"^\s*(make|git clone|cd|#|$)")


def blocks(page):
    text = (ROOT / page).read_text() if (ROOT / page).exists() else ""
    return re.findall(r"^```sh\n(.*?)^```", text, re.M | re.S)


@pytest.mark.parametrize("page", PAGES)
def test_commands_of(page, build, tmp_path):
    commands = [
        line for block in blocks(page) for line in block.splitlines()
        if not RUN_ELSEWHERE.match(line)
    ]  # fmt: skip
    if not commands:
        pytest.skip(f"{page} has no command of its own")
    # A copy of what the commands touch, so that the tree stays clean.
    for name in ("kernels", "playbooks"):
        shutil.copytree(ROOT / name, tmp_path / name)
    (tmp_path / "build").mkdir()
    (tmp_path / "build" / "release").symlink_to(build)
    script = "set -e\n" + "\n".join(commands)
    done = subprocess.run(
        ["bash", "-c", script], cwd=tmp_path, capture_output=True, text=True, timeout=280
    )
    if done.returncode == EXIT_ENVIRONMENT:
        skip_busy(done.stderr)
    assert done.returncode == 0, f"{script}\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}"


def test_the_command_reference_is_generated(build):
    made = subprocess.run(
        [build / "sdpa-wb", "command-reference"], capture_output=True, text=True, check=True
    ).stdout
    page = (ROOT / "docs" / "cli.md").read_text()
    assert made.strip() in page, "regenerate docs/cli.md: sdpa-wb command-reference"


def test_links_between_pages_resolve():
    for page in [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]:
        if not page.exists():
            continue
        for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text()):
            assert (page.parent / Path(target)).exists(), f"{page.name} links to {target}"


def test_the_totals_of_the_coverage_page_are_those_of_its_rows():
    page = (ROOT / "docs" / "coverage.md").read_text()
    rows = re.findall(r"^\| (R\d[^|]*?) \| (\w+) \|", page, re.M)
    state_of = {}
    for numbers, state in rows:
        for span in numbers.split(", "):
            first, *last = [int(number.removeprefix("R")) for number in span.split("–")]
            for number in range(first, (last or [first])[0] + 1):
                assert number not in state_of, f"R{number} stands in two rows"
                state_of[number] = state
    assert sorted(state_of) == list(range(1, 146))
    counts = [list(state_of.values()).count(state) for state in ("done", "partly", "later")]
    assert sum(counts) == len(state_of), "a row has a state that is not known"
    totals = "Done {}, partly {}, later {}, of {}.".format(*counts, len(state_of))
    assert page.splitlines()[-1] == totals
