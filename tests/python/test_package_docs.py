# SPDX-License-Identifier: MIT
"""docs/guide/python.md: its code runs, block after block, as a newcomer would type it; and pip
builds the package from a tree that exists."""

import os
import re
import subprocess
import sys

import pytest
from support.commands import ROOT, importing, skip_busy
from support.logs import events

PAGE = ROOT / "docs" / "guide" / "python.md"
AGENTS = ROOT / "docs" / "guide" / "agents.md"


def test_the_page_runs(package, cache, tmp_path):
    blocks = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(), re.M | re.S)
    assert len(blocks) >= 4
    (tmp_path / "page.py").write_text("\n".join(blocks))
    (tmp_path / "kernels").symlink_to(ROOT / "kernels")
    env = os.environ | importing(package) | {"XDG_CACHE_HOME": str(cache)}
    for program in ("page.py", "steps.py"):
        done = subprocess.run(
            [sys.executable, program], cwd=tmp_path, env=env, capture_output=True, text=True
        )
        if "EnvironmentFault" in done.stderr:
            skip_busy(done.stderr)
        assert done.returncode == 0, done.stderr
        assert done.stderr == ""
        if program == "page.py":
            assert done.stdout.startswith("True\nTrue\n")
    for name in ("mine", "steps"):
        assert events(tmp_path / name)[-1]["type"] == "session_closed"


def test_the_ten_lines_of_the_readme_run(package, cache, tmp_path):
    (lines,) = re.findall(r"^```python\n(.*?)^```", (ROOT / "README.md").read_text(), re.M | re.S)
    assert len([line for line in lines.splitlines() if line]) == 10
    (tmp_path / "kernels").symlink_to(ROOT / "kernels")
    env = os.environ | importing(package) | {"XDG_CACHE_HOME": str(cache)}
    done = subprocess.run(
        [sys.executable, "-c", lines], cwd=tmp_path, env=env, capture_output=True, text=True
    )
    if "EnvironmentFault" in done.stderr:
        skip_busy(done.stderr)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("True\n")
    assert "# Session " in done.stdout


def test_the_page_for_agents_runs(package, cache, tmp_path):
    blocks = re.findall(r"^```python\n(.*?)^```", AGENTS.read_text(), re.M | re.S)
    assert len(blocks) >= 3
    (tmp_path / "page.py").write_text("\n".join(blocks))
    (tmp_path / "kernels").symlink_to(ROOT / "kernels")
    env = os.environ | importing(package) | {"XDG_CACHE_HOME": str(cache)}
    done = subprocess.run(
        [sys.executable, "page.py"], cwd=tmp_path, env=env, capture_output=True, text=True
    )
    if "EnvironmentFault" in done.stderr:
        skip_busy(done.stderr)
    assert done.returncode == 0, done.stderr
    told = done.stdout.splitlines()
    core = len(package.tools.list_tools())
    assert told[0].split()[1] == str(core)
    assert told[2].startswith("pass mine@")
    assert told[3] == "True invalid True"
    assert told[4].split()[0] in ("win", "no_gain", "invalid")
    assert told[5] == "9800.0 None"
    assert f"has {core}: `{' '.join(package.tools.schemas.CORE)}`" in AGENTS.read_text()


def test_the_page_names_what_is_there(package):
    page = PAGE.read_text()
    for name in package.__all__:
        assert f"`{name}" in page or f"wb.{name}" in page or name == "command", name


def test_pip_installs_it_from_a_built_tree(package, build, tmp_path):
    pytest.importorskip("scikit_build_core", reason="scikit-build-core is not installed")
    if not (build / "CMakeCache.txt").exists():
        pytest.skip(f"{build} is no build folder")
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet"]
    words = ["wheel", "--no-build-isolation", "--no-deps", "--wheel-dir", tmp_path]
    words += ["--config-settings", f"build-dir={build}", ROOT]
    done = subprocess.run([*pip, *words], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    (wheel,) = tmp_path.glob("sdpa_workbench-*-cp3*.whl")
    venv = tmp_path / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", venv], check=True)
    python = venv / "bin" / "python3"
    subprocess.run([*pip, "--python", python, "install", "--no-index", wheel], check=True)
    code = (
        "import sdpa_workbench as wb; b = wb.Workbench();"
        "print(wb.command()); print(wb.__version__);"
        "print(b.check('cpu_unfused', problem='B=1 Hq=2 Sq=64 D=32 f32').passed)"
    )
    env = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path)}
    done = subprocess.run(
        [python, "-c", code], cwd=tmp_path, env=env, capture_output=True, text=True
    )
    assert done.stdout.split() == [str(venv / "bin" / "sdpa-wb"), package.__version__, "True"], done
