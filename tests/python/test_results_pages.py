# SPDX-License-Identifier: MIT
"""docs/results: the pages are those that generate.py makes of the kept sessions today."""

import os
import re
import shutil
import subprocess
import sys

import pytest
from support.commands import ROOT, importing
from support.kept import kept, report_of, unpack

RESULTS = ROOT / "docs" / "results"


@pytest.fixture(scope="module")
def generate(package, build):
    if not (build / "tests" / "bench" / "recorded_pairs").exists():
        pytest.skip("the benches are not built")
    env = os.environ | importing(package) | {"WB_BUILD_DIR": str(build.resolve())}

    def run(tree, *words):
        return subprocess.run(
            [sys.executable, tree / "docs" / "results" / "generate.py", *words],
            env=env, text=True, capture_output=True, timeout=280,
        )  # fmt: skip

    return run


def test_the_pages_are_those_of_the_sessions(generate):
    done = generate(ROOT, "--check")
    assert done.returncode == 0, f"run docs/results/generate.py: {done.stdout}{done.stderr}"


def test_another_figure_is_found(generate, tmp_path):
    """A tree of links, but for one page, in which a figure was changed. A session that a demo left
    is no part of the pages."""
    for name in ("kernels", "tests", "playbooks"):
        (tmp_path / name).symlink_to(ROOT / name)
    (tmp_path / "sessions").mkdir()
    for path in (ROOT / "sessions").iterdir():
        (tmp_path / "sessions" / path.name).symlink_to(path)
    demo = unpack(kept("cpu-prefill-f32"), tmp_path / "sessions" / "demo")
    demo.rename(tmp_path / "sessions" / "s-0009")
    shutil.copy(kept("cpu-prefill-f32"), tmp_path / "sessions" / "s-0010.tar.gz")
    shutil.copy(report_of(kept("cpu-prefill-f32")), tmp_path / "sessions" / "s-0010.md")
    (tmp_path / "docs" / "results").mkdir(parents=True)
    (tmp_path / "docs" / "kernels.md").write_text((ROOT / "docs" / "kernels.md").read_text())
    for file in RESULTS.iterdir():
        if file.is_file():
            (tmp_path / "docs" / "results" / file.name).write_bytes(file.read_bytes())
    page = tmp_path / "docs" / "results" / "h200_sustained.md"
    text = page.read_text()
    assert text.count("| fa_D64_S512_full |") == 1
    page.write_text(re.sub(r"(\| fa_D64_S512_full \| `\w+` \| )\d", r"\g<1>9", text))
    done = generate(tmp_path, "--check")
    assert done.returncode == 1, done.stderr
    assert done.stdout.strip() == "differs: docs/results/h200_sustained.md"


def test_the_readme_counts_as_the_page_does():
    page, readme = (RESULTS / "h200_sustained.md").read_text(), (ROOT / "README.md").read_text()
    rows = re.findall(r"\| (faster|same|ambiguous|slower) \| \[", page)
    sentence = r"ahead of what PyTorch chooses on (\d+) of (\d+) problems, and behind on (\d+)"
    told = re.search(sentence, readme)
    counted = (rows.count("faster"), len(rows), rows.count("slower"))
    assert tuple(map(int, told.groups())) == counted
